#include "experiments/support/command.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/support/output_file.h"
#include "experiments/support/testing/tried_command.h"
#include "verify/saved_case.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kRight = "experiments/examples/libpaged_kernel.so";
const std::string kFirstCalls = "experiments/replay/libfirst_calls.so";
const std::string kFaulty = "experiments/examples/libfaulty_kernel.so";

testing::TriedCommand replay(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "replay");
  return testing::try_command(replay_command, std::move(arguments));
}

std::string file_with(const std::string& text) {
  const std::string path =
      (std::filesystem::path(std::getenv("TEST_TMPDIR")) / "case.json").string();
  REQUIRE(write_file(path, text).is_ok());
  return path;
}

// A window of three keys in a context of six, in blocks of four.
verify::SavedCase windowed() {
  verify::SavedCase saved{.law = "oracle", .backend = "faulty-c decode"};
  saved.spec.sequences = {{.num_rows = 1, .context_length = 6}};
  saved.spec.k = saved.spec.v = verify::FloatFamily::kSmallIntegers;
  saved.spec.options.window = 3;
  saved.spec.options.scale = 0.125F;
  saved.spec.placement.block_size = 4;
  return saved;
}

void check_refused(const std::vector<std::string>& arguments, const std::string& message) {
  const testing::TriedCommand tried = replay(arguments);
  CHECK(tried.exit_code == 2);
  CHECK_THAT(tried.err, ContainsSubstring(message));
}

TEST_CASE("a failing case is explained down to its key, step and fault") {
  const auto tried = replay({file_with(saved_case_text(windowed())), "--kernel", kFaulty});
  INFO(tried.out << tried.err);
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.err, ContainsSubstring("the case fails on 1 of 1 backends"));
  for (const char* part :
       {"options    scale 0.125, window 3\n", "faulty-c decode, probabilistic bounds",
        "sequence 0, row 0, head 0", "diagnosis  scores: ", "first at key 2: block 0, slot 2",
        "the window is one key too wide", "cannot be identified: the running maximum"})
    CHECK_THAT(tried.out, ContainsSubstring(part));
}

TEST_CASE("a saved case passes on backends that are right") {
  const std::string file = file_with(saved_case_text(windowed()));
  const auto others = replay({file, "--backend", "naive-fp64,reference-decode,host-api"});
  INFO(others.out << others.err);
  CHECK(others.exit_code == 0);
  CHECK_THAT(others.out,
             ContainsSubstring("\nreference-decode, probabilistic bounds\noracle     ok: "));
  CHECK(replay({file, "--kernel", kRight}).exit_code == 0);
}

TEST_CASE("a broken law is reported beside the oracle") {
  verify::SavedCase saved = windowed();
  saved.law = "masked_keys";
  const auto tried = replay({file_with(saved_case_text(saved)), "--kernel", kFaulty});
  INFO(tried.out << tried.err);
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.out, ContainsSubstring("law        masked_keys is broken: "));
  saved.backend = "naive-fp64";
  const auto right = replay({file_with(saved_case_text(saved))});
  CHECK(right.exit_code == 0);
  CHECK_THAT(right.out, ContainsSubstring("law        masked_keys holds, ok: "));
}

// Replays with the library that is wrong in some calls of a process.
testing::TriedCommand replay_with(const std::string& fault, const verify::SavedCase& saved) {
  setenv("RECTO_TEST_FAULT", fault.c_str(), 1);
  return replay({file_with(saved_case_text(saved)), "--kernel", kFirstCalls});
}

// Six keys, all of which are visible.
verify::SavedCase whole() {
  verify::SavedCase saved = windowed();
  saved.backend = "first-calls decode";
  saved.spec.options.window.reset();
  return saved;
}

TEST_CASE("a fault that shows only after other calls is explained after these") {
  verify::SavedCase saved = whole();
  CHECK(replay_with("after window", saved).exit_code == 0);
  saved.after = {windowed().spec};
  const auto tried = replay_with("after window", saved);
  INFO(tried.out << tried.err);
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.out, ContainsSubstring("\nafter      1 other case, each time\n"));
  CHECK_THAT(tried.out,
             ContainsSubstring("diagnosis  scores: key 5 should be visible and get no "));
  CHECK_THAT(tried.out, ContainsSubstring("\n  context lengths without the newest token\n"));
  CHECK(replay_with("none", saved).exit_code == 0);
}

TEST_CASE("a fault of a process's first call is explained in first calls") {
  const auto tried = replay_with("first", whole());
  INFO(tried.out << tried.err);
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.out,
             ContainsSubstring("diagnosis  scores: key 5 should be visible and get no "));
}

TEST_CASE("a fault that only a law meets is explained in the run of the law that shows it") {
  const std::string departs = "diagnosis  scores: key 5 should be visible and get no ";
  verify::SavedCase saved = whole();
  saved.law = "repeated_kv_heads";
  saved.spec.shape.num_q_heads = 2;
  const auto other_sizes = replay_with("ungrouped", saved);
  INFO(other_sizes.out << other_sizes.err);
  CHECK(other_sizes.exit_code == 1);
  for (const std::string part :
       {"law        repeated_kv_heads is broken: ", "\noracle     ok: ",
        "\nruns       run 2 of the law's 2 is the first that the oracle finds wrong; it differs ",
        "\n  KV heads    2, of the case 1\n", departs.c_str()})
    CHECK_THAT(other_sizes.out, ContainsSubstring(part));
  // To a library, asking whether it supports a call is the call.
  saved.law = "wide_window";
  const auto asked_first = replay_with("second", saved);
  INFO(asked_first.out << asked_first.err);
  CHECK(asked_first.exit_code == 1);
  CHECK_THAT(asked_first.out, ContainsSubstring("\n  window      6, of the case none\n"));
  CHECK_THAT(asked_first.out, ContainsSubstring(departs));
  saved.law = "repetition";
  const auto same_sizes = replay_with("second", saved);
  INFO(same_sizes.out << same_sizes.err);
  CHECK_THAT(same_sizes.out, ContainsSubstring("wrong; its sizes and options are those of the "));
  CHECK_THAT(same_sizes.out, ContainsSubstring(departs));
}

