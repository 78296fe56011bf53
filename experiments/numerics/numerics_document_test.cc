// Checks docs/numerics.md, which shows output of `recto numerics` and how to run it: titles and
// columns equal the printed ones, flags are known, and the targets exist.

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/numerics/numerics_study.h"
#include "experiments/numerics/numerics_text.h"
#include "experiments/support/command.h"
#include "experiments/support/output_file.h"
#include "experiments/support/testing/tried_command.h"

namespace recto::experiments {
namespace {

std::string document() { return read_text_file("docs/numerics.md").value(); }

// Lines with single spaces, whatever the columns' widths.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    lines.push_back(joined);
  }
  return lines;
}

std::vector<std::string> found(const std::string& pattern) {
  const std::string text = document();
  const std::regex expression(pattern);
  std::vector<std::string> matches;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), expression);
       match != std::sregex_iterator(); ++match) {
    matches.push_back(match->str(1));
  }
  return matches;
}

TEST_CASE("the document has the titles and columns of the printed tables") {
  const std::vector<std::string> there = lines_of(document());
  const std::set<std::string> lines(there.begin(), there.end());
  const std::vector<CellResult> results = {study({ElementType::kFp32, 8, 3, 1})};
  for (const std::string& table :
       {sharpness_text(results), thresholds_text(results), others_text(results)}) {
    const std::vector<std::string> printed = lines_of(table);
    INFO(printed[0] << "\n" << printed[2]);
    CHECK(lines.count(printed[0]) == 1);  // the title
    CHECK(lines.count(printed[2]) == 1);  // the columns
  }
}

TEST_CASE("the document names the tool, and only flags that it has") {
  const std::string help = testing::try_command(numerics_command, {"numerics", "--help"}).out;
  CHECK(help.find("numerics") != std::string::npos);
  CHECK_FALSE(found("`(recto numerics)").empty());
  const std::vector<std::string> flags = found("`(--[a-z-]+)");
  CHECK_FALSE(flags.empty());
  for (const std::string& flag : flags) {
    INFO(flag);
    CHECK(help.find(flag) != std::string::npos);
  }
}

TEST_CASE("every target that the document names exists") {
  const std::vector<std::string> targets = found("//([a-z_/]+:[a-z_]+)");
  CHECK(targets.size() >= 2);
  for (std::string target : targets) {
    INFO(target);
    target.replace(target.find(':'), 1, "/");
    CHECK(std::filesystem::exists(target));
  }
}

}  // namespace
}  // namespace recto::experiments
