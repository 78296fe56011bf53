#pragma once

// Describes the wrong contents of a slot: its previous contents, another slot's, or unknown.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/paged_kv_view.h"

namespace recto::verify {

// A memory before the write, the expected one, and the observed one.
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

// Names the slot and dim of an element of the memory, or says that it is in a gap.
std::string element_text(const KvTensorView& view, std::int64_t element, const SlotName& name);

// A clause about the slot of the element. O(slots head_dim).
std::string found_instead(const WrittenMemory& memory, const KvTensorView& view,
                          std::int64_t element, const SlotName& name);

}  // namespace recto::verify
