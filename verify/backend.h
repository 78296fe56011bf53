#pragma once

// An implementation of paged attention under test. Adding one to the list adds no test code: every
// law and the comparison with the oracle run on it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "reference/numerics.h"
#include "reference/paged_attention.h"

namespace recto::verify {

struct Backend {
  std::string name;
  // Why it cannot run this case, or nothing.
  std::function<std::optional<std::string>(const PagedAttentionInputs&)> why_unsupported;
  std::function<reference::AttentionResult(const PagedAttentionInputs&)> run;
  // How it computes, for the bounds.
  std::function<reference::KernelNumerics(const PagedAttentionInputs&)> numerics;
  // Its tiles start at multiples of a fixed number of keys whatever the block size, so that block
  // size cannot change a bit.
  bool has_fixed_tiles = false;
};

// The reference's own ways of computing: naive and online in fp64, gathered and over blocks, and
// the plain low-precision run.
std::vector<Backend> reference_backends();

}  // namespace recto::verify
