#include "verify/ptx/machine/mbarrier.h"

#include <utility>

#include "verify/ptx/checks/race_checker.h"

namespace recto::ptx {
namespace {

// PTX ISA, "Contents of the mbarrier object".
constexpr std::uint32_t kCountMax = (1 << 20) - 1;
constexpr std::uint32_t kObjectBytes = 8;

}  // namespace

bool Mbarrier::has_unseen_copy() const {
  if (!last_copy) return false;
  return phase == last_copy->phase || (phase == last_copy->phase + 1 && !is_end_seen);
}

std::string Mbarrier::text() const {
  std::string text = "phase " + std::to_string(phase) + ", with " + std::to_string(pending) +
                     " of " + std::to_string(expected) + " arrivals";
  if (bytes >= 0) return text + " and " + std::to_string(bytes) + " bytes missing";
  return text + " missing and " + std::to_string(-bytes) + " bytes more than expected";
}

std::string Mbarriers::init(std::uint32_t address, std::uint32_t count, std::uint32_t stream) {
  if (count == 0 || count > kCountMax) {
    return "with " + std::to_string(count) + " arrivals; there are 1 to 1048575";
  }
  Mbarrier object;
  object.expected = object.pending = count;
  object.stream = stream;
  if (!objects_.emplace(address, std::move(object)).second) {
    return "where there is one that was not invalidated";
  }
  return {};
}

std::string Mbarriers::invalidate(std::uint32_t address) {
  const auto found = objects_.find(address);
  if (!found->second.deliveries.empty() || found->second.has_unseen_copy()) {
    return "while a copy is under way";
  }
  objects_.erase(found);
  return {};
}

Mbarrier* Mbarriers::find(std::uint32_t address) {
  const auto found = objects_.find(address);
  return found == objects_.end() ? nullptr : &found->second;
}

bool Mbarriers::is_within(std::uint64_t low, std::uint64_t high) const {
  if (objects_.empty()) return false;
  const auto from = static_cast<std::uint32_t>(low < kObjectBytes ? 0 : low - kObjectBytes + 1);
  const auto next = objects_.lower_bound(from);
  return next != objects_.end() && next->first < high;
}

std::string Mbarriers::arrive(Mbarrier& object, std::uint32_t count) {
  if (count == 0 || count > object.pending) {
    return std::to_string(count) + " times where " + std::to_string(object.pending) +
           " arrivals are missing";
  }
  if (!object.is_end_seen) {
    return "in phase " + std::to_string(object.phase) +
           " before anybody has seen that the phase before has ended";
  }
  object.pending -= count;
  end_phase(object);
  return {};
}

std::string Mbarriers::drop(Mbarrier& object, std::uint32_t count) {
  if (count > object.expected) {
    return std::to_string(count) + " times where " + std::to_string(object.expected) +
           " arrivals are expected";
  }
  object.expected -= count;
  return arrive(object, count);
}

std::string Mbarriers::expect(Mbarrier& object, std::int64_t bytes) {
  const std::int64_t sum = object.bytes + bytes;
  if (sum > kCountMax || sum < -std::int64_t{kCountMax}) {
    return "beyond the 1048575 bytes that it can count";
  }
  object.bytes = sum;
  end_phase(object);
  return {};
}

void Mbarriers::end_phase(Mbarrier& object) {
  if (object.pending != 0 || object.bytes != 0) return;
  ++object.phase;
  object.pending = object.expected;
  object.is_end_seen = false;
  merge(object.ended, object.arriving);
  object.arriving.clear();
  raise(object.ended, BlockChecker::stream_key(object.stream), object.phase);
  ++num_ended_;
}

std::string Mbarriers::deliver(Mbarrier& object) {
  std::string problem;
  for (const Delivery& delivery : std::exchange(object.deliveries, {})) {
    delivery.copy();
    if (delivery.bytes != 0 && problem.empty())
      problem = expect(object, -std::int64_t{delivery.bytes});
    if (delivery.arrivals != 0 && problem.empty()) problem = arrive(object, delivery.arrivals);
  }
  return problem;
}

Mbarriers::Delivered Mbarriers::deliver_all() {
  Delivered delivered;
  for (auto& [address, object] : objects_) {
    delivered.has_copies |= !object.deliveries.empty();
    delivered.problem = deliver(object);
    if (delivered.problem.empty()) continue;
    delivered.address = address;
    delivered.copy = object.last_copy.value_or(CopyBegin{});
    break;
  }
  return delivered;
}

const Mbarrier* Mbarriers::find_unseen_copy() const {
  for (const auto& [address, object] : objects_) {
    if (object.has_unseen_copy()) return &object;
  }
  return nullptr;
}

}  // namespace recto::ptx
