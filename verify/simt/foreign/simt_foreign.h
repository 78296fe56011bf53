#pragma once

// The header that translate.py gives to a CUDA source that was not written for the executor:
// NVIDIA's own types and host functions, from the toolkit, on top of the executor's threads.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <set>
#include <type_traits>
#include <utility>

#include "core/contract.h"
#include "verify/simt/dialect/simt_atomics.h"
#include "verify/simt/dialect/simt_integer.h"
#include "verify/simt/dialect/simt_math.h"
#include "verify/simt/dialect/simt_memory.h"
#include "verify/simt/dialect/simt_warp.h"
#include "verify/simt/foreign/inline_ptx.h"
#include "verify/simt/foreign/simt_foreign_copies.h"
#include "verify/simt/foreign/simt_foreign_half.h"
#include "verify/simt/foreign/simt_foreign_runtime.h"
#include "verify/simt/streams/stream.h"

namespace recto::simt::device {

template <AtomicAmong<__half, __half2, __nv_bfloat16, __nv_bfloat162> T>
inline constexpr bool kHasAtomicAdd<T> = true;

}  // namespace recto::simt::device

// NVIDIA's <cuda_pipeline.h> requires nvcc; simt_foreign_copies.h has its primitives.
#define _CUDA_PIPELINE_H_
#define _CUDA_PIPELINE_PRIMITIVES_H_

// The toolkit defines these for CUDA compilers.
#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __launch_bounds__
#undef __shared__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __launch_bounds__(...)
// translate.py translates all of these, and an empty definition would make a local variable.
#define __shared__ \
  _Pragma(         \
      "GCC error \"verify/simt: __shared__ in a file that was not translated: \
add it to the srcs or hdrs of foreign_kernels\"")

#define SIMT_FOREIGN_SHARED(name, type, alignment) \
  RECTO_SIMT_SHARED(name, type, std::max<std::size_t>(alignof(type), alignment))

namespace simt_foreign {

inline void* dynamic_shared() { return recto::simt::device::dynamic_shared(); }

// The arguments between <<< and >>>. A launch goes to the stream that a StreamHandle represents;
// with any other handle, to the stream of the innermost StreamScope.
// It has a constructor, because in braces an int would not convert to a size.
struct LaunchShape {
  LaunchShape(dim3 blocks, dim3 threads, std::size_t bytes = 0, cudaStream_t on = nullptr)
      : grid(blocks), block(threads), dynamic_shared_bytes(bytes), stream(on) {}

  dim3 grid;
  dim3 block;
  std::size_t dynamic_shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

// While it lives, launches of the calling OS thread go to `stream`.
class StreamScope {
 public:
  explicit StreamScope(recto::simt::Stream& stream) : before_(std::exchange(current_, &stream)) {}
  ~StreamScope() { current_ = before_; }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

  static recto::simt::Stream* current() { return current_; }

 private:
  inline static thread_local recto::simt::Stream* current_ = nullptr;
  recto::simt::Stream* before_;
};

// A cudaStream_t to give to sources, which represents `stream` while the handle lives.
class StreamHandle {
 public:
  explicit StreamHandle(recto::simt::Stream& stream)
      : handle_(reinterpret_cast<cudaStream_t>(&stream)) {
    const std::scoped_lock lock(mutex_);
    handles_.insert(handle_);
  }
  ~StreamHandle() {
    const std::scoped_lock lock(mutex_);
    handles_.erase(handle_);
  }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;

  cudaStream_t get() const { return handle_; }

  // The stream of a StreamHandle; null for any other handle.
  static recto::simt::Stream* find(cudaStream_t handle) {
    const std::scoped_lock lock(mutex_);
    const bool is_known = handles_.contains(handle);
    return is_known ? reinterpret_cast<recto::simt::Stream*>(handle) : nullptr;
  }

 private:
  inline static std::mutex mutex_;
  inline static std::set<cudaStream_t> handles_;

  cudaStream_t handle_;
};

template <typename... Parameters>
void launch(const recto::simt::LaunchName& name, const LaunchShape& shape,
            void (*kernel)(Parameters...), std::type_identity_t<Parameters>... arguments) {
  const auto dims = [](const dim3& d) { return recto::simt::Dim3{d.x, d.y, d.z}; };
  recto::simt::Stream* stream = StreamHandle::find(shape.stream);
  if (stream == nullptr) stream = StreamScope::current();
  RECTO_CHECK(stream != nullptr);  // the call needs a StreamScope around it
  recto::simt::LaunchConfig config = {name.text, dims(shape.grid), dims(shape.block),
                                      shape.dynamic_shared_bytes};
  config.site = name.site;
  config.dynamic_shared_max = dynamic_shared_max(address_of(kernel));
  if (!stream->launch(config, kernel, arguments...)) {
    set_last_error(cudaErrorInvalidConfiguration);
  }
}

}  // namespace simt_foreign
