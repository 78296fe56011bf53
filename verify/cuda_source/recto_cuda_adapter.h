#pragma once

// What an adapter is written with: the few lines between somebody's CUDA source and the functions
// of recto_kernel.h. Kernels that are launched within run() are run by the executor of verify/simt,
// twice, under two schedules, with every access to memory checked.
//
//   static int32_t decode(const RectoAttentionCall* call) {
//     if (call->k.type != kRectoFp16) return recto::unsupported(call->context, "other types");
//     recto::CheckedCall checked(*call);
//     float* sums = checked.workspace<float>("sums", call->q.num_rows * call->q.num_heads);
//     return checked.run([&] { launch_my_decode(call->q.data, sums, call->out.data); });
//   }

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "verify/kernel_abi/recto_kernel.h"

namespace recto {

// What a function returns that does not serve a call. `why` is what such cases are counted under.
std::int32_t unsupported(const RectoCallContext& call, const std::string& why);

enum class ScheduleDependence : std::uint8_t {
  kIsFault,
  // Sums by atomic operations, whose order is left to chance.
  kIsMeant,
};

// One call of recto's, with all its memory under the names of its fields, such as "k.data".
class CheckedCall {
 public:
  explicit CheckedCall(const RectoAttentionCall& call);
  explicit CheckedCall(const RectoKvWriteCall& call);
  ~CheckedCall();
  CheckedCall(const CheckedCall&) = delete;
  CheckedCall& operator=(const CheckedCall&) = delete;

  // Memory that lives as long as this, [count], aligned to 256 bytes as cudaMalloc's is. Nobody may
  // read of it what was not written before.
  template <typename T>
  T* workspace(const std::string& name, std::int64_t count) {
    return static_cast<T*>(add_workspace(name, count * std::int64_t{sizeof(T)}));
  }

  // For each thread block of the launches, x first, then y, then z: the sequence that it works for,
  // in [0, num_seqs). It may touch that one's blocks alone then; else all that the call addresses.
  // Of attention.
  void set_sequence_of_thread_block(std::vector<std::uint32_t> sequences);

  void allow(ScheduleDependence dependence) { dependence_ = dependence; }

  // Calls `launches` twice. Returns kRectoOk, or kRectoFailed with what was found as the message:
  // wrong accesses, races, barriers, what is refused at a launch, results that depend on the
  // schedule, exceptions. Once.
  std::int32_t run(const std::function<void()>& launches);

 private:
  struct Memory;

  void* add_workspace(const std::string& name, std::int64_t bytes);
  std::string find_faults(const std::function<void()>& launches);

  const RectoCallContext& context_;
  ScheduleDependence dependence_ = ScheduleDependence::kIsFault;
  std::unique_ptr<Memory> memory_;
};

}  // namespace recto
