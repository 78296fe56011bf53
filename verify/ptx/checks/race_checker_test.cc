// The order that barriers make, and cells of every size.

#include "verify/ptx/checks/race_checker.h"

#include "bazel/testing/catch.h"

namespace recto::ptx {
namespace {

using Kind = Conflict::Kind;

// What an access by one lane conflicts with.
Kind kind_of(BlockChecker& checker, ShadowMemory& shadow, const BlockChecker::Access& access,
             std::size_t offset, std::size_t bytes) {
  std::array<std::uint64_t, kWarpSize> addresses = {};
  addresses[access.lane] = offset;
  const auto conflicts = checker.touch(shadow,
                                       {.addresses = addresses.data(),
                                        .bytes = static_cast<std::uint32_t>(bytes),
                                        .lanes = LaneMask{1} << access.lane},
                                       access);
  return conflicts.empty() ? Kind::kNone : conflicts[0].conflict.kind;
}

// Two warps of one thread block.
class Accesses {
 public:
  Accesses() : shadow_(4096), checker_({}, grid_) { checker_.begin(1, 2 * kWarpSize); }

  Kind touch(AccessKind kind, unsigned thread, std::size_t offset, std::size_t bytes = 4) {
    checker_.begin_step(thread / kWarpSize);
    return kind_of(checker_, shadow_, {kind, thread / kWarpSize, thread % kWarpSize, 0}, offset,
                   bytes);
  }
  Kind write(unsigned thread, std::size_t offset, std::size_t bytes = 4) {
    return touch(AccessKind::kWrite, thread, offset, bytes);
  }
  Kind read(unsigned thread, std::size_t offset, std::size_t bytes = 4) {
    return touch(AccessKind::kRead, thread, offset, bytes);
  }
  void begin_block(std::uint32_t block) {
    shadow_.forget();
    checker_.begin(block, 2 * kWarpSize);
  }
  void block_barrier() { checker_.pass_barrier({kAllLanes, kAllLanes}, {kAllLanes, kAllLanes}); }
  BlockChecker& checker() { return checker_; }

