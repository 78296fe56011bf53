#include "verify/ptx/program/control_flow.h"

#include <algorithm>

namespace recto::ptx {
namespace {

bool ends_block(const Step& step) {
  return step.action == Action::kBranch || step.action == Action::kBranchTable ||
         step.action == Action::kExit || step.action == Action::kTrap;
}

bool falls_through(const Step& step) { return !ends_block(step) || step.guard != kNoValue; }

const std::vector<std::uint32_t>& targets_of(const Program& program, const Step& step) {
  return program.details[step.detail].targets;
}

// Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm" (2001), on the reversed graph.
class PostDominators {
 public:
  explicit PostDominators(std::vector<BasicBlock>& blocks) : blocks_(blocks) {}

  void find() {
    const auto exit = static_cast<std::uint32_t>(blocks_.size());
    order_from_exit(exit);
    above_.assign(blocks_.size() + 1, kNoBlock);
    above_[exit] = exit;
    for (bool changes = true; changes;) {
      changes = false;
      for (const std::uint32_t block : order_) {
        std::uint32_t common = blocks_[block].successors.empty() ? exit : kNoBlock;
        for (const std::uint32_t next : blocks_[block].successors) {
          if (above_[next] != kNoBlock) common = common == kNoBlock ? next : meet(common, next);
        }
        changes |= above_[block] != common;
        above_[block] = common;
      }
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i].post_dominator = above_[i] == exit ? kNoBlock : above_[i];
    }
  }

 private:
  // Reversed post order of the reversed graph.
  void order_from_exit(std::uint32_t exit) {
    number_.assign(blocks_.size() + 1, 0);
    std::vector<bool> is_seen(blocks_.size(), false);
    std::vector<std::pair<std::uint32_t, std::size_t>> path;
    const auto visit = [&](std::uint32_t root) {
      if (is_seen[root]) return;
      is_seen[root] = true;
      path.emplace_back(root, 0);
      while (!path.empty()) {
        auto& [block, next] = path.back();
        const auto& before = blocks_[block].predecessors;
        if (next == before.size()) {
          order_.push_back(block);
          path.pop_back();
          continue;
        }
        const std::uint32_t predecessor = before[next++];
        if (is_seen[predecessor]) continue;
        is_seen[predecessor] = true;
        path.emplace_back(predecessor, 0);
      }
    };
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].successors.empty()) visit(i);
    }
    std::reverse(order_.begin(), order_.end());
    for (std::uint32_t i = 0; i < order_.size(); ++i) number_[order_[i]] = i + 1;
    number_[exit] = 0;
  }

  std::uint32_t meet(std::uint32_t a, std::uint32_t b) const {
    while (a != b) {
      while (number_[a] > number_[b]) a = above_[a];
      while (number_[b] > number_[a]) b = above_[b];
    }
    return a;
  }

  std::vector<BasicBlock>& blocks_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> number_;
  std::vector<std::uint32_t> above_;
};

}  // namespace

ControlFlow control_flow_of(const Program& program) {
  const auto count = static_cast<std::uint32_t>(program.steps.size());
  std::vector<bool> begins(count + 1, false);
  begins[0] = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Step& step = program.steps[i];
    if (step.action == Action::kBranch) begins[step.target] = true;
    if (step.action == Action::kBranchTable) {
      for (const std::uint32_t target : targets_of(program, step)) begins[target] = true;
    }
    if (ends_block(step)) begins[i + 1] = true;
  }
  ControlFlow flow;
  flow.block_of.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (begins[i]) flow.blocks.push_back({i, i});
    flow.blocks.back().end = i + 1;
    flow.block_of[i] = static_cast<std::uint32_t>(flow.blocks.size() - 1);
  }
  const auto link = [&](std::uint32_t from, std::uint32_t step) {
    const std::uint32_t to = flow.block_of[step];
    auto& successors = flow.blocks[from].successors;
    if (std::find(successors.begin(), successors.end(), to) != successors.end()) return;
    successors.push_back(to);
    flow.blocks[to].predecessors.push_back(from);
  };
  for (std::uint32_t i = 0; i < flow.blocks.size(); ++i) {
    const Step& last = program.steps[flow.blocks[i].end - 1];
    if (last.action == Action::kBranch) link(i, last.target);
    if (last.action == Action::kBranchTable) {
      for (const std::uint32_t target : targets_of(program, last)) link(i, target);
    }
    if (falls_through(last) && flow.blocks[i].end < count) link(i, flow.blocks[i].end);
  }
  PostDominators(flow.blocks).find();
  return flow;
}

}  // namespace recto::ptx
