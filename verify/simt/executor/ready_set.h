#pragma once

// The threads of one thread block that can run, as a bit set.

#include <array>
#include <bit>
#include <cstdint>

#include "verify/simt/executor/kernel_thread.h"

namespace recto::simt {

class ReadySet {
 public:
  static constexpr unsigned kThreadsMax = 1024;

  void clear() {
    words_ = {};
    size_ = 0;
  }
  bool empty() const { return size_ == 0; }
  unsigned size() const { return size_; }
  bool contains(unsigned thread) const { return (words_[thread / 64] >> thread % 64 & 1) != 0; }

  void insert(unsigned thread) { insert_lanes(thread / kWarpSize, 1U << thread % kWarpSize); }
  void erase(unsigned thread) {
    size_ -= contains(thread) ? 1 : 0;
    words_[thread / 64] &= ~(std::uint64_t{1} << thread % 64);
  }

  // Inserts lanes of one warp, none of which is in the set.
  void insert_lanes(unsigned warp, std::uint32_t lanes) {
    words_[warp / 2] |= std::uint64_t{lanes} << warp % 2 * kWarpSize;
    size_ += static_cast<unsigned>(std::popcount(lanes));
  }

  std::uint32_t lanes(unsigned warp) const {
    return static_cast<std::uint32_t>(words_[warp / 2] >> warp % 2 * kWarpSize);
  }

  // The first thread of the set at or after `thread`, wrapping around. The set must not be empty.
  unsigned next_from(unsigned thread) const {
    unsigned word = thread / 64;
    std::uint64_t bits = words_[word] & ~std::uint64_t{0} << thread % 64;
    while (bits == 0) bits = words_[word = (word + 1) % words_.size()];
    return word * 64 + static_cast<unsigned>(std::countr_zero(bits));
  }

  // The last one at or before `thread`, wrapping around.
  unsigned previous_from(unsigned thread) const {
    unsigned word = thread / 64;
    std::uint64_t bits = words_[word] & ~std::uint64_t{0} >> (63 - thread % 64);
    while (bits == 0) {
      word = word == 0 ? static_cast<unsigned>(words_.size()) - 1 : word - 1;
      bits = words_[word];
    }
    return word * 64 + 63 - static_cast<unsigned>(std::countl_zero(bits));
  }

  // The thread of the set that `rank` others precede; rank < size().
  unsigned nth(unsigned rank) const {
    unsigned word = 0;
    while (true) {
      const auto here = static_cast<unsigned>(std::popcount(words_[word]));
      if (rank < here) break;
      rank -= here;
      ++word;
    }
    std::uint64_t bits = words_[word];
    for (; rank > 0; --rank) bits &= bits - 1;
    return word * 64 + static_cast<unsigned>(std::countr_zero(bits));
  }

 private:
  unsigned size_ = 0;
  std::array<std::uint64_t, kThreadsMax / 64> words_ = {};
};

}  // namespace recto::simt