// Replays with a library whose calls are counted over all processes.
testing::TriedCommand replay_counting(const std::string& fault, const verify::SavedCase& saved) {
  const auto calls = std::filesystem::path(std::getenv("TEST_TMPDIR")) / "calls";
  std::filesystem::remove(calls);
  setenv("RECTO_TEST_CALLS", calls.c_str(), 1);
  return replay_with(fault, saved);
}

TEST_CASE("a case that fails only sometimes is reported with the numbers of the run that failed") {
  const auto judged = replay_counting("only 1", whole());
  INFO(judged.out << judged.err);
  CHECK(judged.exit_code == 1);
  for (const char* part : {"law        oracle is broken: ", " elements are wrong\n", "seen ",
                           "\noracle     ok: ", "  it fails only sometimes: run again, the case "})
    CHECK_THAT(judged.out, ContainsSubstring(part));
  CHECK_THAT(judged.out, !ContainsSubstring("\nruns "));
  const auto explained = replay_counting("only 2", whole());
  INFO(explained.out << explained.err);
  CHECK(explained.exit_code == 1);
  CHECK_THAT(explained.out, !ContainsSubstring("law        oracle"));
  CHECK_THAT(explained.out, ContainsSubstring("  it fails only sometimes: run before, the case "));
  const auto aborted = replay_counting("abort 2", whole());
  INFO(aborted.out << aborted.err);
  CHECK(aborted.exit_code == 1);
  CHECK_THAT(aborted.out, ContainsSubstring("SIGABRT"));
  CHECK_THAT(aborted.out, ContainsSubstring("  it fails only sometimes: run before, the case "));
}

TEST_CASE("a saved failure that does not recur is reported, and the replay passes") {
  const std::string told = "  the saved failure of this backend did not recur";
  const auto held = replay_with("none", whole());
  CHECK(held.exit_code == 0);
  CHECK_THAT(held.out, ContainsSubstring(told));
  const auto other = replay({file_with(saved_case_text(whole())), "--backend", "naive-fp64"});
  CHECK(other.exit_code == 0);
  CHECK_THAT(other.out, !ContainsSubstring(told));
  CHECK_THAT(replay_with("first", whole()).out, !ContainsSubstring(told));
}

TEST_CASE("a row with keys that is not written is reported as unwritten") {
  verify::SavedCase saved = whole();
  saved.spec.sequences = {{.num_rows = 1, .context_length = 6, .id = 0},
                          {.num_rows = 1, .context_length = 3, .id = 1}};
  const auto tried = replay_with("unwritten", saved);
  INFO(tried.out << tried.err);
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.out, ContainsSubstring("diagnosis  output: out and lse_ln are what memory held "
                                          "before the call: nothing is written there\n"));
  CHECK_THAT(tried.out, ContainsSubstring("; 1 fits\n  1 of 2 rows with keys is not written\n"));
}

TEST_CASE("a case that every backend skips is reported as skipped, and the replay fails") {
  const auto gpu = replay({file_with(saved_case_text(windowed())), "--backend", "gpu"});
  CHECK(gpu.exit_code == 1);
  CHECK_THAT(gpu.out, ContainsSubstring("SKIPPED: reference-decode@gpu: this program has "));
  CHECK_THAT(gpu.err, ContainsSubstring("the case was skipped by every backend"));
  const auto type =
      replay({file_with(saved_case_text(windowed())), "--backend", "low-precision-fp16"});
  CHECK(type.exit_code == 1);
  CHECK_THAT(type.out, ContainsSubstring("skipped    law oracle: q is not fp16"));
}

TEST_CASE("bad input is named, with what was expected") {
  check_refused({}, "file");
  check_refused({""}, "file: found ''; expected a file");
  check_refused({"nowhere.json"}, "nowhere.json: No such file or directory");
  check_refused({"/dev/zero"},
                "/dev/zero: expected a file, found a device, whose data may never end");
  verify::SavedCase saved = windowed();
  std::string text = saved_case_text(saved);
  const std::string window = "\"window\":3,";
  REQUIRE(text.find(window) != std::string::npos);
  const std::string broken = file_with(text.erase(text.find(window), window.size()));
  check_refused({broken}, broken + ": case.options.window: expected an integer or null, found no ");
  const std::string of_library = file_with(saved_case_text(saved));
  check_refused({of_library}, "'faulty-c decode' belongs to a kernel library; expected --kernel");
  check_refused({of_library, "--backend", "naive"}, "--backend: found 'naive'; expected one of");
  check_refused({of_library, "--kernel", "nowhere.so"}, "--kernel: nowhere.so: No such file");
  saved.backend = "";
  check_refused({file_with(saved_case_text(saved))},
                ": backend: expected a name of recto verify --list, or the flag --backend");
  saved.backend = "naive-fp64";
  saved.law = "gravity";
  check_refused({file_with(saved_case_text(saved))},
                "case.json: law: found 'gravity'; expected one of");
}

TEST_CASE("help shows every flag and examples") {
  const auto tried = replay({"--help"});
  CHECK(tried.exit_code == 0);
  for (const char* part : {"FILE", "--backend", "--kernel", "Examples:", "  recto replay"})
    CHECK_THAT(tried.out, ContainsSubstring(part));
}

}  // namespace
}  // namespace recto::experiments
