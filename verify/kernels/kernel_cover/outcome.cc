#include "verify/kernels/kernel_cover/outcome.h"

#include <fmt/format.h>

#include <iostream>

namespace recto::verify {

void Report::print(const std::string& label, const Outcome& outcome) {
  std::cout << fmt::format("{} {} {}\n", label, outcome.kernel, outcome.bits);
  ++counts_[outcome.kernel];
  if (outcome.taint.empty()) return;
  std::cout << fmt::format("taint in kernel '{}': {}\n", outcome.kernel, outcome.taint);
  ++faults_;
}

void Report::compare(const std::string& label, const Outcome& expected, const Outcome& outcome) {
  print(label, outcome);
  expect_same(label, expected, outcome);
}

void Report::expect_same(const std::string& label, const Outcome& expected,
                         const Outcome& outcome) {
  if (outcome.bits == expected.bits) return;
  std::cout << fmt::format("{} {} schedule: expected {}, got {}\n", label, outcome.kernel,
                           expected.bits, outcome.bits);
  ++faults_;
}

void Report::print_counts() const {
  for (const auto& [kernel, count] : counts_) {
    std::cout << fmt::format("count {} {}\n", kernel, count);
  }
}

}  // namespace recto::verify
