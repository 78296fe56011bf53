#include "experiments/support/command.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/json.h"
#include "experiments/numerics/numerics_study.h"
#include "experiments/support/output_file.h"
#include "experiments/support/table.h"
#include "experiments/support/testing/tried_command.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
testing::TriedCommand numerics(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "numerics");
  return testing::try_command(numerics_command, std::move(arguments));
}

testing::TriedCommand small(std::vector<std::string> further) {
  std::vector<std::string> arguments{"--n", "16,100", "--types", "fp32,bf16", "--draws", "5"};
  arguments.insert(arguments.end(), further.begin(), further.end());
  return numerics(std::move(arguments));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void check_refused(const std::vector<std::string>& arguments, const std::string& message) {
  const testing::TriedCommand tried = numerics(arguments);
  CHECK(tried.exit_code == 2);
  CHECK(tried.out.empty());
  CHECK_THAT(tried.err, ContainsSubstring(message));
}

TEST_CASE("the output has three tables of all types and key counts, and the command to repeat") {
  const auto tried = small({});
  REQUIRE(tried.exit_code == 0);
  CHECK(tried.err.empty());
  const std::vector<std::string> lines = lines_of(tried.out);
  std::int64_t rows = 0;
  std::int64_t faults = 0;
  for (const std::string& line : lines) {
    CHECK(display_width(line) <= 100);
    rows += line.starts_with("fp32  ") || line.starts_with("bf16  ") ? 1 : 0;
    for (const char* fault : {" dropped key ", " scale error ", " swapped V "}) {
      faults += line.starts_with("     ") && line.find(fault) != std::string::npos ? 1 : 0;
    }
  }
  CHECK(rows == 3 * 4);
  CHECK(faults == 2 * 3 * 4);
  CHECK(lines.back() ==
        "To repeat: recto numerics --n 16,100 --types fp32,bf16 --seed 1 --draws 5");
}

TEST_CASE("rows of fewer than 16 draws are marked, and the mark is explained") {
  const auto of_draws = [](const char* draws) {
    return numerics({"--n", "16", "--types", "fp32", "--draws", draws}).out;
  };
  const std::string few = of_draws("15");
  const std::string enough = of_draws("16");
  const std::string mark = "fp32  16*  none ";
  const std::size_t first = few.find(mark);
  REQUIRE(first != std::string::npos);
  CHECK(few.find(mark, first + 1) != std::string::npos);  // of both judges' tables
  const std::string legend = "*: of fewer than 16 draws, which say little of all draws.\n";
  CHECK(few.find(legend) != few.rfind(legend));
  CHECK_THAT(enough, ContainsSubstring("fp32  16  none "));
  CHECK_THAT(enough, !ContainsSubstring("*"));
}

TEST_CASE("equal flags give equal output on any number of threads, and another seed another") {
  const std::string once = small({"--threads", "1"}).out;
  CHECK(small({"--threads", "3"}).out == once);
  CHECK(small({"--seed", "2"}).out != once);
}

TEST_CASE("JSON has every figure") {
  const auto tried = small({"--json"});
  REQUIRE(tried.exit_code == 0);
  const Json cells = parse_json(tried.out).value();
  REQUIRE(cells.size() == 4);
  CHECK(cells[1]["type"] == "fp32");
  CHECK(cells[1]["num_keys"] == 100);
  for (const Json& cell : cells) {
    CHECK(cell["draws"] == 5);
    CHECK(cell["sharpness"]["beyond_probabilistic"] == 0);
    CHECK(cell["sharpness"]["out_probabilistic"]["worst"].get<double>() >
          cell["sharpness"]["out_probabilistic"]["median"].get<double>());
    REQUIRE(cell["thresholds"].size() == 18);
    const Json& first = cell["thresholds"][0];
    CHECK(first["fault"] == "dropped key");
    CHECK(first["judge"] == "probabilistic");
    CHECK(first["sight"] == "seen");
    CHECK(first["refused_draws"].get<double>() >= 3);
    CHECK(first["supported_share"].get<double>() < first["refused_draws"].get<double>() / 5);
    CHECK(first["supported_share"].get<double>() > 0.1);
    CHECK(first["refused_right_draws"] == 0);
    CHECK(first["realised_size"].get<double>() > 0);
  }
}

TEST_CASE("without --draws, short contexts get the default number of draws") {
  const auto tried = numerics({"--n", "2", "--types", "fp32", "--json"});
  REQUIRE(tried.exit_code == 0);
  CHECK(parse_json(tried.out).value()[0]["draws"] == default_draws(2));
}

TEST_CASE("CSV files hold all results, and the manifest has the command to repeat them") {
  const std::filesystem::path folder =
      std::filesystem::path(std::getenv("TEST_TMPDIR")) / "numerics";
  const auto tried = small({"--out", folder.string()});
  REQUIRE(tried.exit_code == 0);
  const auto read = [&folder](const char* name) {
    return read_text_file((folder / name).string()).value();
  };
  const std::vector<std::string> sharpness = lines_of(read("sharpness.csv"));
  CHECK(sharpness.size() == 1 + 4);
  CHECK_THAT(sharpness[0], ContainsSubstring("type,num_keys,draws,seed,out_probabilistic.median,"));
  const std::vector<std::string> thresholds = lines_of(read("thresholds.csv"));
  CHECK(thresholds.size() == 1 + 4 * 18);
  CHECK_THAT(thresholds[0], ContainsSubstring("fault,judge,sight,size,realised_size,"));
  const Json manifest = parse_json(read("manifest.json")).value();
  CHECK(manifest["command"] == "numerics");
  CHECK(manifest["repeat"] == "recto numerics --n 16,100 --types fp32,bf16 --seed 1 --draws 5");
  CHECK(manifest["files"].size() == 2);
}

TEST_CASE("an output folder that cannot be written is refused before the study runs") {
  for (const char* folder : {"/dev/null/x", "/proc"}) {
    const auto tried = numerics({"--n", "262144", "--draws", "1000000", "--out", folder});
    CHECK(tried.exit_code == 2);
    CHECK(tried.out.empty());
    CHECK_THAT(tried.err, ContainsSubstring(folder));
  }
}

TEST_CASE("bad flags are named, with what was expected") {
  check_refused({"--out", ""}, "--out: found ''; expected a folder");
  check_refused({"--n", "1"}, "--n: found '1'; expected an integer from 2 to 262144");
  check_refused({"--n", "262145"}, "--n: found '262145'; expected an integer from 2 to 262144");
  check_refused({"--n", "16k"}, "--n: found '16k'; expected an integer");
  check_refused({"--n", "16,,32"}, "--n: found '16,,32'; expected a list");
  check_refused({"--n", "16,16"}, "--n: found '16' twice");
  for (const char* types : {"e4m3", "fp32/e4m3", "fp16/bf16", "fp16/fp16", "fp16/"}) {
    check_refused({"--types", types}, std::string("--types: found '") + types +
                                          "'; expected fp32, fp16, bf16, or one of the latter two "
                                          "with a cache in fp8, such as fp16/e4m3");
  }
  check_refused({"--types", "fp16,fp16"}, "--types: found 'fp16' twice");
  check_refused({"--draws", "0"}, "--draws");
  check_refused({"--draws", "many"}, "--draws");
  check_refused({"--seed", "-1"}, "--seed");
  check_refused({"--threads", "0"}, "--threads");
  check_refused({"--colour"}, "--colour");
}

TEST_CASE("help shows every flag and examples") {
  const auto tried = numerics({"--help"});
  CHECK(tried.exit_code == 0);
  for (const char* part : {"--n", "--types", "--draws", "--seed", "--out", "--threads", "--json",
                           "Examples:", "  recto numerics"}) {
    CHECK_THAT(tried.out, ContainsSubstring(part));
  }
}

}  // namespace
}  // namespace recto::experiments