 private:
  GridChecker grid_;
  ShadowMemory shadow_;
  BlockChecker checker_;
};

TEST_CASE("a block barrier orders warps, nothing else does") {
  Accesses accesses;
  CHECK(accesses.write(0, 16) == Kind::kNone);
  CHECK(accesses.read(32, 16) == Kind::kRace);
  CHECK(accesses.read(0, 16) == Kind::kNone);
  accesses.block_barrier();
  CHECK(accesses.read(32, 16) == Kind::kNone);
  CHECK(accesses.write(0, 16) == Kind::kRace);  // after a read by the other warp
  accesses.block_barrier();
  CHECK(accesses.write(32, 16) == Kind::kNone);
}

TEST_CASE("a warp barrier orders the lanes of its mask") {
  Accesses accesses;
  CHECK(accesses.write(1, 8) == Kind::kNone);
  CHECK(accesses.read(2, 8) == Kind::kRace);
  accesses.checker().pass_warp_barrier(0, 0b110);
  CHECK(accesses.read(2, 8) == Kind::kNone);
  CHECK(accesses.read(3, 8) == Kind::kRace);
  // What lane 2 knows of lane 1, it passes on.
  accesses.checker().pass_warp_barrier(0, 0b1100);
  CHECK(accesses.read(3, 8) == Kind::kNone);
  accesses.checker().pass_warp_barrier(0, kAllLanes);
  CHECK(accesses.write(31, 8) == Kind::kNone);
}

TEST_CASE("a barrier orders a warp of fewer lanes, after a read by several of them, too") {
  constexpr unsigned kLanes = 24;
  constexpr LaneMask kThere = (1U << kLanes) - 1;
  GridChecker grid;
  ShadowMemory shadow(4096);
  BlockChecker checker({.uninitialised = false}, grid);
  checker.begin(1, kLanes);
  const std::array<std::uint64_t, kWarpSize> addresses = {};  // one place
  const auto read_by_all = [&] {
    checker.begin_step(0);
    return checker.touch(shadow, {.addresses = addresses.data(), .bytes = 4, .lanes = kThere},
                         {AccessKind::kRead, 0, 0, 0});
  };
  const auto write_by_last = [&] {
    checker.begin_step(0);
    return kind_of(checker, shadow, {AccessKind::kWrite, 0, kLanes - 1, 0}, 0, 4);
  };
  CHECK(read_by_all().empty());
  CHECK(write_by_last() == Kind::kRace);
  checker.pass_barrier({kThere}, {kThere});
  CHECK(read_by_all().empty());
  checker.pass_barrier({kThere}, {kThere});
  CHECK(write_by_last() == Kind::kNone);
}

TEST_CASE("threads that arrive at a barrier without waiting are not ordered after others") {
  Accesses accesses;
  CHECK(accesses.write(0, 0) == Kind::kNone);
  CHECK(accesses.write(32, 4) == Kind::kNone);
  accesses.checker().pass_barrier({kAllLanes, kAllLanes}, {0, kAllLanes});
  CHECK(accesses.read(32, 0) == Kind::kNone);
  CHECK(accesses.read(0, 4) == Kind::kRace);
}

TEST_CASE("races are found byte by byte") {
  Accesses accesses;
  CHECK(accesses.write(0, 100, 2) == Kind::kNone);
  CHECK(accesses.write(32, 102, 2) == Kind::kNone);
  CHECK(accesses.write(33, 104, 1) == Kind::kNone);
  CHECK(accesses.read(0, 100, 4) == Kind::kRace);  // half of it is the other warp's
  CHECK(accesses.read(33, 105, 1) == Kind::kUninitialised);
  CHECK(accesses.write(0, 252, 8) == Kind::kNone);  // over a piece's end
  CHECK(accesses.read(32, 256, 4) == Kind::kRace);
}

TEST_CASE("atomic operations do not race with each other, but with others") {
  Accesses accesses;
  CHECK(accesses.touch(AccessKind::kAtomic, 0, 0) == Kind::kNone);
  CHECK(accesses.touch(AccessKind::kAtomic, 32, 0) == Kind::kNone);
  CHECK(accesses.touch(AccessKind::kAtomicRead, 0, 0) == Kind::kNone);
  CHECK(accesses.touch(AccessKind::kAtomic, 32, 0) == Kind::kNone);
  CHECK(accesses.read(0, 0) == Kind::kRace);
}

TEST_CASE("accesses by an earlier thread block do not count for shared memory") {
  Accesses accesses;
  CHECK(accesses.write(0, 0) == Kind::kNone);
  accesses.begin_block(2);
  CHECK(accesses.read(32, 0) == Kind::kUninitialised);
  CHECK(accesses.write(33, 0) == Kind::kRace);  // after the read of its own block
}

TEST_CASE("atomic operations in the scope of a block race with those of another") {
  for (const bool is_same : {true, false}) {
    GridChecker grid;
    ShadowMemory shadow(4096, Contents::kGiven);
    BlockChecker first({}, grid);
    BlockChecker second({}, grid);
    first.begin(1, kWarpSize);
    second.begin(is_same ? 1 : 2, 2 * kWarpSize);
    CHECK(kind_of(first, shadow, {AccessKind::kBlockAtomic, 0, 5, 0}, 0, 4) == Kind::kNone);
    CHECK(kind_of(second, shadow, {AccessKind::kAtomicRead, 1, 7, 0}, 0, 4) ==
          (is_same ? Kind::kNone : Kind::kGridRace));
  }
}

TEST_CASE("a fence and an atomic operation on each side order those of their scope") {
  using Scope = BlockChecker::Scope;
  struct Row {
    bool has_fences = true;
    Scope fences = Scope::kGrid;
    bool is_of_block = false;  // the atomic operation of the first
  };
  for (const auto& [has_fences, scope, is_of_block] :
       {Row{}, Row{false}, Row{true, Scope::kBlock}, Row{true, Scope::kGrid, true}}) {
    GridChecker grid;
    grid.add(4096, 1024, Contents::kGiven);
    GridChecker::Region& region = *grid.find(4096);
    CHECK(grid.find(4095) == nullptr);
    CHECK(grid.find(5120) == nullptr);
    BlockChecker first({}, grid);
    BlockChecker second({}, grid);
    first.begin(1, kWarpSize);
    second.begin(2, kWarpSize);
    first.begin_step(0);
    CHECK(kind_of(first, *region.shadow, {AccessKind::kWrite, 0, 5, 0}, 0, 4) == Kind::kNone);
    if (has_fences) first.pass_fence(0, kAllLanes, scope);
    first.pass_atomic({0, 5, 4200, is_of_block});
    second.pass_atomic({0, 7, 4200});
    if (has_fences) second.pass_fence(0, kAllLanes, scope);
    second.begin_step(0);
    CHECK(kind_of(second, *region.shadow, {AccessKind::kRead, 0, 7, 0}, 0, 4) ==
          (has_fences && scope == Scope::kGrid && !is_of_block ? Kind::kNone : Kind::kGridRace));
  }
}

}  // namespace
}  // namespace recto::ptx
