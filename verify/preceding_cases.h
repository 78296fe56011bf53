#pragma once

// The cases that a process had before a failing one: a failure may need them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "verify/law_runner.h"

namespace recto::verify {

// The last cases that a check was made of, oldest first: as many as their tensors have room for.
class PrecedingCases {
 public:
  static constexpr std::size_t kMost = 64;

  void add(std::shared_ptr<const DescribedCase> described);
  const std::vector<std::shared_ptr<const DescribedCase>>& all() const { return cases_; }

 private:
  std::vector<std::shared_ptr<const DescribedCase>> cases_;
  std::int64_t numbers_ = 0;  // in their tensors
};

}  // namespace recto::verify
