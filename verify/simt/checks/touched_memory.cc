#include "verify/simt/checks/touched_memory.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace recto::simt {

void TouchedMemory::find_page(std::uintptr_t key, Slot& slot) {
  std::unique_ptr<Page>& page = pages_[key];
  if (page == nullptr) page = std::make_unique<Page>();
  slot = {key, page.get()};
}

std::vector<TouchedRange> TouchedMemory::take() {
  std::vector<std::pair<std::uintptr_t, const Page*>> sorted;
  for (const auto& [key, page] : pages_) sorted.emplace_back(key, page.get());
  std::ranges::sort(sorted);
  std::vector<TouchedRange> ranges;
  for (const auto& [key, page] : sorted) add_ranges(key, *page, ranges);
  pages_.clear();
  recent_ = {};
  return ranges;
}

void TouchedMemory::add_ranges(std::uintptr_t key, const Page& page,
                               std::vector<TouchedRange>& ranges) {
  const auto kind = static_cast<AccessKind>(key >> 62);
  const std::uintptr_t begin = (key & (UINTPTR_MAX >> 2)) * kPageBytes;
  for (std::size_t word = 0; word < page.size(); ++word) {
    std::uint64_t bits = page[word];
    while (bits != 0) {
      const auto first = static_cast<unsigned>(std::countr_zero(bits));
      const auto count = static_cast<unsigned>(std::countr_one(bits >> first));
      const std::uintptr_t from = begin + word * kWordBytes + first;
      if (!ranges.empty() && ranges.back().kind == kind && ranges.back().end == from) {
        ranges.back().end += count;
      } else {
        ranges.push_back({from, from + count, kind});
      }
      // Keeps the bits after the run; a shift by the full width would be undefined.
      bits = first + count == kWordBytes ? 0 : bits >> (first + count) << (first + count);
    }
  }
}

}  // namespace recto::simt
