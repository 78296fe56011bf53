#include "verify/simt/counters/access_counter.h"

#include <fmt/format.h>

#include <algorithm>

#include "verify/simt/executor/launch.h"

namespace recto::simt {
Counts& Counts::operator+=(const Counts& other) {
  instructions += other.instructions;
  bytes += other.bytes;
  sectors += other.sectors;
  wasted_bytes += other.wasted_bytes;
  bank_conflicts += other.bank_conflicts;
  return *this;
}

void AccessCounter::begin_launch(Launch& launch) {
  kernel_ = launch.config.kernel;
  warps_.clear();
}

void AccessCounter::begin_block(ThreadBlock& block) {
  std::vector<Warp>& warps = warps_[&block];
  warps.clear();
  warps.resize((block.threads().size() + kWarpSize - 1) / kWarpSize);
}

void AccessCounter::end_block(ThreadBlock& block) { finish(block); }

void AccessCounter::access(std::uintptr_t address, AccessShape shape, std::uintptr_t instruction) {
  note(running_thread(), address, shape, instruction);
}

// An asynchronous copy counts as a read of the source and a write of the destination, by the lanes
// that request it together.
void AccessCounter::begin_copy(ThreadState& thread, const AsyncCopy& copy) {
  const OutsideKernel outside;
  const auto at = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
  if (copy.bytes > 0) {
    note(thread, at(copy.source), {copy.bytes, AccessKind::kRead}, copy.instruction);
  }
  note(thread, at(copy.destination), {copy.destination_bytes, AccessKind::kWrite},
       copy.instruction);
}

AccessCounter::Space AccessCounter::space_of(const ThreadState& thread,
                                             std::uintptr_t address) const {
  const std::span<const std::byte> shared = thread.block->shared().memory();
  if (address - reinterpret_cast<std::uintptr_t>(shared.data()) < shared.size()) {
    return Space::kShared;
  }
  return memory_.find(address) == nullptr ? Space::kNone : Space::kGlobal;
}

void AccessCounter::note(const ThreadState& thread, std::uintptr_t address,
                         const AccessShape& shape, std::uintptr_t instruction) {
  const Space space = space_of(thread, address);
  if (space == Space::kNone) return;
  Warp& warp = warps_.at(thread.block)[thread.linear / kWarpSize];
  const std::uint64_t number = warp.numbers[{thread.lane(), instruction, shape.kind, space}]++;
  warp.accesses[{instruction, shape.kind, space, number}].add(
      {thread.lane(), address, address + shape.bytes});
}

// Counts the accesses of the warp's lanes, which are complete now.
void AccessCounter::finish(Warp& warp) {
  for (const auto& [occurrence, access] : warp.accesses) {
    Counts counts = {.instructions = 1, .bytes = access.bytes()};
    if (occurrence.space == Space::kGlobal) {
      counts.sectors = access.sectors();
      counts.wasted_bytes = counts.sectors * WarpAccess::kSectorBytes - counts.bytes;
    } else {
      counts.bank_conflicts = access.bank_passes() - access.bank_passes_min();
    }
    const Event event = {
        .instruction = occurrence.instruction, .space = occurrence.space, .kind = occurrence.kind};
    totals_[{kernel_, event}] += counts;
  }
  warp.accesses.clear();
  warp.numbers.clear();
}

void AccessCounter::finish(const ThreadBlock& block) {
  for (Warp& warp : warps_.at(&block)) finish(warp);
}

void AccessCounter::pass_barrier(ThreadBlock& block) {
  finish(block);
  const auto threads = block.threads();
  const auto waiting =
      std::ranges::find(threads, Standing::kAtBlockBarrier, &ThreadState::standing);
  if (waiting != threads.end()) note_meeting(*waiting, waiting->operation);
}

void AccessCounter::pass_grid_barrier() {
  for (auto& [block, warps] : warps_) finish(*block);
}

void AccessCounter::pass_collective(ThreadBlock& block, unsigned warp, std::uint32_t lanes,
                                    const Collective& what) {
  std::uint32_t existing = 0;
  unsigned first = kWarpSize;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const std::size_t thread = std::size_t{warp} * kWarpSize + lane;
    if (thread >= block.threads().size()) break;
    if (block.threads()[thread].standing != Standing::kExited) existing |= 1U << lane;
    if (first == kWarpSize && (lanes >> lane & 1) != 0) first = lane;
  }
  if (first == kWarpSize) return;
  if ((existing & ~lanes) == 0) finish(warps_.at(&block)[warp]);
  note_meeting(block.threads()[std::size_t{warp} * kWarpSize + first], what.name);
}

void AccessCounter::note_meeting(const ThreadState& thread, const char* name) {
  ++totals_[{kernel_, {.site = thread.site, .name = name}}].instructions;
}

std::string AccessCounter::name_of(const Event& event) {
  if (event.space == Space::kNone) return event.name;
  constexpr const char* kKinds[] = {"read", "write", "atomic read", "atomic"};
  return fmt::format("{} {}", event.space == Space::kGlobal ? "global" : "shared",
                     kKinds[static_cast<int>(event.kind)]);
}

LineCount AccessCounter::sum() const {
  LineCount sum;
  for (const auto& [key, counts] : totals_) sum += counts;
  return sum;
}

std::vector<LineCount> AccessCounter::counts() const {
  // One source line may have many instructions.
  std::map<std::tuple<std::string, std::string, std::string>, Counts> lines;
  for (const auto& [key, counts] : totals_) {
    const auto& [kernel, event] = key;
    lines[{kernel, CodePlace{event.site, event.instruction}.text(), name_of(event)}] += counts;
  }
  std::vector<LineCount> all;
  for (const auto& [key, counts] : lines) {
    const auto& [kernel, place, what] = key;
    all.push_back({counts, kernel, place, what});
  }
  return all;
}

std::string AccessCounter::table() const {
  const std::vector<LineCount> all = counts();
  std::size_t kernel_width = 6;
  std::size_t place_width = 5;
  std::size_t what_width = 4;
  for (const LineCount& count : all) {
    kernel_width = std::max(kernel_width, count.kernel.size());
    place_width = std::max(place_width, count.place.size());
    what_width = std::max(what_width, count.what.size());
  }
  const auto row = [&](const auto& kernel, const auto& place, const auto& what, const auto&... n) {
    std::string text = fmt::format("{:<{}}  {:<{}}  {:<{}}", kernel, kernel_width, place,
                                   place_width, what, what_width);
    ((text += fmt::format("  {:>12}", n)), ...);
    return text + "\n";
  };
  std::string text = row("kernel", "place", "what", "instructions", "bytes", "sectors",
                         "wasted bytes", "conflicts");
  for (const LineCount& count : all) {
    text += row(count.kernel, count.place, count.what, count.instructions, count.bytes,
                count.sectors, count.wasted_bytes, count.bank_conflicts);
  }
  return text;
}

}  // namespace recto::simt
