// Counterexamples that were found once, in recto itself: each must hold on every backend that
// serves it.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/backend_list.h"
#include "verify/drawn_cases.h"
#include "verify/law.h"
#include "verify/law_runner.h"
#include "verify/laws/laws.h"
#include "verify/saved_case.h"

namespace recto::verify {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> saved_files() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator("verify/qa/replays"))
    files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

SavedCase read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return parse_saved_case(text.str()).value();
}

Law law_named(const std::string& name) {
  std::vector<Law> laws = all_laws();
  laws.push_back(oracle_comparison());
  const auto law = std::ranges::find(laws, name, &Law::name);
  REQUIRE(law != laws.end());
  return *law;
}

TEST_CASE("every past counterexample holds on every backend") {
  const std::vector<fs::path> files = saved_files();
  CHECK(!files.empty());
  for (const fs::path& file : files) {
    const SavedCase saved = read(file);
    const Law law = law_named(saved.law);
    const DescribedCase described =
        drawn_case(saved.spec, "recto replay " + file.string() + " --backend NAME");
    std::int64_t held = 0;
    bool has_held_where_found = false;
    for (const ListedBackend& listed : backend_list()) {
      const LawVerdict verdict =
          verdict_of(law, listed.backend, described.law_case, saved.bound_kind);
      if (verdict.skipped) continue;
      INFO(failure_text(law, listed.backend, described, verdict));
      CHECK_FALSE(verdict.failed());
      ++held;
      has_held_where_found |= listed.backend.name == saved.backend;
    }
    INFO(file);
    CHECK(has_held_where_found);
    std::cout << file.filename().string() << ": holds on " << held << " backends\n";
  }
}

}  // namespace
}  // namespace recto::verify
