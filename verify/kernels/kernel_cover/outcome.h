#pragma once

// The results of a kernel, in a form that can be compared between compilers, modes and schedules.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <xxhash.h>

namespace recto::verify {

struct Outcome {
  std::string kernel;
  std::string bits;
  std::string taint;  // from taint_text(): empty if there is none
};

template <typename T>
std::uint64_t bits_of(const std::vector<T>& values) {
  return XXH3_64bits(values.data(), values.size() * sizeof(T));
}

// Prints outcomes, one line each, and counts them by kernel.
class Report {
 public:
  // `label` names the case.
  void print(const std::string& label, const Outcome& outcome);
  // Compares the bits with those under another schedule.
  void compare(const std::string& label, const Outcome& expected, const Outcome& outcome);
  // The same for many schedules: prints only differences.
  void expect_same(const std::string& label, const Outcome& expected, const Outcome& outcome);
  void print_counts() const;

  int exit_status() const { return faults_ == 0 ? 0 : 1; }

 private:
  int faults_ = 0;
  std::map<std::string, int> counts_;
};

}  // namespace recto::verify
