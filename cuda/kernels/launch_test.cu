// Calls the launch functions as a host program does. On a GPU, a token is written into the cache
// and attended to, and a group is scored by tensor cores; without a GPU, launches report that.

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <new>
#include <string>

#include "core/status.h"
#include "cuda/kernels/group_scores.h"
#include "cuda/kernels/kv_write.h"
#include "cuda/kernels/reference_decode.h"

namespace recto::kernels {
namespace {

constexpr std::int64_t kHeadDim = 64;
constexpr std::int64_t kBlockSize = 4;
constexpr float kScore = 2.5F;

// Memory shared by host and device, if there is a device.
struct OneToken {
  float q[kHeadDim] = {1.0F};
  float k[kHeadDim] = {kScore};
  float v[kHeadDim] = {3.0F, -1.0F};
  float k_cache[2 * kBlockSize * kHeadDim] = {};
  float v_cache[2 * kBlockSize * kHeadDim] = {};
  float out[kHeadDim] = {};
  float lse_ln = 0.0F;
  std::int64_t slot = kBlockSize;  // the first one of block 1
  std::int32_t block_id = 1;
  std::int32_t context_length = 1;
};

template <typename Pointer>
BasicRowsView<Pointer> row(Pointer data) {
  return {.data = data,
          .num_rows = 1,
          .num_heads = 1,
          .head_dim = kHeadDim,
          .row_stride = kHeadDim,
          .head_stride = kHeadDim};
}

MutableKvTensorView cache(float* data) {
  return {.data = data,
          .num_blocks = 2,
          .block_size = kBlockSize,
          .num_kv_heads = 1,
          .head_dim = kHeadDim,
          .block_stride = kBlockSize * kHeadDim,
          .head_stride = kHeadDim,
          .slot_stride = kHeadDim};
}

Status finished() {
  const cudaError_t error = cudaDeviceSynchronize();
  return error == cudaSuccess ? Status::ok() : Status::failed(cudaGetErrorString(error));
}

Status write_and_attend(OneToken& token) {
  const MutablePagedKvView kv = {.k = cache(token.k_cache), .v = cache(token.v_cache)};
  const KvWriteParams write = {.k = row<const void*>(token.k),
                               .v = row<const void*>(token.v),
                               .slot_mapping = &token.slot,
                               .kv = kv};
  RECTO_RETURN_IF_ERROR(launch_kv_write(write, nullptr));
  const ReferenceDecodeParams decode = {.q = row<const void*>(token.q),
                                        .kv = as_const(kv),
                                        .block_table = {&token.block_id, 1, 1, 1},
                                        .context_length = &token.context_length,
                                        .out = row<void*>(token.out),
                                        .lse_ln = &token.lse_ln};
  RECTO_RETURN_IF_ERROR(launch_reference_decode(decode, nullptr));
  return finished();
}

// A group of heads with several rounds of tiles; the pool's blocks are in reverse order.
struct ScoredGroup {
  static constexpr std::int64_t kHeads = 11;
  static constexpr std::int64_t kKeys = 150;
  static constexpr std::int64_t kBlocks = (kKeys + kBlockSize - 1) / kBlockSize;

  __half q[kHeads][kHeadDim];
  __half k_cache[kBlocks * kBlockSize][kHeadDim];
  std::int32_t block_table[kBlocks];
  std::int32_t context_length = kKeys;
  float scores[kHeads][kKeys];

  // Small integers, so that every order of summation gives the same result.
  static int query(std::int64_t head, std::int64_t dim) {
    return static_cast<int>((head * 5 + dim * 3) % 9) - 4;
  }
  static int key(std::int64_t position, std::int64_t dim) {
    return static_cast<int>((position * 7 + dim * position % 11) % 9) - 4;
  }

