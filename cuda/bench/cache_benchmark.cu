// Benchmarks of moving K and V: writing new tokens, copying blocks, swapping them to the host and
// back, gathering contexts.

#include <benchmark/benchmark.h>
#include <kernel_dialect.h>

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "core/dense_kv_view.h"
#include "cuda/bench/attention_batch.h"
#include "cuda/bench/device.h"
#include "cuda/bench/measured.h"
#include "cuda/bench/turns.h"
#include "cuda/kernels/block_copy.h"
#include "cuda/kernels/gather.h"
#include "cuda/kernels/kv_append.h"
#include "cuda/kernels/kv_write.h"

namespace recto::bench {
namespace {

// Values uploaded to the device; a failure is reported when they are first used.
template <typename T>
class Uploaded {
 public:
  explicit Uploaded(const std::vector<T>& values)
      : memory_(static_cast<std::int64_t>(values.size() * sizeof(T))),
        status_(memory_.data() == nullptr ? too_little_memory(memory_.bytes())
                                          : upload(memory_, values.data(), memory_.bytes())) {}

  Status status() const { return status_; }
  const T* data() const { return static_cast<const T*>(memory_.data()); }

 private:
  DeviceBytes memory_;
  Status status_;
};

// Dense K or V of tokens.
struct DenseTensor {
  DenseTensor(const BatchShape& shape, std::int64_t num_tokens, ElementType of, std::uint64_t seed)
      : memory(num_tokens * shape.num_kv_heads * shape.head_dim * element_bytes(of)),
        type(of),
        tokens(num_tokens) {
    if (memory.data() != nullptr) fill_random(memory, type, seed);
  }

  DeviceBytes memory;
  ElementType type;
  std::int64_t tokens;
};

template <typename Pointer>
BasicRowsView<Pointer> token_rows(const BatchShape& shape, const DenseTensor& tensor) {
  return dense_rows<Pointer>(tensor.memory.data(), tensor.type, tensor.tokens, shape.num_kv_heads,
                             shape.head_dim);
}

// K and V of tokens, filled with random numbers.
struct DenseRows {
  DenseRows(const BatchShape& shape, std::int64_t tokens, ElementType type)
      : k(shape, tokens, type, 7), v(shape, tokens, type, 8) {}
  Status status() const {
    const bool is_there = k.memory.data() != nullptr && v.memory.data() != nullptr;
    return is_there ? Status::ok() : too_little_memory(k.memory.bytes() + v.memory.bytes());
  }

