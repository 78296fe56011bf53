// Faults in how threads access memory.

#include <kernel_dialect.h>

#include "verify/simt/canaries/canary.h"

namespace recto::simt {
namespace {

constexpr bool is_planted(Fault fault) { return fault == Fault::kPlanted; }

template <Fault kFault>
__global__ void copy_beyond_end(const float* in, float* out, int count) {
  const auto thread = static_cast<int>(threadIdx.x);
  if (is_planted(kFault) ? thread <= count : thread < count) out[thread % count] = in[thread];
}

template <Fault kFault>
__global__ void write_beyond_shared(const float* in, float* out) {
  KERNEL_SHARED(float, first, [64]);
  KERNEL_SHARED(float, second, [64]);
  second[threadIdx.x] = 0.0F;
  first[threadIdx.x + (is_planted(kFault) ? 1 : 0)] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = first[threadIdx.x] + second[63 - threadIdx.x];
}

template <Fault kFault>
__global__ void index_beyond_local(const float* in, float* out) {
  float row[8];
  for (int i = 0; i < 8; ++i) row[i] = in[i];
  const int index = static_cast<int>(threadIdx.x) % (is_planted(kFault) ? 9 : 8);
  out[threadIdx.x] = *(static_cast<volatile float*>(row) + index);
}

// Loads four floats at once from an address that is only a multiple of four bytes.
template <Fault kFault>
__global__ void load_misaligned(const float* in, float* out) {
  const float* row = in + (is_planted(kFault) ? 1 : 4) * (threadIdx.x % 4);
  const auto four = *reinterpret_cast<const float4*>(row);
  out[threadIdx.x] = four.x + four.y + four.z + four.w;
}

// The same from a local array.
template <Fault kFault>
__global__ void load_local_misaligned(const float* in, float* out) {
  alignas(16) float row[8];
  for (int i = 0; i < 8; ++i) row[i] = in[i];
  const float* volatile begin = row;
  const float* at = begin + (is_planted(kFault) ? 1 : 4) * (threadIdx.x % 2);
  const auto four = *reinterpret_cast<const float4*>(at);
  out[threadIdx.x] = four.x + four.y + four.z + four.w;
}

// Blocks of a large pool; block numbers times their size do not fit 32 bits.
template <Fault kFault>
__global__ void overflow_offset(const std::byte* pool, float* out, int block, int block_bytes) {
  const auto offset =
      is_planted(kFault)
          ? static_cast<std::int64_t>(static_cast<std::int32_t>(
                static_cast<std::uint32_t>(block) * static_cast<std::uint32_t>(block_bytes)))
          : static_cast<std::int64_t>(block) * block_bytes;
  out[threadIdx.x] = *reinterpret_cast<const float*>(pool + offset);
}

// Two thread blocks, each of which owns half of the pool's blocks.
template <Fault kFault>
__global__ void take_wrong_block(const float* pool, const int* block_table, float* out) {
  const int entry = block_table[(blockIdx.x + (is_planted(kFault) ? 1 : 0)) % 2];
  out[blockIdx.x * blockDim.x + threadIdx.x] = pool[entry * 32 + threadIdx.x];
}

template <Fault kFault>
__global__ void accumulate_in_shared(const float* in, float* out) {
  KERNEL_SHARED(float, sum, [32]);
  if constexpr (kFault == Fault::kNone) sum[threadIdx.x] = 0.0F;
  for (int i = 0; i < 4; ++i) sum[threadIdx.x] += in[i];
  out[threadIdx.x] = sum[threadIdx.x];
}

template <Fault kFault>
__global__ void accumulate_in_output(const float* in, float* out) {
  if constexpr (kFault == Fault::kNone) out[threadIdx.x] = 0.0F;
  for (int i = 0; i < 4; ++i) out[threadIdx.x] += in[i];
}

// All thread blocks add to one number.
template <Fault kFault>
__global__ void count_in_grid(int* count, float* out) {
  if (threadIdx.x == 0) {
    if constexpr (kFault == Fault::kPlanted) {
      *count += 1;
    } else {
      atomicAdd(count, 1);
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1.0F;
}

// The last rounding of a sum depends on its order.
template <Fault kFault>
__global__ void sum_in_any_order(const float* in, float* sum, float* out) {
  const float value = in[threadIdx.x] * 1.1F;
  if constexpr (kFault == Fault::kPlanted) {
    atomicAdd(sum, value);
  } else {
    KERNEL_SHARED(float, values, [64]);
    values[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 0; i < 64; ++i) *sum += values[i];
    }
  }
  out[threadIdx.x] = value;
}

template <Fault kFault>
__global__ void write_to_input(float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x];
  if (is_planted(kFault) && threadIdx.x == 3) in[threadIdx.x] = 0.0F;
}

template <Fault kFault>
__global__ void follow_null(const float* in, const float* bias, float* out) {
  const float shift = is_planted(kFault) || bias != nullptr ? bias[threadIdx.x] : 0.0F;
  out[threadIdx.x] = in[threadIdx.x] + shift;
}

// Weights of slots beyond the context are 0, which does not save the sum from a NaN among the
// values.
template <Fault kFault>
__global__ void weigh_tail(const float* values, float* out, int context, int slots) {
  float sum = 0.0F;
  for (int slot = 0; slot < slots; ++slot) {
    const float weight = slot < context ? 0.25F : 0.0F;
    const float value = values[slot];
    if constexpr (kFault == Fault::kPlanted) {
      sum += weight * value;
    } else {
      // The value is read, and not used.
      sum += slot < context ? weight * value : 0.0F;
    }
  }
  out[threadIdx.x] = sum;
}

// The same as load_misaligned, but from shared memory.
template <Fault kFault>
__global__ void misalign_shared(const float* in, float* out) {
  KERNEL_SHARED_ALIGNED(16, float, tile, [16]);
  for (unsigned i = threadIdx.x; i < 16; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  const float* row = tile + (is_planted(kFault) ? 1 : 4) * (threadIdx.x % 4);
  const auto four = *reinterpret_cast<const float4*>(row);
  out[threadIdx.x] = four.x + four.y + four.z + four.w;
}

// Each sum adds the weights of four slots; the last slots are beyond the context.
template <Fault kFault>
__global__ void sum_weights(const float* scores, float* out, int context) {
  float sum = 0.0F;
  for (int i = 0; i < 4; ++i) {
    const int slot = static_cast<int>(threadIdx.x) * 4 + i;
    const float weight = __expf(scores[slot]);
    sum += is_planted(kFault) || slot < context ? weight : 0.0F;
  }
  out[threadIdx.x] = sum;
}

// Two halves loaded at once; the host compiler copies them one by one, as it does NVIDIA's __half2.
struct alignas(4) Pair {
  Pair(const Pair& other) : low(other.low), high(other.high) {}

  std::uint16_t low;
  std::uint16_t high;
};

// The address is only a multiple of two bytes.
template <Fault kFault>
__global__ void load_pair_misaligned(const float* in, float* out) {
  const auto* halves = reinterpret_cast<const std::uint16_t*>(in);
  const auto* pairs = reinterpret_cast<const Pair*>(halves + (is_planted(kFault) ? 1 : 2));
  const Pair pair = pairs[threadIdx.x];
  out[threadIdx.x] = static_cast<float>(pair.low + pair.high);
}

#define RECTO_PICK(kernel) (fault == Fault::kNone ? kernel<Fault::kNone> : kernel<Fault::kPlanted>)

KernelLaunch one_block(CanaryBench& bench, unsigned threads) {
  return {.block = {threads}, .stream = bench.stream()};
}

// A kernel from `in` of one size to `out` of another.
template <void (*kRight)(const float*, float*), void (*kWrong)(const float*, float*)>
void run_on(CanaryBench& bench, Fault fault, const char* name, std::size_t in_count,
            unsigned threads) {
  launch_kernel(name, one_block(bench, threads), fault == Fault::kNone ? kRight : kWrong,
                bench.floats("in", in_count, BufferUse::kReadOnly),
                bench.floats("out", threads, BufferUse::kWriteFirst));
}

#define RECTO_CANARY(kernel, in_count, threads, fault_in_words)                           \
  {                                                                                       \
#kernel, fault_in_words, [](CanaryBench& bench, Fault fault) {                          \
      run_on<kernel<Fault::kNone>, kernel<Fault::kPlanted>>(bench, fault, #kernel, in_count, \
                                                            threads);                       \
    } \
  }

void run_copy_beyond_end(CanaryBench& bench, Fault fault) {
  launch_kernel("copy_beyond_end", one_block(bench, 64), RECTO_PICK(copy_beyond_end),
                bench.floats("in", 40, BufferUse::kReadOnly),
                bench.floats("out", 40, BufferUse::kWriteFirst), 40);
}

void run_overflow_offset(CanaryBench& bench, Fault fault) {
  constexpr int kBlockBytes = 16384;
  launch_kernel("overflow_offset", one_block(bench, 4), RECTO_PICK(overflow_offset),
                bench.sparse("pool", std::size_t{kBlockBytes} * 700000),
                bench.floats("out", 4, BufferUse::kWriteFirst), 660000, kBlockBytes);
}

void run_take_wrong_block(CanaryBench& bench, Fault fault) {
  float* pool = bench.floats("pool", 64, BufferUse::kReadOnly);
  bench.divide(pool, 32 * sizeof(float), 2);
  launch_kernel("take_wrong_block", {.grid = {2}, .block = {32}, .stream = bench.stream()},
                RECTO_PICK(take_wrong_block), pool,
                bench.ints("block_table", 2, BufferUse::kReadOnly),
                bench.floats("out", 64, BufferUse::kWriteFirst));
}

void run_count_in_grid(CanaryBench& bench, Fault fault) {
  launch_kernel("count_in_grid", {.grid = {4}, .block = {32}, .stream = bench.stream()},
                RECTO_PICK(count_in_grid), bench.ints("count", 1, BufferUse::kReadWrite),
                bench.floats("out", 128, BufferUse::kWriteFirst));
}

void run_sum_in_any_order(CanaryBench& bench, Fault fault) {
  launch_kernel("sum_in_any_order", one_block(bench, 64), RECTO_PICK(sum_in_any_order),
                bench.floats("in", 64, BufferUse::kReadOnly),
                bench.floats("sum", 1, BufferUse::kReadWrite),
                bench.floats("out", 64, BufferUse::kWriteFirst));
}

void run_write_to_input(CanaryBench& bench, Fault fault) {
  launch_kernel("write_to_input", one_block(bench, 32), RECTO_PICK(write_to_input),
                bench.floats("in", 32, BufferUse::kReadOnly),
                bench.floats("out", 32, BufferUse::kWriteFirst));
}

void run_follow_null(CanaryBench& bench, Fault fault) {
  launch_kernel("follow_null", one_block(bench, 32), RECTO_PICK(follow_null),
                bench.floats("in", 32, BufferUse::kReadOnly), nullptr,
                bench.floats("out", 32, BufferUse::kWriteFirst));
}

void run_weigh_tail(CanaryBench& bench, Fault fault) {
  float* values = bench.floats("values", 16, BufferUse::kReadOnly);
  bench.leave_unaddressed(values + 11, 5);
  launch_kernel("weigh_tail", one_block(bench, 4), RECTO_PICK(weigh_tail), values,
                bench.floats("out", 4, BufferUse::kWriteFirst), 11, 16);
}

void run_sum_weights(CanaryBench& bench, Fault fault) {
  float* scores = bench.floats("scores", 16, BufferUse::kReadOnly);
  bench.leave_unaddressed(scores + 11, 5);
  launch_kernel("sum_weights", one_block(bench, 4), RECTO_PICK(sum_weights), scores,
                bench.floats("out", 4, BufferUse::kWriteFirst), 11);
}

const Canary kCanaries[] = {
    {"copy_beyond_end", "a read past the end of a buffer", &run_copy_beyond_end},
    RECTO_CANARY(write_beyond_shared, 64, 64, "a write past the end of a shared array"),
    RECTO_CANARY(index_beyond_local, 8, 16, "a read past the end of a local array"),
    RECTO_CANARY(load_misaligned, 16, 4, "a vector load from a misaligned address"),
    RECTO_CANARY(misalign_shared, 16, 4, "a vector load from misaligned shared memory"),
    RECTO_CANARY(load_local_misaligned, 8, 4, "the same of a local array"),
    RECTO_CANARY(load_pair_misaligned, 16, 4, "the same of a pair that is copied half by half"),
    {"overflow_offset", "a block's offset in 32 bits", &run_overflow_offset},
    {"take_wrong_block", "another sequence's block", &run_take_wrong_block},
    RECTO_CANARY(accumulate_in_shared, 4, 32, "shared memory read before it is written"),
    RECTO_CANARY(accumulate_in_output, 4, 32, "output read before it is written"),
    {"count_in_grid", "thread blocks write to one place", &run_count_in_grid},
    {"sum_in_any_order", "bits that depend on the schedule", &run_sum_in_any_order},
    {"write_to_input", "a write to an input", &run_write_to_input},
    {"follow_null", "a null pointer", &run_follow_null},
    {"weigh_tail", "an output that depends on unaddressed slots", &run_weigh_tail},
    {"sum_weights", "the same by way of __expf", &run_sum_weights},
};

}  // namespace

std::span<const Canary> memory_canaries() { return kCanaries; }

}  // namespace recto::simt
