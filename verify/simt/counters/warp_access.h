#pragma once

// One instruction of one warp: the bytes that its lanes access together.

#include <cstdint>
#include <vector>

namespace recto::simt {

// The memory that one lane accesses.
struct LaneRange {
  unsigned lane = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class WarpAccess {
 public:
  // Global memory is transferred in sectors.
  static constexpr std::uint64_t kSectorBytes = 32;
  // Shared memory has 32 banks; consecutive words are in consecutive banks.
  static constexpr std::uint64_t kBankBytes = 4;
  static constexpr std::uint64_t kBanks = 32;

  void add(const LaneRange& range) { ranges_.push_back(range); }

  // Distinct bytes: those that several lanes access count once. All O(n log n) in lanes and words.
  std::uint64_t bytes() const;
  std::uint64_t sectors() const;
  // The bank with the most words decides, because words of one bank are served one after the other.
  // All lanes are served together if each accesses at most one word; half of them, if two; eight,
  // if four, as ldmatrix does. A pass serves one such group.
  std::uint64_t bank_passes() const;
  // The number of passes if each group's words were spread evenly over the banks.
  std::uint64_t bank_passes_min() const;

 private:
  unsigned lanes_served_together() const;
  // The words of each group of lanes.
  std::vector<std::vector<std::uint64_t>> words_by_group() const;

  std::vector<LaneRange> ranges_;
};

}  // namespace recto::simt
