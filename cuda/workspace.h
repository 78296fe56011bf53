#pragma once

// Device memory for intermediate results. The caller owns it, so calls allocate nothing.

#include <cstddef>
#include <cstdint>

#include "core/attention_views.h"
#include "cuda/attention_plan.h"
#include "cuda/kernels/contents_check.h"
#include "cuda/kernels/split_decode.h"

namespace recto {

// Calls that may run concurrently need separate workspaces.
struct Workspace {
  void* data = nullptr;  // at a multiple of kAlignment; null if nothing is needed
  std::int64_t bytes = 0;

  static constexpr std::int64_t kAlignment = 16;
};

// Divides a workspace into consecutive parts. Constructed with null, it only counts the required
// bytes.
class WorkspaceParts {
 public:
  explicit WorkspaceParts(void* data) : data_(static_cast<std::byte*>(data)) {}

  template <typename T>
  T* take(std::int64_t count) {
    T* part = data_ == nullptr ? nullptr : reinterpret_cast<T*>(data_ + bytes_);
    const std::int64_t taken = count * static_cast<std::int64_t>(sizeof(T));
    bytes_ += (taken + Workspace::kAlignment - 1) / Workspace::kAlignment * Workspace::kAlignment;
    return part;
  }

  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_;
  std::int64_t bytes_ = 0;
};

// The workspace parts of one attention call.
struct AttentionMemory {
  kernels::SplitStates states = {};                 // null without splits
  kernels::ContentsViolation* violation = nullptr;  // null without a check
};

AttentionMemory take_attention_memory(const AttentionPlan& plan, const PagedAttentionInputs& inputs,
                                      WorkspaceParts& parts);

}  // namespace recto
