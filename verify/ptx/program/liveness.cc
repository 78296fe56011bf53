#include "verify/ptx/program/liveness.h"

namespace recto::ptx {
namespace {

class BitSet {
 public:
  explicit BitSet(std::size_t bits) : words_((bits + 63) / 64) {}
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  bool has(std::size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  // this |= added & ~removed; whether that changed anything.
  bool add(const BitSet& added, const BitSet* removed) {
    std::uint64_t changed = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::uint64_t more = added.words_[i] & (removed != nullptr ? ~removed->words_[i] : ~0);
      changed |= more & ~words_[i];
      words_[i] |= more;
    }
    return changed != 0;
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(static_cast<ValuePlace>(64 * i + static_cast<unsigned>(__builtin_ctzll(word))));
      }
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace

Liveness liveness_of(Draft& draft, const ControlFlow& flow) {
  const std::size_t count = draft.values.size();
  const std::size_t blocks = flow.blocks.size();
  std::vector<BitSet> read(blocks, BitSet(count));  // before they are written in the block
  std::vector<BitSet> written(blocks, BitSet(count));
  Liveness liveness;
  liveness.ranges.resize(count);
  const auto is_variable = [&](ValuePlace value) {
    return draft.values[value].kind == ValueKind::kVariable;
  };
  // Lanes without the guard keep what they have, if somebody reads it.
  std::vector<bool> is_kept(count, false);
  for (Step& step : draft.program.steps) {
    for_each_value(step, draft.program.details, [&](ValuePlace value, bool is_def) {
      if (!is_def) is_kept[value] = !draft.values[value].is_temporary;
    });
  }
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::uint32_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
      Step& step = draft.program.steps[i];
      for_each_value(step, draft.program.details, [&](ValuePlace value, bool is_def) {
        if (!is_variable(value)) return;
        const bool keeps_lanes = step.guard != kNoValue && is_kept[value];
        liveness.ranges[value].cover(i);
        if ((!is_def || keeps_lanes) && !written[b].has(value)) read[b].set(value);
        if (is_def && !keeps_lanes) written[b].set(value);
      });
    }
  }
  // `read` grows to what is live at the beginning of each block.
  std::vector<BitSet> live_out(blocks, BitSet(count));
  for (bool changes = true; changes;) {
    changes = false;
    for (std::size_t b = blocks; b-- > 0;) {
      for (const std::uint32_t next : flow.blocks[b].successors) {
        live_out[b].add(read[next], nullptr);
      }
      changes |= read[b].add(live_out[b], &written[b]);
    }
  }
  for (std::size_t b = 0; b < blocks; ++b) {
    read[b].for_each([&](ValuePlace value) { liveness.ranges[value].cover(flow.blocks[b].begin); });
    live_out[b].for_each(
        [&](ValuePlace value) { liveness.ranges[value].cover(flow.blocks[b].end - 1); });
  }
  if (blocks > 0) {
    read[0].for_each([&](ValuePlace value) { liveness.live_at_entry.push_back(value); });
  }
  return liveness;
}

}  // namespace recto::ptx
