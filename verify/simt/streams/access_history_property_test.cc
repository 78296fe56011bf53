// Compares orders and histories with their definitions: the set of all operations before an
// operation, and all accesses of any of them.

#include "verify/simt/streams/access_history.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "bazel/testing/property.h"
#include "verify/simt/streams/operation_order.h"

namespace recto::simt {
namespace {

constexpr int kSteps = 40;
constexpr int kBytes = 24;

OperationId draw_one_of(Draw& draw, const std::set<OperationId>& operations) {
  return *std::next(operations.begin(), draw.growing(0, std::ssize(operations) - 1));
}

std::vector<TouchedRange> draw_ranges(Draw& draw) {
  std::vector<TouchedRange> ranges;
  for (int i = draw.growing<int>(1, 3); i > 0; --i) {
    const auto begin = draw.growing<std::uintptr_t>(0, kBytes - 1);
    const auto end = begin + draw.growing<std::uintptr_t>(1, 6);
    ranges.push_back({begin, end, static_cast<AccessKind>(draw.growing(0, 3))});
  }
  return ranges;
}

bool meet(const std::vector<TouchedRange>& some, const std::vector<TouchedRange>& others) {
  for (const TouchedRange& one : some) {
    for (const TouchedRange& other : others) {
      const bool overlap = one.begin < other.end && other.begin < one.end;
      if (overlap && needs_order(one.kind, other.kind)) return true;
    }
  }
  return false;
}

// A random host program, and a device that runs its operations arbitrarily late.
class Program {
 public:
  explicit Program(Draw& draw) : draw_(draw) {}

  void step() {
    const int choice = draw_.growing<int>(0, 9);
    if (choice < 5 || before_.empty()) {
      ask();
    } else if (choice < 9) {
      if (!waiting_.empty()) run_with_all_before(draw_one_of(draw_, waiting_));
    } else {
      wait();
    }
  }

  void finish() {
    while (!waiting_.empty()) run_with_all_before(draw_one_of(draw_, waiting_));
    for (const auto& [later, before] : before_) {
      for (const auto& [earlier, unused] : before_) {
        RECTO_REQUIRE(order_.precedes(earlier, later) == before.contains(earlier));
      }
    }
  }

 private:
  void ask() {
    std::vector<OperationId> after;
    std::set<OperationId> before = host_;
    for (int i = draw_.growing<int>(0, 2); i > 0 && !before_.empty(); --i) {
      after.push_back(draw_.growing<OperationId>(1, before_.size()));
      before.insert(after.back());
      before.insert(before_[after.back()].begin(), before_[after.back()].end());
    }
    const OperationId operation = order_.add(after);
    before_[operation] = before;
    waiting_.insert(operation);
  }

  void wait() {
    const auto operation = draw_.growing<OperationId>(1, before_.size());
    run_with_all_before(operation);
    host_.insert(operation);
    host_.insert(before_[operation].begin(), before_[operation].end());
    order_.wait_for(operation);
    RECTO_REQUIRE(order_.has_waited_for_all() == (host_.size() == before_.size()));
    if (order_.has_waited_for_all()) history_.clear();
  }

  void run_with_all_before(OperationId operation) {
    for (const OperationId earlier : before_[operation]) run(earlier);
    run(operation);
  }

  // Runs older operations first, which is always an allowed order.
  void run(OperationId operation) {
    if (waiting_.erase(operation) == 0) return;
    const std::vector<TouchedRange> ranges = draw_ranges(draw_);
    std::set<OperationId> expected;
    for (const auto& [past, touched] : touched_) {
      if (!before_[operation].contains(past) && meet(touched, ranges)) expected.insert(past);
    }
    const std::vector<UnorderedAccess> found = history_.note(operation, ranges);
    RECTO_REQUIRE(found.empty() == expected.empty());
    for (const UnorderedAccess& access : found) RECTO_REQUIRE(expected.contains(access.operation));
    touched_[operation] = ranges;
  }

  Draw& draw_;
  OperationOrder order_;
  AccessHistory history_{order_};
  std::map<OperationId, std::set<OperationId>> before_;
  std::map<OperationId, std::vector<TouchedRange>> touched_;
  std::set<OperationId> waiting_;
  std::set<OperationId> host_;
};

TEST_CASE("an operation conflicts with some of the history if it does with some operation") {
  property("of drawn host programs", [](Draw& draw) {
    Program program(draw);
    for (int i = 0; i < kSteps; ++i) program.step();
    program.finish();
  });
}

TEST_CASE("neighbours with the same history are one piece") {
  OperationOrder order;
  AccessHistory history(order);
  for (OperationId operation = 1; operation <= 3; ++operation) order.add({});
  const TouchedRange parts[] = {
      {0, 8, AccessKind::kRead}, {16, 24, AccessKind::kRead}, {8, 16, AccessKind::kRead}};
  CHECK(history.note(1, parts).empty());
  CHECK(history.pieces() == 1);
  const TouchedRange middle[] = {{4, 6, AccessKind::kRead}};
  CHECK(history.note(2, middle).empty());
  CHECK(history.pieces() == 3);
  const TouchedRange all[] = {{0, 24, AccessKind::kWrite}};
  CHECK(history.note(3, all).size() == 2);
}

TEST_CASE("streams that run long, or one after the other, need no more chains") {
  OperationOrder order;
  OperationId first = order.add({});
  OperationId second = order.add({});
  for (int i = 0; i < 1000; ++i) {
    const OperationId after_both[] = {first, second};
    const OperationId after_second[] = {second};
    first = order.add(after_both);
    second = order.add(after_second);
  }
  CHECK(order.chains() == 2);
  for (int i = 0; i < 1000; ++i) order.wait_for(order.add({}));
  CHECK(order.chains() == 3);
}

}  // namespace
}  // namespace recto::simt
