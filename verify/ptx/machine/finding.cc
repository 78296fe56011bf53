#include "verify/ptx/machine/finding.h"

namespace recto::ptx {

std::string Dim3::text() const {
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

const char* check_name(Check check) {
  switch (check) {
    case Check::kInvalidLaunch:
      return "invalid launch";
    case Check::kBarrierDivergence:
      return "divergent barrier";
    case Check::kExitBeforeBarrier:
      return "exit before a barrier";
    case Check::kWarpMask:
      return "warp mask";
    case Check::kShuffleSource:
      return "shuffle source";
    case Check::kNeverEnds:
      return "never ends";
    case Check::kOutOfBounds:
      return "out of bounds";
    case Check::kLogicalBounds:
      return "logical bounds";
    case Check::kMisaligned:
      return "misaligned access";
    case Check::kReadOnly:
      return "write to read-only memory";
    case Check::kUninitialisedMemory:
      return "uninitialised read";
    case Check::kUndefinedRegister:
      return "undefined register";
    case Check::kRace:
      return "race";
    case Check::kGridRace:
      return "race between thread blocks";
    case Check::kUnfinishedCopy:
      return "unfinished copy";
    case Check::kProxyFence:
      return "missing proxy fence";
    case Check::kMbarrier:
      return "mbarrier";
    case Check::kDeadlock:
      return "deadlock";
    case Check::kWarpgroup:
      return "warpgroup";
    case Check::kTensorMap:
      return "tensor map";
    case Check::kAssertion:
      return "assertion";
    case Check::kRefused:
      return "refused";
  }
  return "finding";
}

std::string CodePlace::text() const {
  std::string text;
  if (line != 0) {
    text = (file.empty() ? "line" : file) + ":" + std::to_string(line);
    if (!inlined_at.empty()) text += ", inlined at " + inlined_at;
    text += " (";
  }
  if (ptx_line != 0) text += "PTX line " + std::to_string(ptx_line) + ", " + instruction;
  if (line != 0) text += ")";
  return text;
}

std::string ThreadPlace::text() const {
  return "thread " + std::to_string(linear) + " (warp " + std::to_string(linear / 32) + ", lane " +
         std::to_string(linear % 32) + ") of block " + block.text();
}

bool Finding::is_of_one_store() const {
  return check == Check::kRace && thread && other_thread && place == other_place &&
         place.instruction.starts_with("st.") && thread->block == other_thread->block;
}

std::string Finding::text() const {
  const auto party = [](const CodePlace& place, const std::optional<ThreadPlace>& thread,
                        const std::string& what) {
    const std::string where = place.text();
    return (where.empty() ? "" : where + ": ") + (thread ? thread->text() + " " : "") + what;
  };
  std::string text =
      std::string(check_name(check)) + " in kernel '" + kernel + "': " + party(place, thread, what);
  if (!other_what.empty()) text += "; " + party(other_place, other_thread, other_what);
  return text;
}

}  // namespace recto::ptx
