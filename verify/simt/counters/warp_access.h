#pragma once

// What one warp does with one instruction: the bytes that its lanes ask for together.

#include <cstdint>
#include <vector>

namespace recto::simt {

// Part of memory that one lane asks for.
struct LaneRange {
  unsigned lane = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class WarpAccess {
 public:
  // Global memory moves in sectors.
  static constexpr std::uint64_t kSectorBytes = 32;
  // Shared memory has 32 banks, neighbouring words in neighbouring banks.
  static constexpr std::uint64_t kBankBytes = 4;
  static constexpr std::uint64_t kBanks = 32;

  void add(const LaneRange& range) { ranges_.push_back(range); }

  // Different ones: what several lanes ask for counts once. All O(n log n) in lanes and words.
  std::uint64_t bytes() const;
  std::uint64_t sectors() const;
  // Words of one bank come one after the other: how many, in the bank that has most. Lanes are
  // served together if each asks for a word at most; half of them, if for two; eight, if for four,
  // as ldmatrix does: a pass is of one such group.
  std::uint64_t bank_passes() const;
  // As many as it would take if each group's words were spread evenly over the banks.
  std::uint64_t bank_passes_min() const;

 private:
  unsigned lanes_served_together() const;
  // Words of each group of lanes.
  std::vector<std::vector<std::uint64_t>> words_by_group() const;

  std::vector<LaneRange> ranges_;
};

}  // namespace recto::simt
