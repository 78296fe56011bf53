#pragma once

// Describes what a slot holds instead of what it should: its previous contents, another slot's, or
// something unknown.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/paged_kv_view.h"

namespace recto::verify {

// One memory before the write, as it should be afterwards, and as it is.
struct WrittenMemory {
  const std::vector<std::byte>& before;
  const std::vector<std::byte>& expected;
  const std::vector<std::byte>& seen;
};

// One head of one token: its dims.
struct SlotPlace {
  std::int64_t block = 0;
  std::int64_t slot = 0;
  std::int64_t head = 0;

  friend bool operator==(const SlotPlace&, const SlotPlace&) = default;
};

using SlotName = std::function<std::string(const SlotPlace&)>;

// Names the slot and dim of an element of the memory; says that it is a gap if it has none.
std::string element_text(const KvTensorView& view, std::int64_t element, const SlotName& name);

// A clause about the slot of the element. O(slots head_dim).
std::string found_instead(const WrittenMemory& memory, const KvTensorView& view,
                          std::int64_t element, const SlotName& name);

}  // namespace recto::verify
