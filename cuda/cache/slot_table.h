#pragma once

// A bounded set of records, accessed by handles with a generation. O(1); no allocation after
// `allocate`.

#include <cstdint>
#include <optional>
#include <string>

#include "core/contract.h"
#include "core/status.h"
#include "cuda/cache/fixed_array.h"

namespace recto::cache {

template <typename Record, typename HandleType>
class SlotTable {
 public:
  // As FixedArray::allocate.
  Status allocate(std::int32_t size, const std::string& what) {
    RECTO_RETURN_IF_ERROR(slots_.allocate(size, what));
    for (std::int32_t index = size - 1; index >= 0; --index) {
      slots_[index] = {.record = {}, .generation = 1, .next_free = first_free_, .is_used = 0};
      first_free_ = index;
    }
    return Status::ok();
  }

  bool is_full() const { return first_free_ == kNone; }
  std::int64_t bytes() const { return slots_.bytes(); }
  std::int32_t size() const { return static_cast<std::int32_t>(slots_.ssize()); }

  // Precondition: there is a free place.
  HandleType open(const Record& record) {
    RECTO_CHECK(!is_full());
    const std::int32_t index = first_free_;
    Slot& slot = slots_[index];
    first_free_ = slot.next_free;
    slot.record = record;
    slot.is_used = 1;
    return {.index = index, .generation = slot.generation};
  }

  std::optional<Record> find(HandleType handle) const {
    if (handle.index < 0 || handle.index >= size()) return std::nullopt;
    const Slot& slot = slots_[handle.index];
    if (slot.is_used == 0 || slot.generation != handle.generation) return std::nullopt;
    return slot.record;
  }

  void close(std::int32_t index) {
    Slot& slot = slots_[index];
    RECTO_CHECK_EQ(slot.is_used, 1);
    slot.is_used = 0;
    if (++slot.generation == 0) slot.generation = 1;
    slot.next_free = first_free_;
    first_free_ = index;
  }

  // Calls visit(index, record) for each record in use. O(size).
  template <typename Visit>
  void visit_used(const Visit& visit) const {
    for (std::int32_t index = 0; index < size(); ++index) {
      if (slots_[index].is_used != 0) visit(index, slots_[index].record);
    }
  }

 private:
  static constexpr std::int32_t kNone = -1;

  struct Slot {
    Record record;
    std::uint32_t generation;
    std::int32_t next_free;
    std::int32_t is_used;
  };

  FixedArray<Slot> slots_;
  std::int32_t first_free_ = kNone;
};

}  // namespace recto::cache
