// The launch functions as a host program calls them: on a GPU, a token is written into the cache
// and attended to; without one, launches say so, and nothing crashes.

#include <cuda_runtime.h>

#include <cstdio>

#include "cuda/kernels/kv_write.h"
#include "cuda/kernels/paged_decode.h"

namespace recto::kernels {
namespace {

constexpr std::int64_t kHeadDim = 64;
constexpr std::int64_t kBlockSize = 4;
constexpr float kScore = 2.5F;

// In memory that host and device see, if there is a device.
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

// What was wrong, or null.
const char* write_and_attend(OneToken& token) {
  const MutablePagedKvView kv = {.k = cache(token.k_cache), .v = cache(token.v_cache)};
  const KvWriteParams write = {.k = row<const void*>(token.k),
                               .v = row<const void*>(token.v),
                               .slot_mapping = &token.slot,
                               .kv = kv};
  if (const char* error = launch_kv_write(write, nullptr).error) return error;
  const PagedDecodeParams decode = {.q = row<const void*>(token.q),
                                    .kv = as_const(kv),
                                    .block_table = {&token.block_id, 1, 1, 1},
                                    .context_length = &token.context_length,
                                    .out = row<void*>(token.out),
                                    .lse_ln = &token.lse_ln};
  if (const char* error = launch_paged_decode(decode, nullptr).error) return error;
  const cudaError_t error = cudaDeviceSynchronize();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

int fail(const char* what) {
  std::printf("FAILED: %s\n", what);
  return 1;
}

int run_without_device(cudaError_t why) {
  OneToken token;
  if (write_and_attend(token) == nullptr) return fail("a launch without a GPU is no error");
  std::printf("SKIPPED: launch_test: no GPU: %s\n", cudaGetErrorString(why));
  return 0;
}

int run_on_device() {
  void* memory = nullptr;
  if (cudaMallocManaged(&memory, sizeof(OneToken)) != cudaSuccess) return fail("no memory");
  OneToken& token = *new (memory) OneToken;
  if (const char* error = write_and_attend(token)) return fail(error);
  // With one key, out is its value and the log-sum-exp its score.
  for (std::int64_t dim = 0; dim < kHeadDim; ++dim) {
    if (token.out[dim] != token.v[dim]) return fail("out is not the only value");
  }
  if (token.lse_ln != kScore) return fail("lse is not the only score");
  std::printf("one token was written and attended to\n");
  return 0;
}

}  // namespace
}  // namespace recto::kernels

int main() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) return recto::kernels::run_without_device(error);
  return recto::kernels::run_on_device();
}
