#include "verify/ptx/checks/grid_checker.h"

#include <algorithm>

namespace recto::ptx {

void raise(Clocks& clocks, std::uint64_t key, std::uint32_t clock) {
  std::uint32_t& known = clocks[key];
  known = std::max(known, clock);
}

void merge(Clocks& into, const Clocks& from) {
  for (const auto& [key, clock] : from) raise(into, key, clock);
}

void GridChecker::add(std::uintptr_t begin, std::size_t bytes, Contents contents) {
  regions_.push_back({begin, bytes, std::make_unique<ShadowMemory>(bytes, contents)});
  std::sort(regions_.begin(), regions_.end(),
            [](const Region& a, const Region& b) { return a.begin < b.begin; });
}

GridChecker::Region* GridChecker::find(std::uintptr_t address) {
  auto after = std::upper_bound(
      regions_.begin(), regions_.end(), address,
      [](std::uintptr_t wanted, const Region& region) { return wanted < region.begin; });
  if (after == regions_.begin()) return nullptr;
  --after;
  return address < after->begin + after->bytes ? &*after : nullptr;
}

std::uint32_t GridChecker::begin_operation(const Operation& operation) {
  operations_.push_back(operation);
  return static_cast<std::uint32_t>(operations_.size() - 1);
}

}  // namespace recto::ptx
