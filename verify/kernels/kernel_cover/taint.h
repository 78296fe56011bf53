#pragma once

// Shadow memory in programs that have it (variants.bzl, mode "taint"); no effect elsewhere.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/attention_views.h"

namespace recto::verify {

// During its lifetime, both pools and the block table are tainted, except what contexts address.
// (Memory freed while tainted would taint its next owner.)
class TaintScope {
 public:
  explicit TaintScope(const PagedAttentionInputs& inputs);
  ~TaintScope();
  TaintScope(const TaintScope&) = delete;
  TaintScope& operator=(const TaintScope&) = delete;

 private:
  [[maybe_unused]] const PagedAttentionInputs& inputs_;
};

// Marks memory on which nothing may depend until it is written or untainted.
void taint(std::span<const std::byte> bytes);
void clear_taint(std::span<const std::byte> bytes);

// The first byte that was computed from tainted memory; nothing if none was.
std::optional<std::size_t> first_tainted(std::span<const std::byte> bytes);

// "element 7 of out depends on memory that is not addressed", for the first such element; empty if
// there is none.
std::string taint_text(const std::string& buffer, std::span<const std::byte> bytes,
                       std::int64_t element_bytes);

}  // namespace recto::verify
