#include "verify/ptx/lanes/step.h"

#include <array>

#include "core/contract.h"

namespace recto::ptx {
namespace {

// In the order of Action.
constexpr std::array<const char*, static_cast<std::size_t>(Action::kCount)> kNames = {
    "arithmetic",
    "load",
    "store",
    "atomic",
    "cp.async",
    "cp.async.commit_group",
    "cp.async.wait_group",
    "ldmatrix",
    "stmatrix",
    "mma",
    "branch",
    "brx.idx",
    "exit",
    "trap",
    "barrier",
    "bar.warp.sync",
    "shfl",
    "vote",
    "match",
    "redux",
    "elect",
    "activemask",
    "mbarrier",
    "cp.async.bulk",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group",
    "barrier.cluster.arrive",
    "barrier.cluster.wait",
    "wgmma.fence",
    "wgmma",
    "wgmma.commit_group",
    "wgmma.wait_group",
    "fence",
    "clock",
    "printf",
    "assert",
    "other",
};

}  // namespace

const char* action_name(Action action) {
  RECTO_CHECK(action < Action::kCount);
  return kNames[static_cast<std::size_t>(action)];
}

}  // namespace recto::ptx
