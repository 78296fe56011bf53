#pragma once

// The results of trying fault models on a failure, as text.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recto::verify {

struct FaultReport {
  std::int64_t tried = 0;
  std::vector<std::string> fitting = {};   // faults under which every element is within its bounds
  std::vector<std::string> left_out = {};  // not tried, and why
  // Why a fit is weak evidence in this case: many other faults, also unknown ones, would fit.
  // Nothing if no fault fits.
  std::optional<std::string> weak = {};
};

// Lines that begin with "faults", each ending in a newline.
std::string faults_text(const FaultReport& report);

}  // namespace recto::verify
