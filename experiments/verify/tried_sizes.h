#pragma once

// The sizes, types and layouts of what was tried, so that nobody takes a run for more than it was.

#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "verify/law.h"

namespace recto::experiments {

// Contexts and rows are those of each sequence. Each range stands by itself: the largest values of
// two need not have occurred together.
class TriedSizes {
 public:
  void add(const verify::LawCase& law_case);
  void add(const TriedSizes& other);

  // "context 0-4096, sequences 1-256, ..., head dims 40 64, groups 1 2 3, block sizes 16 32, types
  // fp32/fp32, layouts packed": what is drawn from lists is listed. Several lines, all but the
  // first preceded by `indent`; no newline at the end.
  std::string text(const std::string& indent) const;
  // {"context": [0, 4096], "sequences": [1, 256], ..., "head dims": [40, 64], ...}: ranges, and
  // lists.
  nlohmann::ordered_json json() const;

 private:
  struct Range {
    std::int64_t min = std::numeric_limits<std::int64_t>::max();
    std::int64_t max = std::numeric_limits<std::int64_t>::min();
    void add(std::int64_t value);
    void add(const Range& other);
  };

  enum Size : std::uint8_t { kContext, kSequences, kRows, kQHeads, kKvHeads };
  static constexpr const char* kNames[] = {"context", "sequences", "rows", "q heads", "KV heads"};

  Range ranges_[std::size(kNames)];
  std::set<std::int64_t> head_dims_;  // of K and of V
  std::set<std::int64_t> groups_;
  std::set<std::int64_t> block_sizes_;
  std::set<std::string> types_;  // of q and of the cache
  std::set<std::string> layouts_;
};

}  // namespace recto::experiments
