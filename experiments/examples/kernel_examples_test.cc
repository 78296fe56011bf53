// Two kernel libraries in C, one with a fault, under all laws and the oracle: testdata/ has their
// reports, except for digits that depend on the C library's exponential.

#include <cstddef>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/library/kernel_library_report.h"

namespace recto::verify {
namespace {

const std::string kFolder = "experiments/examples/";

std::string text_of(const std::string& path) {
  std::ifstream file(kFolder + path);
  REQUIRE(file.is_open());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

// The counts, which come first, without their last column, the worst ratios.
std::string without_ratios(const std::string& text) {
  std::string result;
  bool is_count = true;
  for (std::string line : lines_of(text)) {
    is_count = is_count && !line.starts_with("skipped");
    if (is_count) line.erase(line.find_last_of(' '));
    if (is_count) line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  }
  return result;
}

// Cases of the types that the two libraries support, and of one that they refuse.
LawReport report_on(const std::string& library) {
  std::vector<DrawnCases> sets = library_cases(8);
  for (DrawnCases& set : sets) {
    set.times_full = 1;  // the golden texts have counts
    set.domain.types = {{ElementType::kFp32, ElementType::kFp32},
                        {ElementType::kBf16, ElementType::kBf16},
                        {ElementType::kBf16, ElementType::kE4m3}};
  }
  return kernel_library_report(kFolder + library, sets, {},
                               {.bound_kind = BoundKind::kProbabilistic, .failures_kept = 1})
      .value();
}

// Also prints the whole text, to update the file after an intended change.
void check_text(const std::string& seen, const std::string& path) {
  std::cout << seen << std::flush;
  CHECK((without_ratios(seen) == without_ratios(text_of(path))));
}

TEST_CASE("the kernel that is right passes") {
  const LawReport report = report_on("libpaged_kernel.so");
  CHECK(report.passed());
  for (const std::string& failure : report.failures) std::cout << failure;
  check_text(report.table(), "testdata/paged_kernel.txt");
}

TEST_CASE("the kernel whose window is one key too wide is caught, and its smallest case shown") {
  const LawReport report = report_on("libfaulty_kernel.so");
  CHECK_FALSE(report.passed());
  REQUIRE_FALSE(report.failures.empty());
  std::string text = report.table();
  for (const std::string& failure : report.failures) text += failure;
  check_text(text, "testdata/faulty_kernel.txt");
}

TEST_CASE("the right and the faulty kernel differ only by the fault and the name") {
  const std::vector<std::string> right = lines_of(text_of("paged_kernel.c"));
  const std::vector<std::string> faulty = lines_of(text_of("faulty_kernel.c"));
  REQUIRE(right.size() == faulty.size());
  std::vector<std::string> different;
  for (std::size_t i = 0; i < right.size(); ++i)
    if (right[i] != faulty[i]) different.push_back(faulty[i]);
  REQUIRE(different.size() == 3);
  CHECK((different[0].find("call->window") != std::string::npos));
  CHECK((different[1].find("call->window") != std::string::npos));
  CHECK((different[2].find("\"faulty-c\"") != std::string::npos));
}

}  // namespace
}  // namespace recto::verify
