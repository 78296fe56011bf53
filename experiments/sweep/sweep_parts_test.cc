#include "experiments/sweep/sweep_parts.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/support/command.h"
#include "experiments/support/output_file.h"
#include "experiments/support/testing/tried_command.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
using Arguments = std::vector<std::string>;

std::string path_of(const std::string& name) {
  const char* folder = std::getenv("TEST_TMPDIR");
  return (folder == nullptr ? std::string("/tmp") : folder) + "/" + name;
}

// 6 points, the last of which has no room for its model, under 2 seeds: 12 runs.
const Arguments kGrid{
    "--requests",   "30",  "--seeds", "2", "--model", "OPT-13B,Llama-2-7B,OPT-66B",
    "--block-size", "8,16"};

testing::TriedCommand sweep(const Arguments& more, const Arguments& grid = kGrid) {
  Arguments arguments{"sweep"};
  arguments.insert(arguments.end(), grid.begin(), grid.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return testing::try_command(sweep_command, arguments);
}

std::string part(const std::string& runs) {
  const testing::TriedCommand tried = sweep({"--runs", runs});
  REQUIRE(tried.exit_code == 0);
  return tried.out;
}

// With `input` as standard input.
testing::TriedCommand collect(const std::string& out, const std::string& input,
                              const Arguments& grid = kGrid) {
  const std::string path = path_of("input");
  REQUIRE(write_file(path, input).is_ok());
  const int own = dup(STDIN_FILENO);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(dup2(file, STDIN_FILENO) == STDIN_FILENO);
  close(file);
  testing::TriedCommand tried = sweep({"--out", path_of(out), "--collect"}, grid);
  if (own >= 0) {
    dup2(own, STDIN_FILENO);
    close(own);
  }
  return tried;
}

std::string file(const std::string& out, const char* name) {
  return read_text_file(path_of(out) + "/" + name).value();
}

TEST_CASE("runs are chosen by number and span, within the grid") {
  const auto spans = parse_run_spans("0-9,12,14-14", 15);
  REQUIRE(spans.is_ok());
  REQUIRE(spans.value().size() == 3);
  CHECK(spans.value()[0].last == 9);
  CHECK(spans.value()[1].first == 12);
  CHECK(spans.value()[1].last == 12);
  for (const char* text : {"", "-", "1-", "-1", "3-2", "15", "0-15", "1,", "a", "1 ", "1--2"}) {
    INFO(text);
    CHECK_THAT(parse_run_spans(text, 15).status().message(),
               ContainsSubstring("expected numbers of runs from 0 to 14, such as 0-9,12"));
  }
}

TEST_CASE("parts in any order, some of them twice, give the files of the whole") {
  CHECK(sweep({"--out", path_of("whole")}).exit_code == 1);  // two points fail
  const testing::TriedCommand tried =
      collect("parts", part("7-11") + part("0,2-4") + part("3-8") + part("1"));
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.err, ContainsSubstring("2 of 6 points failed; the first: point 4"));
  CHECK_THAT(tried.out, ContainsSubstring(R"("runs":12,"left":[[0,11]]})"));
  for (const char* name : {"sweep.csv", "manifest.json"}) {
    CHECK(file("parts", name) == file("whole", name));
  }
}

TEST_CASE("collected runs are kept, and each call says which runs are left") {
  const testing::TriedCommand first = collect("halves", part("2-5"));
  CHECK(first.exit_code == 1);
  CHECK_THAT(first.err, ContainsSubstring("8 of 12 runs are not done yet; call again to go on"));
  const testing::TriedCommand second = collect("halves", part("0-1") + part("6-11"));
  CHECK_THAT(second.out, ContainsSubstring(R"("left":[[0,1],[6,11]]})"));
  CHECK_THAT(second.err, ContainsSubstring("4 of 12 runs were done before; resuming"));
  CHECK_FALSE(file("halves", "sweep.csv").empty());
}

TEST_CASE("a truncated line is dropped, and the whole lines beside it are kept") {
  const std::string whole = part("0-3");
  const testing::TriedCommand tried = collect("cut", whole.substr(0, whole.size() - 10));
  CHECK_THAT(tried.err, ContainsSubstring("9 of 12 runs are not done yet"));
}

