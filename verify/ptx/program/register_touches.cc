#include "verify/ptx/program/register_touches.h"

#include <algorithm>
#include <utility>

#include "verify/ptx/program/liveness.h"

namespace recto::ptx {
namespace {

class Walk {
 public:
  explicit Walk(const ControlFlow& flow) : flow_(flow) {}

  // Visits what follows the step on any path; a path ends where visit(step) is false.
  template <typename Visit>
  void forward(std::uint32_t from, Visit visit) {
    std::vector<bool> is_seen(flow_.blocks.size(), false);
    // The step to visit next, and its block.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> begins = {
        {from + 1, flow_.block_of[from]}};
    while (!begins.empty()) {
      auto [step, number] = begins.back();
      begins.pop_back();
      const BasicBlock& block = flow_.blocks[number];
      while (step < block.end && visit(step)) ++step;
      if (step < block.end) continue;
      for (const std::uint32_t next : block.successors) {
        if (is_seen[next]) continue;
        is_seen[next] = true;
        begins.emplace_back(flow_.blocks[next].begin, next);
      }
    }
  }

  // The same for what precedes it.
  template <typename Visit>
  void backward(std::uint32_t from, Visit visit) {
    std::vector<bool> is_seen(flow_.blocks.size(), false);
    // A step behind the one to visit next, and its block.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ends = {{from, flow_.block_of[from]}};
    while (!ends.empty()) {
      auto [step, number] = ends.back();
      ends.pop_back();
      const BasicBlock& block = flow_.blocks[number];
      while (step > block.begin && visit(step - 1)) --step;
      if (step > block.begin) continue;
      for (const std::uint32_t before : block.predecessors) {
        if (is_seen[before]) continue;
        is_seen[before] = true;
        ends.emplace_back(flow_.blocks[before].end, before);
      }
    }
  }

 private:
  const ControlFlow& flow_;
};

class Touches {
 public:
  Touches(Draft& draft, const ControlFlow& flow)
      : draft_(draft), walk_(flow), is_sum_(draft.values.size(), false) {
    is_factor_ = is_sum_;
  }

  std::vector<RegisterTouch> find() {
    std::vector<Step>& steps = draft_.program.steps;
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      if (steps[i].action == Action::kWarpgroupProduct) add(i);
    }
    std::sort(touches_.begin(), touches_.end());
    return std::move(touches_);
  }

 private:
  void mark(const Detail& product, bool is_marked) {
    for (const ValuePlace value : product.defs) is_sum_[value] = is_marked;
    for (std::size_t i = 1 + product.defs.size(); i < product.uses.size(); ++i) {
      is_factor_[product.uses[i]] = is_marked;
    }
  }

  void add(std::uint32_t index) {
    const std::vector<Step>& steps = draft_.program.steps;
    const Detail& product = draft_.program.details[steps[index].detail];
    mark(product, true);
    const auto visit = [&](std::uint32_t step, bool is_before) {
      if (touches(step, product)) touches_.push_back({step, index, is_before});
    };
    walk_.forward(index, [&](std::uint32_t step) {
      const bool waits = steps[step].action == Action::kWarpgroupWait &&
                         draft_.program.details[steps[step].detail].count == 0;
      if (!waits) visit(step, false);
      return !waits;
    });
    walk_.backward(index, [&](std::uint32_t step) {
      const bool is_fence = steps[step].action == Action::kWarpgroupFence;
      if (!is_fence) visit(step, true);
      return !is_fence;
    });
    mark(product, false);
  }

  // Products of one shape may follow one another on the same sums.
  bool touches(std::uint32_t index, const Detail& product) {
    Step& step = draft_.program.steps[index];
    const bool is_product = step.action == Action::kWarpgroupProduct;
    if (is_product) {
      const Detail& other = draft_.program.details[step.detail];
      if (other.defs == product.defs && other.warpgroup.columns == product.warpgroup.columns &&
          other.warpgroup.sum == product.warpgroup.sum) {
        return std::any_of(other.uses.begin() + 1 + static_cast<std::ptrdiff_t>(other.defs.size()),
                           other.uses.end(), [&](ValuePlace value) { return is_sum_[value]; });
      }
    }
    bool touches = false;
    for_each_value(step, draft_.program.details, [&](ValuePlace value, bool is_def) {
      // A's registers may be read by other products.
      touches |= is_sum_[value] || (is_factor_[value] && (is_def || !is_product));
    });
    return touches;
  }

  Draft& draft_;
  Walk walk_;
  std::vector<bool> is_sum_;
  std::vector<bool> is_factor_;
  std::vector<RegisterTouch> touches_;
};

}  // namespace

std::vector<RegisterTouch> register_touches_of(Draft& draft, const ControlFlow& flow) {
  return Touches(draft, flow).find();
}

}  // namespace recto::ptx
