#pragma once

// Shadow memory, in programs that have it (variants.bzl, mode "taint"); nothing elsewhere.

#include <cstddef>
#include <span>

#include "core/attention_views.h"

namespace recto::verify {

// While it lives, the whole of both pools and of the block table is tainted, but for what contexts
// address. (Memory that is given back tainted would taint whoever gets it next.)
class TaintScope {
 public:
  explicit TaintScope(const PagedAttentionInputs& inputs);
  ~TaintScope();
  TaintScope(const TaintScope&) = delete;
  TaintScope& operator=(const TaintScope&) = delete;

 private:
  [[maybe_unused]] const PagedAttentionInputs& inputs_;
};

// Memory that nothing may depend on, until it is written or told to be free of taint.
void taint(std::span<const std::byte> bytes);
void clear_taint(std::span<const std::byte> bytes);

// Whether any bit was computed from tainted memory.
bool is_tainted(std::span<const std::byte> bytes);

}  // namespace recto::verify
