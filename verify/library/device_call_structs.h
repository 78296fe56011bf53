#pragma once

// A call's struct, with everything that it points to except the message, moved to a device.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "verify/library/kernel_mailbox.h"
#include "verify/library/recto_kernel.h"

namespace recto::verify {

class DeviceCallStruct {
 public:
  // `call` is a RectoAttentionCall or a RectoKvWriteCall, depending on the function.
  DeviceCallStruct(KernelFunction function, const std::byte* call) : function_(function) {
    std::memcpy(bytes_, call, sizeof bytes_);
  }

  const void* bytes() const { return bytes_; }
  RectoCallContext& context() { return *reinterpret_cast<RectoCallContext*>(bytes_); }

  // `moved(address)` returns the device address of `address`.
  template <typename Moved>
  void move(const Moved& moved) {
    const auto each = [&moved](auto&... pointers) { (move_one(moved, pointers), ...); };
    context().memory = kRectoDeviceMemory;
    if (function_ == KernelFunction::kKvWrite) {
      auto& call = *reinterpret_cast<RectoKvWriteCall*>(bytes_);
      each(call.k.data, call.v.data, call.slot_mapping, call.k_cache.data, call.k_cache.scale,
           call.v_cache.data, call.v_cache.scale);
    } else {
      auto& call = *reinterpret_cast<RectoAttentionCall*>(bytes_);
      each(call.q.data, call.k.data, call.k.scale, call.v.data, call.v.scale, call.block_table,
           call.context_length, call.query_start, call.alibi_slopes, call.sinks, call.out.data,
           call.lse_ln);
    }
  }

 private:
  template <typename Moved, typename T>
  static void move_one(const Moved& moved, T*& pointer) {
    if (pointer != nullptr) pointer = reinterpret_cast<T*>(moved(pointer));
  }

  KernelFunction function_;
  alignas(16) std::byte bytes_[sizeof(KernelMailbox::call)];
};

}  // namespace recto::verify
