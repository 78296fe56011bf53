// Correct kernels that look wrong: unwritten bytes between the members of structures, and waits
// within a thread block.

#include <utility>

#include "verify/simt/checks/checked_run.h"
#include "verify/simt/checks/testdata/structure_kernels.cuh"

namespace recto::simt {
namespace {

// Runs both kernels, which get `skipped`.
template <typename T>
std::pair<LaunchReport, LaunchReport> exchange(int skipped) {
  CheckedRun run;
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  auto* all = run.buffer<T>("all", 32, BufferUse::kWriteFirst);
  LaunchReport shared = run.run({"shared", {1}, {32}}, exchange_structures<T>, out, skipped);
  return {std::move(shared),
          run.run({"memcpy", {1}, {32}}, exchange_by_memcpy<T>, all, out, skipped)};
}

TEST_CASE("padding between members is copied with them, and may be unwritten") {
  for (const auto& run : {exchange<PaddedShort>, exchange<PaddedInt>, exchange<PaddedDouble>,
                          exchange<ThreeFloats>}) {
    const auto [shared, copied] = run(-1);
    check_nothing(shared);
    check_nothing(copied);
  }
}

TEST_CASE("an unwritten member as large as its structure's alignment is found") {
  for (const auto& run : {exchange<PaddedInt>, exchange<PaddedDouble>, exchange<ThreeFloats>}) {
    const auto [shared, copied] = run(7);
    check_finding(shared, Check::kUninitialised,
                  {"thread 24 ", "of shared all+", "which no thread of its block has written"});
    check_finding(copied, Check::kUninitialised, {"thread 24 ", "which were never written"});
  }
}

TEST_CASE("warps of a block may wait for each other by atomic operations, observed or not") {
  for (const SchedulePolicy policy : kSchedulePolicies) {
    CheckedRun run({.policy = policy}, {.accesses_max = 1 << 20});
    auto* out = run.buffer<int>("out", 64, BufferUse::kWriteFirst);
    check_nothing(run.run({"wait", {1}, {64}}, wait_for_warp, out, 32));
  }
}

}  // namespace
}  // namespace recto::simt
