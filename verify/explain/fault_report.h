#pragma once

// What came of trying fault models on a failure, as text.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recto::verify {

struct FaultReport {
  std::int64_t tried = 0;
  std::vector<std::string> fitting = {};   // faults under which every element is within its bounds
  std::vector<std::string> left_out = {};  // not tried, and why
  // Why the case shows too little for faults that fit to be believed: many others would fit, also
  // ones that nobody has thought of. Of those that fit, so nothing where none does.
  std::optional<std::string> weak = {};
};

// Lines that begin with "faults", each ending in a newline.
std::string faults_text(const FaultReport& report);

}  // namespace recto::verify
