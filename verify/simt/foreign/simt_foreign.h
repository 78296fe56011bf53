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
#include <map>
#include <mutex>
#include <type_traits>

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

// The toolkit's own definitions of these are for CUDA compilers.
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
// translate.py leaves none of these, and an empty definition would make a local variable.
#define __shared__ \
  _Pragma(         \
      "GCC error \"verify/simt: __shared__ in a file that was not translated: it is to \
be among the srcs or hdrs of foreign_kernels\"")

#define threadIdx (::recto::simt::current_thread->thread_index)
#define blockIdx (::recto::simt::current_thread->block_index)
#define blockDim (::recto::simt::current_thread->block_dim)
#define gridDim (::recto::simt::current_thread->grid_dim)
#define warpSize 32

#define SIMT_FOREIGN_SHARED(name, type, alignment)                                                 \
  static constinit const ::recto::simt::SharedVariable name##_shared_variable = {                  \
      #name, sizeof(type), std::max<std::size_t>(alignof(type), alignment), {__FILE__, __LINE__}}; \
  type& name = *static_cast<type*>(::recto::simt::device::shared_variable(name##_shared_variable))

namespace simt_foreign {

inline void* dynamic_shared() { return recto::simt::device::dynamic_shared(); }

// What is between <<< and >>>. A launch goes to the stream that a StreamHandle represents; with
// anything else in its place, to the stream of the innermost StreamScope.
// Has a constructor, because in braces an int would not convert to a size.
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
  explicit StreamScope(recto::simt::Stream& stream) : before_(current()) { current() = &stream; }
  ~StreamScope() { current() = before_; }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

  static recto::simt::Stream*& current() {
    thread_local recto::simt::Stream* stream = nullptr;
    return stream;
  }

 private:
  recto::simt::Stream* before_;
};

// A cudaStream_t to give to sources, which represents `stream` while the handle lives.
class StreamHandle {
 public:
  explicit StreamHandle(recto::simt::Stream& stream)
      : handle_(reinterpret_cast<cudaStream_t>(&stream)) {
    const std::scoped_lock lock(mutex());
    streams()[handle_] = &stream;
  }
  ~StreamHandle() {
    const std::scoped_lock lock(mutex());
    streams().erase(handle_);
  }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;

  cudaStream_t get() const { return handle_; }

  // Null if `handle` is not a StreamHandle's.
  static recto::simt::Stream* find(cudaStream_t handle) {
    const std::scoped_lock lock(mutex());
    const auto found = streams().find(handle);
    return found == streams().end() ? nullptr : found->second;
  }

 private:
  static std::map<cudaStream_t, recto::simt::Stream*>& streams() {
    static std::map<cudaStream_t, recto::simt::Stream*> streams;
    return streams;
  }
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }

  cudaStream_t handle_;
};

template <typename... Parameters>
void launch(const recto::simt::LaunchName& name, const LaunchShape& shape,
            void (*kernel)(Parameters...), std::type_identity_t<Parameters>... arguments) {
  const auto dims = [](const dim3& d) { return recto::simt::Dim3{d.x, d.y, d.z}; };
  recto::simt::Stream* stream = StreamHandle::find(shape.stream);
  if (stream == nullptr) stream = StreamScope::current();
  RECTO_CHECK(stream != nullptr);  // a StreamScope is to be around the call
  recto::simt::LaunchConfig config = {name.text, dims(shape.grid), dims(shape.block),
                                      shape.dynamic_shared_bytes};
  config.site = name.site;
  config.dynamic_shared_max = dynamic_shared_max(address_of(kernel));
  if (!stream->launch(config, kernel, arguments...)) {
    set_last_error(cudaErrorInvalidConfiguration);
  }
}

}  // namespace simt_foreign
