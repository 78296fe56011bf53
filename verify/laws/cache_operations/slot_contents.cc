#include "verify/laws/cache_operations/slot_contents.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "reference/kv_cache_reader.h"

namespace recto::verify {
namespace {

std::vector<SlotPlace> places_of(const KvTensorView& view, std::int64_t begin, std::int64_t end) {
  std::vector<SlotPlace> places;
  for (std::int64_t block = begin; block < end; ++block)
    for (std::int64_t slot = 0; slot < view.block_size; ++slot)
      for (std::int64_t head = 0; head < view.num_kv_heads; ++head)
        places.push_back({block, slot, head});
  return places;
}

std::int64_t element_of(const KvTensorView& view, const SlotPlace& place, std::int64_t dim) {
  return reference::element_offset(view, place.block, place.head, place.slot, dim);
}

struct Dim {
  SlotPlace place;
  std::int64_t dim = 0;
};

std::optional<Dim> dim_at(const KvTensorView& view, std::int64_t element) {
  const std::int64_t block = element / view.block_stride;
  for (const SlotPlace& place : places_of(view, block, block + 1))
    for (std::int64_t dim = 0; dim < view.head_dim; ++dim)
      if (element_of(view, place, dim) == element) return Dim{place, dim};
  return std::nullopt;
}

// One slot in one state of the memory.
struct Contents {
  const std::vector<std::byte>& memory;
  const SlotPlace& place;
};

bool are_equal(const KvTensorView& view, const Contents& a, const Contents& b) {
  const auto bytes = static_cast<std::size_t>(element_bytes(view.type));
  for (std::int64_t dim = 0; dim < view.head_dim; ++dim) {
    const std::size_t of_a = static_cast<std::size_t>(element_of(view, a.place, dim)) * bytes;
    const std::size_t of_b = static_cast<std::size_t>(element_of(view, b.place, dim)) * bytes;
    if (std::memcmp(a.memory.data() + of_a, b.memory.data() + of_b, bytes) != 0) return false;
  }
  return true;
}

// The other slots with the same contents in this state: names the first one and counts the rest.
std::string others_text(const KvTensorView& view, const Contents& seen,
                        const std::vector<std::byte>& memory, const SlotName& name) {
  std::string first;
  std::int64_t count = 0;
  for (const SlotPlace& place : places_of(view, 0, view.num_blocks)) {
    if (place == seen.place || !are_equal(view, seen, {memory, place})) continue;
    if (count++ == 0) first = name(place);
  }
  if (count <= 1) return first;
  return fmt::format("{}, and of {} {}", first, count - 1, count == 2 ? "other" : "others");
}

}  // namespace

std::string element_text(const KvTensorView& view, std::int64_t element, const SlotName& name) {
  const std::optional<Dim> found = dim_at(view, element);
  if (found) return fmt::format("{}, dim {}", name(found->place), found->dim);
  const SlotPlace block{.block = element / view.block_stride};
  return fmt::format("{}, a gap {} elements on", name(block), element % view.block_stride);
}

std::string found_instead(const WrittenMemory& memory, const KvTensorView& view,
                          std::int64_t element, const SlotName& name) {
  const std::optional<Dim> found = dim_at(view, element);
  if (!found) return "a write beyond the dims of all slots";
  const SlotPlace& place = found->place;
  const Contents seen{memory.seen, place};
  if (are_equal(view, seen, {memory.before, place})) return "it is unchanged: nothing was written";
  const bool should_stay = are_equal(view, {memory.expected, place}, {memory.before, place});
  const std::string start =
      should_stay ? "nothing should be written there; it holds " : "it holds ";
  const std::string belongs = others_text(view, seen, memory.expected, name);
  if (!belongs.empty()) return start + "the expected contents of " + belongs;
  const std::string stale = others_text(view, seen, memory.before, name);
  if (!stale.empty()) return start + "the previous contents of " + stale;
  return start + "neither the expected nor the previous contents of any slot";
}

}  // namespace recto::verify
