#pragma once

// KV write, block copy and gather over the memory of one case.

#include <cstddef>
#include <string>
#include <vector>

#include "core/attention_views.h"

namespace recto::verify {

struct CacheOpResult {
  std::string kernel = {};
  std::vector<std::byte> k = {};  // all that the kernel may have written
  std::vector<std::byte> v = {};
  bool is_tainted = false;
};

// Gathers the contexts, writes them into a cache of their own, some of them not and some to one
// slot, and copies half of its blocks over the other half. Slots that are not addressed are
// tainted, as is what is not to be written or is to be overwritten. Nothing for contexts without
// tokens.
std::vector<CacheOpResult> run_cache_ops(const PagedAttentionInputs& inputs);

}  // namespace recto::verify
