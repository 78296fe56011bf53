#pragma once

// Shadow memory, in programs that have it (variants.bzl, mode "taint"); nothing elsewhere.

#include <cstddef>
#include <span>

#include "core/attention_views.h"

namespace recto::verify {

// Taints the whole of both pools and of the block table but for what contexts address.
void taint_what_is_not_addressed(const PagedAttentionInputs& inputs);

// Whether any bit was computed from tainted memory.
bool is_tainted(std::span<const std::byte> bytes);

}  // namespace recto::verify
