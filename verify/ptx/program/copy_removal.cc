#include "verify/ptx/program/copy_removal.h"

#include <algorithm>
#include <array>

#include "verify/ptx/program/control_flow.h"
#include "verify/ptx/program/liveness.h"

namespace recto::ptx {
namespace {

bool is_move(const Step& step) {
  static const std::array<LaneFunction, 4> kMoves = [] {
    std::array<LaneFunction, 4> moves = {};
    std::size_t i = 0;
    for (const char* form : {"mov.pred", "mov.b16", "mov.b32", "mov.b64"}) {
      moves[i++] = find_lane_form(form)->function;
    }
    return moves;
  }();
  return step.action == Action::kLanes && step.guard == kNoValue &&
         std::find(kMoves.begin(), kMoves.end(), step.lanes) != kMoves.end();
}

class CopyRemoval {
 public:
  explicit CopyRemoval(Draft& draft)
      : draft_(draft), steps_(draft.program.steps), is_removed_(steps_.size(), false) {}

  void run() {
    find_copies();
    for (Step& step : steps_) {
      for_each_value(step, draft_.program.details, [&](ValuePlace& value, bool is_def) {
        if (!is_def) value = original_of(value);
      });
    }
    remove_steps();
  }

 private:
  // A variable that is written once, before all of its uses, is the same wherever it is used; so is
  // what it is a copy of, if that has one value, too.
  void find_copies() {
    const ControlFlow flow = control_flow_of(draft_.program);
    std::vector<std::uint32_t> num_defs(draft_.values.size(), 0);
    for (Step& step : steps_) {
      for_each_value(step, draft_.program.details,
                     [&](ValuePlace value, bool is_def) { num_defs[value] += is_def ? 1 : 0; });
    }
    for (const ValuePlace value : liveness_of(draft_, flow).live_at_entry) num_defs[value] = 2;
    copy_of_.assign(draft_.values.size(), kNoValue);
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      if (!is_move(step) || num_defs[step.d] != 1) continue;
      const bool is_fixed =
          draft_.values[step.a].kind != ValueKind::kVariable || num_defs[step.a] == 1;
      // The last of a block stays, so that the copies before it are counted there.
      if (!is_fixed || i + 1 == flow.blocks[flow.block_of[i]].end) continue;
      copy_of_[step.d] = step.a;
      is_removed_[i] = true;
    }
  }

  ValuePlace original_of(ValuePlace value) const {
    while (copy_of_[value] != kNoValue) value = copy_of_[value];
    return value;
  }

  void remove_steps() {
    std::vector<std::uint32_t> index;  // by the old one
    std::vector<Step> kept;
    std::uint16_t copies = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      index.push_back(static_cast<std::uint32_t>(kept.size()));
      if (is_removed_[i]) {
        ++copies;
        continue;
      }
      kept.push_back(steps_[i]);
      kept.back().copies = std::exchange(copies, std::uint16_t{0});
    }
    for (Step& step : kept) {
      if (step.action == Action::kBranch) step.target = index[step.target];
    }
    for (Detail& detail : draft_.program.details) {
      for (std::uint32_t& target : detail.targets) target = index[target];
    }
    for (ApproximateStep& each : draft_.program.approximations) each.step = index[each.step];
    steps_ = std::move(kept);
  }

  Draft& draft_;
  std::vector<Step>& steps_;
  std::vector<bool> is_removed_;
  std::vector<ValuePlace> copy_of_;  // by value
};

}  // namespace

void remove_copies(Draft& draft) { CopyRemoval(draft).run(); }

}  // namespace recto::ptx
