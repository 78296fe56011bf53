#pragma once

// A fixture for the tests of recto check.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/cases/case_folder.h"
#include "experiments/support/command.h"
#include "experiments/support/output_file.h"
#include "experiments/support/testing/tried_command.h"
#include "verify/cases/npz/npy_format.h"
#include "verify/cases/npz/npz_archive.h"

namespace recto::experiments {

// A folder of cases, with spaces in its path, and right answers to all of them.
class AnsweredFolder {
 public:
  explicit AnsweredFolder(std::vector<std::string> flags = {"--cases", "6"}) {
    const auto root = std::filesystem::path(std::getenv("TEST_TMPDIR"));
    std::filesystem::remove_all(root / "of a test");
    path = (root / "of a test" / "cases").string();
    kept = (root / "of a test" / "failing cases").string();
    flags.insert(flags.begin(), {"cases", "--out", path});
    const testing::TriedCommand tried = testing::try_command(cases_command, flags);
    INFO(tried.err);
    REQUIRE(tried.exit_code == 0);
    files = read_case_manifest(path).value().cases;
    for (const CaseFile& file : files) answer(file, right(file));
  }

  static constexpr std::int64_t kRoom = 1 << 28;

  verify::NpzArrays arrays_of(const CaseFile& file) const {
    return verify::parse_npz(read_text_file(case_path(path, file)).value(), kRoom).value();
  }

  verify::NpzArrays right(const CaseFile& file) const {
    const verify::NpzArrays arrays = arrays_of(file);
    verify::NpzArrays answer;
    if (file.operation == verify::CaseOperation::kKvWrite) {
      answer["k_cache"] = arrays.at("expected_k_cache");
      answer["v_cache"] = arrays.at("expected_v_cache");
      return answer;
    }
    const verify::NpyArray& expected = arrays.at("expected");
    std::vector<float> out;
    for (std::int64_t i = 0; i < expected.count(); ++i)
      out.push_back(static_cast<float>(expected.at<double>(i)));
    answer["out"] = make_npy_array(verify::NpyType::kFloat32, expected.shape, out);
    return answer;
  }

  void answer(const CaseFile& file, const verify::NpzArrays& arrays) const {
    std::vector<verify::NpzMember> members;
    for (const auto& [name, array] : arrays) members.push_back({name, array});
    write(file.name + ".out.npz", npz_bytes(members).value());
  }

  void write(const std::string& name, const std::string& bytes) const {
    REQUIRE(write_file(path + "/" + name, bytes).is_ok());
  }
  std::string read(const std::string& name) const {
    return read_text_file(path + "/" + name).value();
  }
  void remove(const std::string& name) const { std::filesystem::remove(path + "/" + name); }

  testing::TriedCommand check(std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {"check", path, "--out", kept});
    return testing::try_command(check_command, std::move(flags));
  }

  // Checks the folder with `bytes` as the first case's answer.
  void check_wrong(const std::string& suffix, const std::string& bytes,
                   const std::string& message) const {
    remove(files.front().name + ".out.npz");
    write(files.front().name + suffix, bytes);
    const testing::TriedCommand tried = check();
    remove(files.front().name + suffix);
    CHECK(tried.exit_code == 1);
    CHECK_THAT(tried.out, Catch::Matchers::ContainsSubstring(message));
    CHECK_THAT(tried.err, Catch::Matchers::ContainsSubstring("1 of 6 cases are wrong; first: "));
  }

  void check_refused(const std::string& message) const {
    const testing::TriedCommand tried = check();
    CHECK(tried.exit_code == 2);
    CHECK_THAT(tried.err, Catch::Matchers::ContainsSubstring(message));
    CHECK(tried.out.empty());
  }

  std::string path;
  std::string kept;
  std::vector<CaseFile> files;
};

}  // namespace recto::experiments
