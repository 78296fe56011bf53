#pragma once

// Support for adapters: the few lines between a third-party CUDA source and the functions of
// recto_kernel.h. Kernels launched within run() run twice on the executor of verify/ptx, under two
// schedules, and every memory access is checked.
//
//   static int32_t decode(const RectoAttentionCall* call) {
//     if (call->k.type != kRectoFp16) return recto::unsupported(call->context, "other types");
//     recto::CheckedCall checked(*call);
//     float* sums = checked.workspace<float>("sums", call->q.num_rows * call->q.num_heads);
//     return checked.run([&] { launch_my_decode(call->q.data, sums, call->out.data); });
//   }
//
// Kernels of `recto verify --ptx` have no launcher, and are launched by name:
//
//   return checked.run([&] {
//     recto::launch("my_decode", {heads, seqs}, {128}, shared_bytes, call->q.data, sums, scale);
//   });

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "verify/library/recto_kernel.h"

namespace recto {

// The return value of a function that does not support a call. Such cases are counted under `why`.
std::int32_t unsupported(const RectoCallContext& call, const std::string& why);

struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
};

// The bytes of a kernel's argument.
struct KernelArgument {
  const void* data = nullptr;
  std::size_t bytes = 0;
};

// Launches the kernel with this name in PTX, or in C++ without parameters, on the default stream.
// std::runtime_error: no kernel has that name; an argument has another size than its parameter.
// Pointers at the end of the parameters may be left out, and are null: Triton's scratch memory.
void launch_kernel(const char* kernel, const Dim3& grid, const Dim3& block,
                   std::size_t dynamic_shared_bytes, const std::vector<KernelArgument>& arguments);

template <typename... Arguments>
void launch(const char* kernel, const Dim3& grid, const Dim3& block,
            std::size_t dynamic_shared_bytes, const Arguments&... arguments) {
  launch_kernel(kernel, grid, block, dynamic_shared_bytes, {{&arguments, sizeof(arguments)}...});
}

enum class ScheduleDependence : std::uint8_t {
  kIsFault,
  // For sums with atomic operations, whose order is not fixed.
  kIsMeant,
};

// Reads of unwritten shared memory, which holds NaN if they are allowed.
enum class UninitialisedReads : std::uint8_t {
  kAreFaults,
  // By a kernel that masks what it has computed from them.
  kAreMasked,
};

// Stores by threads of a thread block, in one instruction, to one place.
enum class CommonStores : std::uint8_t {
  kAreFaults,  // unless lanes of a warp execute it together, with the same value
  // Their values are equal. Where lanes of a warp execute it together that is checked; else other
  // values show only as results that depend on the schedule.
  kAreEqual,
};

class CallBuffers;

// One call by recto, with all its memory named after its fields, such as "k.data".
class CheckedCall {
 public:
  explicit CheckedCall(const RectoAttentionCall& call);
  explicit CheckedCall(const RectoKvWriteCall& call);
  ~CheckedCall();
  CheckedCall(const CheckedCall&) = delete;
  CheckedCall& operator=(const CheckedCall&) = delete;

  // Memory that lives as long as this object, [count], aligned to 256 bytes like cudaMalloc's. It
  // must be written before it is read.
  template <typename T>
  T* workspace(const std::string& name, std::int64_t count) {
    return static_cast<T*>(
        add_workspace(name, count * std::int64_t{sizeof(T)}, Initially::kUnwritten));
  }
  // The same, zeroed before each of the two runs, for counters. Counts as written.
  template <typename T>
  T* zeroed_workspace(const std::string& name, std::int64_t count) {
    return static_cast<T*>(add_workspace(name, count * std::int64_t{sizeof(T)}, Initially::kZeros));
  }

  // Declares that thread blocks of one launch communicate through the memory that begins at `data`
  // (a workspace or memory of the call) in a way that the checks cannot follow (docs/simt.md).
  // Races between thread blocks are then not reported for it.
  void blocks_communicate(const void* data);

  // For attention. For each thread block of the launches, x first, then y, then z: the index in [0,
  // num_seqs) of its sequence. It may then access only that sequence's blocks; without this call,
  // all that the call addresses.
  void set_sequence_of_thread_block(std::vector<std::uint32_t> sequences);

  void allow(ScheduleDependence dependence) { dependence_ = dependence; }
  void allow(UninitialisedReads reads) { uninitialised_reads_ = reads; }
  void allow(CommonStores stores) { common_stores_ = stores; }

  // Calls `launches` twice. Returns kRectoOk, or kRectoFailed with the findings as the message:
  // invalid accesses, races, barrier errors, refused launches, results that depend on the schedule,
  // exceptions. Call it only once.
  std::int32_t run(const std::function<void()>& launches);

 private:
  enum class Initially : std::uint8_t { kUnwritten, kZeros };

  void* add_workspace(const std::string& name, std::int64_t bytes, Initially contents);
  std::string find_faults(const std::function<void()>& launches);

  const RectoCallContext& context_;
  ScheduleDependence dependence_ = ScheduleDependence::kIsFault;
  UninitialisedReads uninitialised_reads_ = UninitialisedReads::kAreFaults;
  CommonStores common_stores_ = CommonStores::kAreFaults;
  std::unique_ptr<CallBuffers> buffers_;
};

}  // namespace recto
