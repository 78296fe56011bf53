#pragma once

// Counts coverage events, so that a test can check that they happened.

#include <array>
#include <cstdint>
#include <map>
#include <ostream>
#include <span>
#include <string_view>

#include "core/status.h"
#include "cuda/cache/testing/cache_command.h"

namespace recto::cache::testing {

// The names of all events that are counted.
std::span<const std::string_view> coverage_events();

class Coverage {
 public:
  Coverage();

  // Counts an event, which must be one of coverage_events().
  void count(std::string_view event, std::int64_t times = 1);
  // Counts a command by its status code, or one that found nothing to act on.
  void count_answer(CommandKind kind, StatusCode code) {
    ++answers_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(code)];
  }
  void count_skipped() { ++skipped_; }

  std::int64_t times(std::string_view event) const { return events_.at(event); }
  std::int64_t answers(CommandKind kind, StatusCode code) const {
    return answers_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(code)];
  }
  // Prints a line for each event, and a table of answers.
  void print(std::ostream& out) const;

 private:
  std::map<std::string_view, std::int64_t> events_;
  std::array<std::array<std::int64_t, 4>, kNumCommandKinds> answers_{};  // [kind][StatusCode]
  std::int64_t skipped_ = 0;
};

}  // namespace recto::cache::testing