TEST_CASE("a run that no worker completed is a failed point") {
  const testing::TriedCommand tried =
      collect("lost", part("0-2,4-11") + "{\"run\": 3, \"error\": \"its process died\"}\n");
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.err, ContainsSubstring("3 of 6 points failed"));
  CHECK_THAT(file("lost", "sweep.csv"), ContainsSubstring("failed,its process died"));
}

TEST_CASE("a part of another sweep is refused, with its line") {
  const std::string whole = part("0-1");
  const std::size_t first = whole.find('\n') + 1;
  const auto refused = [](const std::string& input, const char* message) {
    const testing::TriedCommand tried = collect("refused", input);
    CHECK(tried.exit_code == 2);
    CHECK_THAT(tried.err, ContainsSubstring(message));
  };
  refused(whole.substr(first), "standard input:1: expected what recto sweep --runs prints");
  refused(whole + "rubbish\n", "standard input:4: expected what recto sweep --runs prints");
  refused(whole + "{\"run\": 12, \"error\": \"\"}\n", "standard input:4: expected what");
  std::string other = whole;
  other.replace(other.find("\"version\":\"") + 11, 1, "9");
  refused(other, "standard input:1: runs of another recto, or on other files");
  refused(other, "/recto/version was ");
  // A record of another grid: same number, other settings.
  std::string record = whole;
  record.replace(record.find("\"config\":\"") + 10, 4, "0000");
  refused(record, "standard input:2: expected what recto sweep --runs prints of this grid");
}

TEST_CASE("a worker's run without the measured times used here is refused and not kept") {
  const Arguments measured{
      "--requests",   "20",   "--model",      "Llama-3.1-8B",
      "--gpu",        "H100", "--seeds",      "2",
      "--block-size", "1,16", "--time-model", "measured:synthetic-not-measured"};
  const Arguments first_two{"--runs", "0-1"};
  const std::string without = sweep(first_two, measured).out;
  setenv("RECTO_GPU_RESULTS", "sim/time/testdata", 1);
  const std::string with = sweep(first_two, measured).out;
  const testing::TriedCommand refused = collect("unmeasured", without, measured);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err,
             ContainsSubstring("standard input:2: a run without "
                               "sim/time/testdata/synthetic-not-measured/attention.json, which it "
                               "reads here") &&
                 ContainsSubstring("RECTO_GPU_RESULTS names the folder"));
  CHECK_THAT(collect("unmeasured", with, measured).err,
             ContainsSubstring("2 of 4 runs are not done yet"));
  unsetenv("RECTO_GPU_RESULTS");
}

TEST_CASE("a part's input files must have the content of the sweep's") {
  const Json trace = {{"path", "a.csv"}, {"bytes", 5}, {"xxh3_128", "11"}};
  const Json other = {{"path", "b.csv"}, {"bytes", 5}, {"xxh3_128", "22"}};
  const auto of = [](const Json& inputs) {
    return Json{{"recto", "1"}, {"inputs", inputs}, {"columns", {"a"}}};
  };
  const Json manifest = of(Json::array({trace, other}));
  CHECK(check_part_of(manifest, manifest).is_ok());
  CHECK(check_part_of(manifest, of(Json::array({other}))).is_ok());
  CHECK(check_part_of(manifest, of(Json::array())).is_ok());
  Json changed = other;
  changed["xxh3_128"] = "33";
  CHECK_THAT(check_part_of(manifest, of(Json::array({trace, changed}))).message(),
             ContainsSubstring("/inputs/1/xxh3_128 was \"22\", is \"33\""));
  changed["path"] = "c.csv";
  CHECK_FALSE(check_part_of(manifest, of(Json::array({changed}))).is_ok());
}

TEST_CASE("modes that exclude each other, and a missing folder, are named") {
  CHECK_THAT(sweep({}).err, ContainsSubstring("--out"));
  CHECK(sweep({}).exit_code == 2);
  CHECK_THAT(sweep({"--collect"}).err, ContainsSubstring("--out"));
  CHECK_THAT(sweep({"--runs", "0", "--out", path_of("x")}).err, ContainsSubstring("--runs"));
  CHECK_THAT(sweep({"--runs", "0-12"}).err, ContainsSubstring("--runs: found '0-12'"));
  CHECK(sweep({"--runs", ""}).exit_code == 2);
}

}  // namespace
}  // namespace recto::experiments
