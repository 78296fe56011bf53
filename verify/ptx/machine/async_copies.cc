#include "verify/ptx/machine/async_copies.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace recto::ptx {
namespace {

constexpr std::uint8_t kBytesMax = 16;  // of a copy

}  // namespace

void AsyncCopies::begin(std::uint32_t threads) { threads_.assign(threads, {}); }

bool AsyncCopies::is_late() const {
  return memory_.checker() != nullptr && (memory_.run().options.schedule.seed & 1) != 0;
}

void AsyncCopies::run(std::byte* shared, const Copy& copy) {
  std::byte* const d = shared + copy.destination;
  const auto* const source = reinterpret_cast<const std::byte*>(copy.source);
  if (copy.source_bytes == kBytesMax) {  // mostly, and the compiler knows how to copy these
    std::memcpy(d, source, kBytesMax);
    return;
  }
  std::memcpy(d, source, copy.source_bytes);
  std::memset(d + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
}

bool AsyncCopies::copy(const WarpStep& at, const Detail& detail) {
  const auto bytes = static_cast<std::uint32_t>(detail.count);
  LaneAddresses to;
  LaneAddresses from = {};
  std::array<std::uint32_t, kWarpSize> sizes;
  sizes.fill(bytes);
  if (!detail.uses.empty()) {
    std::copy_n(at.warp.row<std::uint32_t>(detail.uses[0]), kWarpSize, sizes.begin());
    LaneMask larger = 0;
    for_each_lane_of(at.lanes,
                     [&](unsigned lane) { larger |= LaneMask{sizes[lane] > bytes} << lane; });
    if (larger != 0) {
      const auto lane = static_cast<unsigned>(__builtin_ctz(larger));
      memory_.reporter().abandon(
          Check::kOutOfBounds, at.warp.thread(lane), at.step,
          "copies " + std::to_string(sizes[lane]) + " bytes to " + std::to_string(bytes));
      return false;
    }
  }
  if (!memory_.access(at.warp, detail.memory,
                      {&at.step, at.lanes, bytes, AccessKind::kCopyWrite, "copies to"}, to)) {
    return false;
  }
  // Nothing of the source is read beyond its size.
  LaneMask whole = 0;
  LaneMask partial = 0;
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    if (sizes[lane] != 0) (sizes[lane] == bytes ? whole : partial) |= LaneMask{1} << lane;
  });
  if (whole != 0 && !memory_.access(at.warp, detail.source,
                                    {&at.step, whole, bytes, AccessKind::kRead, "copies"}, from)) {
    return false;
  }
  for (LaneMask left = partial; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(left));
    if (!read_part(at, detail, lane, sizes[lane])) return false;
    LaneAddresses part;
    memory_.compute_addresses(at.warp, detail.source, LaneMask{1} << lane, part);
    from[lane] = part[lane];
  }
  std::byte* const shared = memory_.shared(0);
  const auto base = reinterpret_cast<std::uintptr_t>(shared);
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    const Copy copy{static_cast<std::uint32_t>(to[lane] - base),
                    from[lane],
                    static_cast<std::uint8_t>(bytes),
                    static_cast<std::uint8_t>(sizes[lane]),
                    thread(at, lane).committed,
                    at.step.place};
    if (!is_late()) run(shared, copy);
    if (memory_.checker() != nullptr) thread(at, lane).copies.push_back(copy);
  });
  return true;
}

// The source of a copy that is shorter than its destination, byte by byte.
bool AsyncCopies::read_part(const WarpStep& at, const Detail& detail, unsigned lane,
                            std::uint32_t bytes) {
  const LaneMask lanes = LaneMask{1} << lane;
  LaneAddresses addresses;
  memory_.compute_addresses(at.warp, detail.source, lanes, addresses);
  const auto whole = static_cast<std::uint32_t>(detail.count);
  if (!memory_.is_aligned(at.warp, MemorySpace::kGlobal,
                          {&at.step, lanes, whole, AccessKind::kRead, "copies"}, addresses)) {
    return false;
  }
  for (std::uint32_t i = 0; i < bytes; ++i) {
    LaneAddresses pointers = addresses;
    for (std::uint64_t& pointer : pointers) pointer += i;
    if (!memory_.access_global(at.warp, {&at.step, lanes, 1, AccessKind::kRead, "copies"},
                               pointers)) {
      return false;
    }
  }
  return true;
}

