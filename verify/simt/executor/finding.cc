#include "verify/simt/executor/finding.h"

#include <fmt/format.h>

#include "core/contract.h"
#include "verify/simt/executor/symbolise.h"

namespace recto::simt {

const char* check_name(Check check) {
  switch (check) {
    case Check::kInvalidLaunch:
      return "invalid launch";
    case Check::kBarrierDivergence:
      return "barrier divergence";
    case Check::kExitBeforeBarrier:
      return "exit before a barrier";
    case Check::kWarpMask:
      return "warp mask";
    case Check::kShuffleSource:
      return "shuffle source";
    case Check::kDeadlock:
      return "deadlock";
    case Check::kNeverEnds:
      return "never ends";
    case Check::kOutOfBounds:
      return "out of bounds";
    case Check::kLogicalBounds:
      return "logical bounds";
    case Check::kMisaligned:
      return "misaligned";
    case Check::kReadOnly:
      return "write to read-only memory";
    case Check::kUninitialised:
      return "uninitialised read";
    case Check::kRace:
      return "race";
    case Check::kGridRace:
      return "race between thread blocks";
    case Check::kUnfinishedCopy:
      return "unfinished copy";
    case Check::kMbarrier:
      return "mbarrier";
    case Check::kAssertion:
      return "assertion";
    case Check::kFault:
      return "fault";
    case Check::kUnobserved:
      return "unobserved";
    case Check::kScheduleDependence:
      return "schedule dependence";
    case Check::kMissingDependency:
      return "missing dependency";
  }
  RECTO_UNREACHABLE("all checks are listed");
}

std::string ThreadPlace::text() const {
  return fmt::format("thread {} (warp {}, lane {}) of block ({}, {}, {})", linear,
                     linear / kWarpSize, linear % kWarpSize, block_index.x, block_index.y,
                     block_index.z);
}

std::string Finding::text() const {
  std::string text = kernel.empty() ? fmt::format("{} in the host program", check_name(check))
                                    : fmt::format("{} in kernel '{}'", check_name(check), kernel);
  const auto add_party = [&text](const CodePlace& place, const std::optional<ThreadPlace>& thread,
                                 const std::string& what) {
    const std::string where = place_text(place);
    if (!where.empty()) text += where + ": ";
    if (thread) text += thread->text() + " ";
    text += what;
  };
  text += ": ";
  add_party(place, thread, what);
  if (!other_what.empty()) {
    text += "; ";
    add_party(other_place, other_thread, other_what);
  }
  return text;
}

}  // namespace recto::simt
