#pragma once

// What lies in a slot in place of what should: what was there before, what belongs elsewhere, or
// what nobody knows.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/paged_kv_view.h"

namespace recto::verify {

// One memory, before something was to be written, as it should be afterwards, and as it is.
struct WrittenMemory {
  const std::vector<std::byte>& before;
  const std::vector<std::byte>& expected;
  const std::vector<std::byte>& seen;
};

// One head's dims of a token.
struct SlotPlace {
  std::int64_t block = 0;
  std::int64_t slot = 0;
  std::int64_t head = 0;

  friend bool operator==(const SlotPlace&, const SlotPlace&) = default;
};

using SlotName = std::function<std::string(const SlotPlace&)>;

// Which slot and dim an element of the memory is of, as text; a gap where it is of none.
std::string element_text(const KvTensorView& view, std::int64_t element, const SlotName& name);

// Of the slot that the element is of: a clause. O(slots head_dim).
std::string found_instead(const WrittenMemory& memory, const KvTensorView& view,
                          std::int64_t element, const SlotName& name);

}  // namespace recto::verify
