#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/cases/case_folder.h"
#include "experiments/support/command.h"
#include "experiments/support/output_file.h"
#include "experiments/support/testing/tried_command.h"
#include "verify/cases/npz/npz_archive.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
using verify::NpyType;
using verify::NpzArrays;

// A case as recto cases writes it.
NpzArrays drawn_case(const std::vector<std::string>& flags) {
  const auto folder = std::filesystem::path(std::getenv("TEST_TMPDIR")) / "cases";
  std::filesystem::remove_all(folder);
  std::vector<std::string> words = {"cases", "--out", folder.string(), "--cases",
                                    "1",     "--op",  "prefill"};
  words.insert(words.end(), flags.begin(), flags.end());
  const auto tried = testing::try_command(cases_command, words);
  INFO(tried.err);
  REQUIRE(tried.exit_code == 0);
  const std::string bytes = read_text_file((folder / "prefill-01.npz").string()).value();
  return verify::parse_npz(bytes, 1 << 28).value();
}

testing::TriedCommand oracle(const NpzArrays& arrays, std::vector<std::string> flags = {}) {
  std::vector<verify::NpzMember> members;
  for (const auto& [name, array] : arrays) members.push_back({name, array});
  const auto file = std::filesystem::path(std::getenv("TEST_TMPDIR")) / "inputs.npz";
  REQUIRE(write_file(file.string(), verify::npz_bytes(members).value()).is_ok());
  flags.insert(flags.begin(), {"oracle", file.string()});
  return testing::try_command(oracle_command, flags);
}

TEST_CASE("results equal those that recto cases wrote, in every layout and type") {
  const auto written = std::filesystem::path(std::getenv("TEST_TMPDIR")) / "expected.npz";
  for (const std::string layout : {"token-major", "head-major", "packed"}) {
    for (const std::string type : {"fp32", "fp16", "bf16/e4m3"}) {
      CAPTURE(layout, type);
      const NpzArrays arrays = drawn_case(
          {"--layout", layout, "--type", type, "--head-dim", "32", "--require", "window,sinks"});
      const auto tried = oracle(arrays, {"--out", written.string()});
      INFO(tried.err);
      REQUIRE(tried.exit_code == 0);
      const NpzArrays made =
          verify::parse_npz(read_text_file(written.string()).value(), 1 << 28).value();
      for (const char* name : {"expected", "bound", "expected_lse_ln", "bound_lse_ln"})
        CHECK(made.at(name) == arrays.at(name));
    }
  }
}

TEST_CASE("an output is compared, and the first wrong element is named") {
  NpzArrays arrays = drawn_case({"--type", "fp32"});
  std::vector<float> out;
  const verify::NpyArray expected = arrays.at("expected");
  for (std::int64_t i = 0; i < expected.count(); ++i)
    out.push_back(static_cast<float>(expected.at<double>(i)));
  arrays["out"] = make_npy_array(NpyType::kFloat32, expected.shape, out);
  CHECK(oracle(arrays).exit_code == 0);
  out.back() += 1.0F;
  arrays["out"] = make_npy_array(NpyType::kFloat32, expected.shape, out);
  const auto tried = oracle(arrays);
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.out, ContainsSubstring("1 of ") && ContainsSubstring("first out[sequence"));
}

TEST_CASE("arrays that are missing, or of another type or shape, are named") {
  const NpzArrays right = drawn_case({"--type", "fp32"});
  const auto check_refused = [&](const char* name, const verify::NpyArray* array,
                                 const std::string& message) {
    NpzArrays arrays = right;
    arrays.erase(name);
    if (array != nullptr) arrays[name] = *array;
    const auto tried = oracle(arrays);
    CHECK(tried.exit_code == 2);
    CHECK_THAT(tried.err, ContainsSubstring(message));
  };
  check_refused("q", nullptr, "q: expected float32 of 3 dimensions, found none");
  const auto far = make_npy_array<std::int32_t>(NpyType::kInt32, {1}, {1 << 30});
  check_refused("context_length", &far, "context_length");
  const auto text = verify::make_npy_text("sideways");
  check_refused("layout", &text, "layout: expected one of token-major, head-major, packed");
  const auto one = make_npy_scalar(NpyType::kFloat64, 1.0);
  check_refused("scale", &one, "scale: expected one number");
}

}  // namespace
}  // namespace recto::experiments