void AsyncCopies::commit(const WarpStep& at) {
  for_each_lane_of(at.lanes, [&](unsigned lane) { ++thread(at, lane).committed; });
}

// wait_group N leaves the last N committed groups; wait_all leaves none, committed or not.
void AsyncCopies::wait(const WarpStep& at, const Detail& detail) {
  BlockChecker* const checker = memory_.checker();
  if (checker == nullptr) return;
  checker->begin_step(at.warp.number);
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    Thread& own = thread(at, lane);
    const std::uint64_t done = own.committed > detail.count ? own.committed - detail.count : 0;
    std::erase_if(own.copies, [&](const Copy& copy) {
      if (!detail.is_wait_for_all && copy.group >= done) return false;
      if (is_late()) run(memory_.shared(0), copy);
      checker->finish_copy(memory_.shadow(), copy.destination, copy.bytes,
                           {AccessKind::kWrite, at.warp.number, lane, copy.place});
      return true;
    });
  });
}

// The mbarrier counts an arrival once all copies that the thread has begun are over.
bool AsyncCopies::arrive(const WarpStep& at, const Detail& detail) {
  for (LaneMask left = at.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(left));
    const std::optional<MbarrierAt> found = mbarrier_at(memory_, at, detail.memory, lane);
    if (!found) return false;
    Mbarrier& object = *found->object;
    if (detail.mbarrier.increments) ++object.pending;
    std::vector<Copy> copies = std::exchange(thread(at, lane).copies, {});
    if (!copies.empty()) begin_copy(at, lane, object);
    if (BlockChecker* const checker = memory_.checker(); checker != nullptr) {
      const std::uint32_t operation = begin_operation(object.stream, object.phase);
      for (const Copy& copy : copies) {
        checker->finish_copy(
            memory_.shadow(), copy.destination, copy.bytes,
            {AccessKind::kAsyncWrite, at.warp.number, lane, copy.place, operation});
      }
    }
    if (is_late()) {
      object.deliveries.push_back({[this, copies = std::move(copies)] {
                                     for (const Copy& copy : copies) run(memory_.shared(0), copy);
                                   },
                                   0, 1});
      continue;
    }
    const std::string problem = found->place.owner->mbarriers().arrive(object, 1);
    if (problem.empty()) continue;
    memory_.reporter().abandon(
        Check::kMbarrier, at.warp.thread(lane), at.step,
        "arrives at the mbarrier " + memory_.shared_text(found->place.offset) + " " + problem);
    return false;
  }
  return true;
}

std::uint32_t AsyncCopies::begin_operation(std::uint32_t stream, std::uint32_t index) {
  if (memory_.checker() == nullptr) return 0;
  return memory_.run().checker->begin_operation({stream, index});
}

void AsyncCopies::begin_copy(const WarpStep& at, unsigned lane, Mbarrier& object) const {
  object.last_copy = {object.phase, at.step.place,
                      memory_.reporter().thread_place(at.warp.thread(lane))};
}

void AsyncCopies::check_ends(const WarpStep& last) {
  if (memory_.checker() == nullptr) return;
  const Mbarrier* const object = memory_.mbarriers().find_unseen_copy();
  if (object == nullptr) return;
  Finding found = memory_.reporter().finding(
      Check::kUnfinishedCopy, last.warp.thread(last.first_lane()), last.step,
      "exits as the last of its thread block before a copy to its shared memory has ended");
  found.other_thread = object->last_copy->thread;
  found.other_place = memory_.run().code_place(object->last_copy->place);
  found.other_what = "the copy begins";
  memory_.reporter().report(std::move(found));
}

void AsyncCopies::exit(const WarpStep& at) {
  if (memory_.checker() == nullptr) return;
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    Thread& own = thread(at, lane);
    const auto unread = std::find_if(own.stores.begin(), own.stores.end(),
                                     [](const BulkStore& store) { return !store.has_read; });
    const bool reads = unread != own.stores.end();
    for (const BulkStore& store : own.stores) {
      if (store.copy) store.copy();
    }
    if (own.copies.empty() && !reads) return;
    Reporter& reporter = memory_.reporter();
    Finding found = reporter.finding(
        Check::kUnfinishedCopy, at.warp.thread(lane), at.step,
        reads ? "exits before its copy has read shared memory" : "exits before its copy has ended");
    found.other_place = memory_.run().code_place(reads ? unread->place : own.copies[0].place);
    found.other_what = "the copy begins";
    reporter.report(std::move(found));
  });
}

}  // namespace recto::ptx