  DenseTensor k;
  DenseTensor v;
};

void kv_write(benchmark::State& state, const BatchShape& shape) {
  const Turns turns(shape);
  const DenseRows rows(shape, shape.num_tokens(), shape.q_type);
  if (!is_ready(state, turns)) return;
  // Tokens are consecutive in the pool, like those of a prompt in its blocks.
  std::vector<std::int64_t> slots(static_cast<std::size_t>(shape.num_tokens()));
  std::iota(slots.begin(), slots.end(), 0);
  const Uploaded mapping(slots);
  add_counters(state, shape);
  measure(state, {.work = kv_write_work(shape)}, [&](std::int64_t turn) {
    RECTO_RETURN_IF_ERROR(mapping.status());
    RECTO_RETURN_IF_ERROR(rows.status());
    return kernels::launch_kv_write({.k = token_rows<const void*>(shape, rows.k),
                                     .v = token_rows<const void*>(shape, rows.v),
                                     .slot_mapping = mapping.data(),
                                     .repeated_slots = kernels::RepeatedSlots::kNone,
                                     .kv = turns.at(turn).kv()},
                                    nullptr);
  });
}

void kv_append(benchmark::State& state, const BatchShape& shape) {
  const Turns turns(shape);
  const DenseRows rows(shape, shape.num_seqs, shape.q_type);
  const DeviceBytes lengths(4 * shape.num_seqs);
  if (!is_ready(state, turns)) return;
  const Uploaded cached(
      std::vector<std::int32_t>(static_cast<std::size_t>(shape.num_seqs),
                                static_cast<std::int32_t>(shape.context_length - 1)));
  add_counters(state, shape);
  measure(state, {.work = kv_append_work(shape)}, [&](std::int64_t turn) {
    RECTO_RETURN_IF_ERROR(cached.status());
    RECTO_RETURN_IF_ERROR(rows.status());
    return kernels::launch_kv_append({.k = token_rows<const void*>(shape, rows.k),
                                      .v = token_rows<const void*>(shape, rows.v),
                                      .block_table = turns.at(turn).inputs().block_table,
                                      .cached_length = cached.data(),
                                      .kv = turns.at(turn).kv(),
                                      .context_length = static_cast<std::int32_t*>(lengths.data())},
                                     nullptr);
  });
}

void gather(benchmark::State& state, const BatchShape& shape) {
  const Turns turns(shape);
  const DenseRows rows(shape, shape.num_tokens(), shape.kv_type);
  if (!is_ready(state, turns)) return;
  std::vector<std::int64_t> starts;
  for (std::int64_t s = 0; s < shape.num_seqs; ++s) starts.push_back(s * shape.context_length);
  const Uploaded first(starts);
  add_counters(state, shape);
  measure(state, {.work = gather_work(shape)}, [&](std::int64_t turn) {
    RECTO_RETURN_IF_ERROR(first.status());
    RECTO_RETURN_IF_ERROR(rows.status());
    const PagedAttentionInputs inputs = turns.at(turn).inputs();
    return kernels::launch_gather({.kv = inputs.kv,
                                   .block_table = inputs.block_table,
                                   .context_length = inputs.context_length.data(),
                                   .context_start = first.data(),
                                   .max_context_length = shape.context_length,
                                   .k = token_rows<void*>(shape, rows.k),
                                   .v = token_rows<void*>(shape, rows.v)},
                                  nullptr);
  });
}

// Copies each block to another place, in reverse order.
Uploaded<BlockPair> reversed_blocks(const BatchShape& shape) {
  std::vector<BlockPair> pairs;
  const auto blocks = static_cast<std::int32_t>(shape.num_blocks());
  for (std::int32_t id = 0; id < blocks; ++id) pairs.push_back({id, blocks - 1 - id});
  return Uploaded(pairs);
}

void measure_copies(benchmark::State& state, const BatchShape& shape, Path path,
                    const std::function<kernels::BlockCopyParams(std::int64_t turn)>& params_of) {
  const Uploaded<BlockPair> pairs = reversed_blocks(shape);
  add_counters(state, shape);
  Work work = block_copy_work(shape);
  // Each byte crosses the link once.
  if (path != Path::kOnDevice) work.bytes /= 2;
  measure(state, {.work = work, .path = path}, [&](std::int64_t turn) {
    RECTO_RETURN_IF_ERROR(pairs.status());
    kernels::BlockCopyParams params = params_of(turn);
    params.pairs = pairs.data();
    params.num_pairs = shape.num_blocks();
    return kernels::launch_block_copy(params, nullptr);
  });
}

void block_copy(benchmark::State& state, const BatchShape& shape) {
  const Turns from(shape);
  const Turns to(shape);
  if (!is_ready(state, from) || !is_ready(state, to)) return;
  measure_copies(state, shape, Path::kOnDevice, [&](std::int64_t turn) {
    return kernels::BlockCopyParams{.from = as_const(from.at(turn).kv()), .to = to.at(turn).kv()};
  });
}

// Copies between the card and pinned host memory.
void block_swap(benchmark::State& state, const BatchShape& shape, Path path) {
  const Turns turns(shape);
  const HostBytes k(shape.tensor_bytes());
  const HostBytes v(shape.tensor_bytes());
  if (!is_ready(state, turns)) return;
  if (k.data() == nullptr || v.data() == nullptr) {
    give_up(state, Status::exhausted("the host has too little pinned memory"));
    return;
  }
  const Result<MutablePagedKvView> host = dense_kv_view({.layout = shape.layout,
                                                         .type = shape.kv_type,
                                                         .num_blocks = shape.num_blocks(),
                                                         .block_size = shape.slots_per_block(),
                                                         .num_kv_heads = shape.num_kv_heads,
                                                         .head_dim_k = shape.head_dim,
                                                         .head_dim_v = shape.head_dim},
                                                        k.data(), v.data());
  if (!host.is_ok()) {
    state.SkipWithError(host.status().message().c_str());
    return;
  }
  measure_copies(state, shape, path, [&](std::int64_t turn) {
    const MutablePagedKvView& device = turns.at(turn).kv();
    const bool is_out = path == Path::kToHost;
    return kernels::BlockCopyParams{.from = as_const(is_out ? device : host.value()),
                                    .to = is_out ? host.value() : device};
  });
}

std::vector<std::int64_t> block_sizes(CaseSet set) {
  if (set == CaseSet::kDefault) return {16, 256};
  return {1, 2, 4, 8, 16, 32, 64, 128, 256};
}

// The types of new tokens and of the cache.
struct Types {
  ElementType q;
  ElementType kv;
};
constexpr Types kTypes[] = {{ElementType::kBf16, ElementType::kBf16},
                            {ElementType::kFp16, ElementType::kFp16},
                            {ElementType::kBf16, ElementType::kE4m3}};

using Run = void (*)(benchmark::State&, const BatchShape&);

void add(const std::string& kernel, const std::string& types, const BatchShape& shape, Run run) {
  register_case(kernel + "/layout:" + kv_layout_name(shape.layout) + "/types:" + types +
                    "/block:" + std::to_string(shape.block_size),
                [shape, run](benchmark::State& state) { run(state, shape); });
}

void add_moves(const BatchShape& shape) {
  const std::string type = element_type_name(shape.kv_type);
  add("gather", type, shape, gather);
  add("block_copy", type, shape, block_copy);
  add("swap_out", type, shape,
      [](benchmark::State& state, const BatchShape& of) { block_swap(state, of, Path::kToHost); });
  add("swap_in", type, shape, [](benchmark::State& state, const BatchShape& of) {
    block_swap(state, of, Path::kFromHost);
  });
}

// Writes that convert to fp8 name both types: bf16-e4m3.
void add_writes(BatchShape shape) {
  std::string types = element_type_name(shape.q_type);
  if (shape.q_type != shape.kv_type) types += std::string("-") + element_type_name(shape.kv_type);
  add("kv_write", types, shape, kv_write);
  shape.num_seqs = 256;
  add("kv_append", types, shape, kv_append);
}

}  // namespace

void register_benchmarks(CaseSet set) {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    for (const std::int64_t block_size : block_sizes(set)) {
      for (const Types& types : kTypes) {
        BatchShape shape = {.num_seqs = 16, .context_length = 4096, .block_size = block_size};
        shape.layout = layout;
        shape.q_type = types.q;
        shape.kv_type = types.kv;
        // Moves treat values as bytes, so fp16 and fp8 are only in the full grid. Writes to fp8
        // round; writes of fp16 do the same work as those of bf16.
        const bool is_full = set == CaseSet::kFull;
        if (is_full || types.kv == ElementType::kBf16) add_moves(shape);
        if (is_full || types.kv != ElementType::kFp16) add_writes(shape);
      }
    }
  }
}

}  // namespace recto::bench
