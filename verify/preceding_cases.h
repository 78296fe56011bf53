#pragma once

// The cases that a process ran before a failing one: the failure may depend on them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "verify/law_runner.h"

namespace recto::verify {

// The last cases that a check ran on, oldest first; a limit on their tensors' size bounds how many.
class PrecedingCases {
 public:
  static constexpr std::size_t kMost = 64;

  void add(std::shared_ptr<const DescribedCase> described);
  const std::vector<std::shared_ptr<const DescribedCase>>& all() const { return cases_; }

 private:
  std::vector<std::shared_ptr<const DescribedCase>> cases_;
  std::int64_t numbers_ = 0;  // elements in their tensors
};

}  // namespace recto::verify
