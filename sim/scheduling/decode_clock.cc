#include "sim/scheduling/decode_clock.h"

#include <algorithm>

#include "core/contract.h"

namespace recto::sim {

DecodeClock::DecodeClock(std::int64_t block_size)
    : block_size_(block_size),
      residues_(static_cast<std::size_t>(std::max<std::int64_t>(block_size, 1))),
      ring_(kRing, kNone) {
  RECTO_CHECK_GE(block_size, 0);
}

void DecodeClock::start(GroupIndex group, std::int64_t request_id, std::int64_t context,
                        std::int64_t deadline) {
  if (static_cast<std::size_t>(group) >= entries_.size()) {
    entries_.resize(static_cast<std::size_t>(group) + 1);
  }
  Entry& mine = entry(group);
  mine.request_id = request_id;
  set_deadline(group, deadline);
  if (block_size_ == 0) return;
  mine.residue = residue_of(context);
  std::vector<GroupIndex>& peers = residues_[mine.residue];
  const auto place = std::find_if(peers.rbegin(), peers.rend(), [&](GroupIndex peer) {
                       return entry(peer).request_id < request_id;
                     }).base();
  peers.insert(place, group);
}

void DecodeClock::stop(GroupIndex group) {
  unlink(group);
  if (block_size_ == 0) return;
  std::vector<GroupIndex>& peers = residues_[entry(group).residue];
  const auto place = std::find(peers.begin(), peers.end(), group);
  RECTO_CHECK(place != peers.end());
  peers.erase(place);
}

void DecodeClock::set_deadline(GroupIndex group, std::int64_t deadline) {
  RECTO_CHECK_GT(deadline, now_);
  unlink(group);
  entry(group).deadline = deadline;
  link(group);
}

void DecodeClock::take_deadlines(std::vector<GroupIndex>& out) {
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  for (GroupIndex group = ring(now_); group != kNone;) {
    const GroupIndex next = entry(group).next;
    if (entry(group).deadline == now_) {
      unlink(group);
      out.push_back(group);
    }
    group = next;
  }
  std::sort(out.begin() + first, out.end(), [this](GroupIndex a, GroupIndex b) {
    return entry(a).request_id < entry(b).request_id;
  });
}

void DecodeClock::link(GroupIndex group) {
  Entry& mine = entry(group);
  GroupIndex& head = ring(mine.deadline);
  mine.previous = kNone;
  mine.next = head;
  if (head != kNone) entry(head).previous = group;
  head = group;
  mine.has_deadline = true;
}

void DecodeClock::unlink(GroupIndex group) {
  Entry& mine = entry(group);
  if (!mine.has_deadline) return;
  (mine.previous == kNone ? ring(mine.deadline) : entry(mine.previous).next) = mine.next;
  if (mine.next != kNone) entry(mine.next).previous = mine.previous;
  mine.has_deadline = false;
}

}  // namespace recto::sim
