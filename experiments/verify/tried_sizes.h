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

// Contexts and rows are those of each sequence. Each by itself: that the largest of two were met
// together does not follow.
class TriedSizes {
 public:
  void add(const verify::LawCase& law_case);
  void add(const TriedSizes& other);

  // "context 0-4096, sequences 1-40, ..., types fp16/e4m3 fp32/fp32, layouts packed"
  std::string text() const;
  // {"context": [0, 4096], "sequences": [1, 40], ..., "types": ["fp32/fp32"], "layouts": [...]}
  nlohmann::ordered_json json() const;

 private:
  struct Range {
    std::int64_t min = std::numeric_limits<std::int64_t>::max();
    std::int64_t max = std::numeric_limits<std::int64_t>::min();
    void add(std::int64_t value);
    void add(const Range& other);
  };

  enum Size : std::uint8_t { kContext, kSequences, kRows, kQHeads, kKvHeads, kHeadDim, kBlock };
  static constexpr const char* kNames[] = {"context",  "sequences", "rows", "q heads",
                                           "KV heads", "head dim",  "block"};

  Range ranges_[std::size(kNames)];
  std::set<std::string> types_;  // of q and of the cache
  std::set<std::string> layouts_;
};

}  // namespace recto::experiments