  ScoredGroup() {
    for (std::int64_t dim = 0; dim < kHeadDim; ++dim) {
      for (std::int64_t head = 0; head < kHeads; ++head) {
        q[head][dim] = __float2half(static_cast<float>(query(head, dim)));
      }
      for (std::int64_t position = 0; position < kKeys; ++position) {
        const std::int64_t block = kBlocks - 1 - position / kBlockSize;
        k_cache[block * kBlockSize + position % kBlockSize][dim] =
            __float2half(static_cast<float>(key(position, dim)));
      }
    }
    for (std::int64_t i = 0; i < kBlocks; ++i) {
      block_table[i] = static_cast<std::int32_t>(kBlocks - 1 - i);
    }
  }

  // With a scale of 1/2.
  static float expected(std::int64_t head, std::int64_t position) {
    int product = 0;
    for (std::int64_t dim = 0; dim < kHeadDim; ++dim) {
      product += query(head, dim) * key(position, dim);
    }
    return 0.5F * static_cast<float>(product);
  }
};

Status score(ScoredGroup& group) {
  const GroupScoresParams params = {
      .q = {.data = group.q,
            .type = ElementType::kFp16,
            .num_rows = 1,
            .num_heads = ScoredGroup::kHeads,
            .head_dim = kHeadDim,
            .row_stride = ScoredGroup::kHeads * kHeadDim,
            .head_stride = kHeadDim},
      .k = {.data = group.k_cache,
            .type = ElementType::kFp16,
            .num_blocks = ScoredGroup::kBlocks,
            .block_size = kBlockSize,
            .num_kv_heads = 1,
            .head_dim = kHeadDim,
            .block_stride = kBlockSize * kHeadDim,
            .head_stride = kHeadDim,
            .slot_stride = kHeadDim},
      .block_table = {group.block_table, 1, ScoredGroup::kBlocks, ScoredGroup::kBlocks},
      .context_length = &group.context_length,
      .max_context_length = ScoredGroup::kKeys,
      .scale = 0.5F,
      .scores = &group.scores[0][0]};
  RECTO_RETURN_IF_ERROR(launch_group_scores(params, nullptr));
  return finished();
}

int fail(const std::string& what) {
  std::printf("FAILED: %s\n", what.c_str());
  return 1;
}

int run_without_device(cudaError_t why) {
  OneToken token;
  ScoredGroup group;
  if (write_and_attend(token).is_ok() || score(group).is_ok()) {
    return fail("a launch without a GPU is no error");
  }
  std::printf("SKIPPED: launch_test: no GPU: %s\n", cudaGetErrorString(why));
  return 0;
}

// Managed memory, or null.
template <typename T>
T* made_for_device() {
  void* memory = nullptr;
  return cudaMallocManaged(&memory, sizeof(T)) == cudaSuccess ? new (memory) T : nullptr;
}

int attend_on_device() {
  auto* const made = made_for_device<OneToken>();
  if (made == nullptr) return fail("no memory");
  OneToken& token = *made;
  const Status attended = write_and_attend(token);
  if (!attended.is_ok()) return fail(attended.message());
  // With one key, out is its value and the log-sum-exp its score.
  for (std::int64_t dim = 0; dim < kHeadDim; ++dim) {
    if (token.out[dim] != token.v[dim]) return fail("out is not the only value");
  }
  if (token.lse_ln != kScore) return fail("lse is not the only score");
  std::printf("one token was written and attended to\n");
  return 0;
}

int score_on_device() {
  auto* const group = made_for_device<ScoredGroup>();
  if (group == nullptr) return fail("no memory");
  const Status scored = score(*group);
  if (!scored.is_ok()) return fail(scored.message());
  for (std::int64_t head = 0; head < ScoredGroup::kHeads; ++head) {
    for (std::int64_t position = 0; position < ScoredGroup::kKeys; ++position) {
      if (group->scores[head][position] != ScoredGroup::expected(head, position)) {
        return fail("a score is not scale * q.k");
      }
    }
  }
  std::printf("a group was scored\n");
  return 0;
}

int run_on_device() {
  const int attended = attend_on_device();
  return attended == 0 ? score_on_device() : attended;
}

}  // namespace
}  // namespace recto::kernels

int main() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) return recto::kernels::run_without_device(error);
  return recto::kernels::run_on_device();
}
