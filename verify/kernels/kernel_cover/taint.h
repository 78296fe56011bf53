#pragma once

// Shadow memory, in programs that have it (variants.bzl, mode "taint"); nothing elsewhere.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

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

// The first byte that was computed from tainted memory; nothing if none was.
std::optional<std::size_t> first_tainted(std::span<const std::byte> bytes);

// "element 7 of out depends on memory that is not addressed", of the first element that does; empty
// if none does.
std::string taint_text(const std::string& buffer, std::span<const std::byte> bytes,
                       std::int64_t element_bytes);

}  // namespace recto::verify
