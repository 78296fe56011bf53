#include "experiments/support/command.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/json.h"
#include "experiments/support/output_file.h"
#include "experiments/support/table.h"
#include "experiments/support/testing/tried_command.h"
#include "verify/backend_list.h"
#include "verify/saved_case.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
const std::string kRight = "experiments/examples/libpaged_kernel.so";
const std::string kFaulty = "experiments/examples/libfaulty_kernel.so";

testing::TriedCommand verify(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "verify");
  return testing::try_command(verify_command, std::move(arguments));
}

std::string folder_named(const char* name) {
  return (std::filesystem::path(std::getenv("TEST_TMPDIR")) / name).string();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void check_refused(const std::vector<std::string>& arguments, const std::string& message) {
  const testing::TriedCommand tried = verify(arguments);
  CHECK(tried.exit_code == 2);
  CHECK(tried.out.empty());
  CHECK_THAT(tried.err, ContainsSubstring(message));
}

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// Flags that keep cases small, except in a full run.
std::vector<std::string> unless_full(const std::vector<std::string>& limits) {
  return is_full_run() ? std::vector<std::string>() : limits;
}

const std::vector<std::string> kSmall =
    with({"--backend", "naive-fp64,online-fp64", "--cases", "4"},
         unless_full({"--context-max", "300", "--rows-max", "32", "--q-heads-max", "16"}));

std::string skipped_on_gpu() {
  const auto on_gpu = verify::choose_backends(verify::backend_list(), {"gpu"});
  return "SKIPPED: " + std::to_string(on_gpu.value().size()) + " backends";
}

TEST_CASE("the output has a row per backend and law, in their order, and the skips") {
  const auto tried = verify(kSmall);
  INFO(tried.out);
  CHECK(tried.exit_code == 0);
  CHECK(tried.err.empty());
  CHECK_THAT(tried.out, ContainsSubstring("4 cases, seed 2026, probabilistic bounds"));
  const std::vector<std::string> lines = lines_of(tried.out);
  CHECK_THAT(lines.at(2), ContainsSubstring("backend      law "));
  CHECK_THAT(lines.at(4), ContainsSubstring("naive-fp64   ones_give_one"));
  CHECK_THAT(tried.out, ContainsSubstring("online-fp64  oracle "));
  CHECK_THAT(tried.out,
             ContainsSubstring("Skipped: checks of a law on a backend that were not run"));
  CHECK_THAT(tried.out, !ContainsSubstring("law naive-fp64"));
}

TEST_CASE("equal flags give equal bytes, and another seed others") {
  const std::string once = verify(kSmall).out;
  CHECK(verify(kSmall).out == once);
  CHECK(verify(with(kSmall, {"--seed", "1"})).out != once);
}

TEST_CASE("every kernel of this build agrees with the oracle, and skipped GPU kernels are listed") {
  const auto tried = verify({"--law", "oracle", "--cases", "12"});
  INFO(tried.out << tried.err);
  CHECK(tried.exit_code == 0);
  for (const char* name : {"reference-decode", "split-decode", "paged-prefill", "host-api"})
    CHECK_THAT(tried.out, ContainsSubstring(std::string("\n") + name + " "));
  CHECK_THAT(tried.out, ContainsSubstring(skipped_on_gpu() +
                                          ": this program has only the CPU executor's build of the "
                                          "kernels:\n  reference-decode@gpu "));
}

TEST_CASE("a run of a backend that is not available fails") {
  const auto tried = verify({"--backend", "gpu"});
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.out, ContainsSubstring(skipped_on_gpu()));
  CHECK_THAT(tried.err, ContainsSubstring("every case was skipped, and nothing was checked"));
}

TEST_CASE("a backend of the list that skips every case fails a run only where it is named") {
  // Not the oracle, for which all kernels get cases.
  const std::vector<std::string> law = {"--law", "split_size", "--context-max", "200"};
  for (const char* cases : {"1", "2", "6"}) {
    for (const std::vector<std::string>& kind :
         {std::vector<std::string>(), std::vector<std::string>{"--backend", "executor"}}) {
      const auto all = verify(with(with(law, {"--cases", cases}), kind));
      INFO(all.out << all.err);
      CHECK(all.exit_code == 0);
      CHECK_THAT(all.out, ContainsSubstring("\nuntried: tma-decode: every case was skipped\n"));
    }
  }
  const auto named = verify(with(law, {"--backend", "tma-decode,split-decode", "--cases", "2"}));
  CHECK(named.exit_code == 1);
  CHECK_THAT(named.err, ContainsSubstring("every case was skipped by tma-decode\n"));
}

TEST_CASE("JSON has every count with its reasons") {
  const auto tried = verify(with(kSmall, {"--json"}));
  REQUIRE(tried.exit_code == 0);
  const Json json = parse_json(tried.out).value();
  CHECK(json["cases"] == 4);
  CHECK(json["seed"] == 2026);
  CHECK(json["failed"] == 0);
  CHECK(json["backends"].size() == 2);
  REQUIRE(json["counts"].size() % 2 == 0);
  for (const Json& count : json["counts"]) {
    std::int64_t skipped = 0;
    for (const auto& [reason, cases] : count["skipped"].items()) skipped += cases.get<int>();
    CHECK(count["cases"].get<int>() + skipped == 4);
  }
  CHECK(json["failures"].empty());
}

TEST_CASE("a right kernel of another project passes") {
  const auto tried = verify(with({"--kernel", kRight, "--cases", "16"},
                                 unless_full({"--context-max", "300", "--q-heads-max", "16"})));
  INFO(tried.out << tried.err);
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("plain-c decode "));
  CHECK_THAT(tried.out, ContainsSubstring("plain-c kv_write  kv_write"));
}

const std::string kAdapter = "verify/library/cuda_source/testdata/row_decode_adapter.cc";

// Without g++ there is no kit.
bool has_cuda_kit() { return std::filesystem::exists("verify/library/cuda_source/cuda_kit"); }

TEST_CASE("CUDA sources are built into a library, and the executor's findings fail the case") {
  const std::string folder = folder_named("cuda");
  const std::vector<std::string> arguments = {
      "--adapter", kAdapter, "--nvcc-option", "--fmad=false", "--law", "oracle",
      "--cases",   "8",      "--out",         folder};
  const auto right = verify(arguments);
  INFO(right.out << right.err);
  if (!has_cuda_kit() || right.err.find("no nvcc") != std::string::npos) {
    return testing::report_skipped("CUDA sources need g++ and nvcc");
  }
  CHECK(right.exit_code == 0);
  CHECK_THAT(right.out, ContainsSubstring("row-decode decode"));
  setenv("ROW_DECODE_FAULT", "1", 1);
  const auto racing = verify(arguments);
  INFO(racing.out << racing.err);
  CHECK(racing.exit_code == 1);
  CHECK_THAT(racing.out, ContainsSubstring("race in kernel 'row_decode'"));
  const std::string file = folder + "/row-decode-decode-oracle-1.json";
  CHECK_THAT(racing.out, ContainsSubstring("recto replay " + file + " --adapter " + kAdapter +
                                           " --nvcc-option --fmad=false\n"));
  const auto replayed = testing::try_command(
      replay_command, {"replay", file, "--adapter", kAdapter, "--nvcc-option=--fmad=false"});
  unsetenv("ROW_DECODE_FAULT");
  INFO(replayed.out << replayed.err);
  CHECK(replayed.exit_code == 1);
  CHECK_THAT(replayed.out, ContainsSubstring("race in kernel 'row_decode'"));
}

TEST_CASE("CUDA sources need an adapter, and bad flags and files are refused by name") {
  check_refused({"--cuda", "mine.cu"}, "--adapter");
  check_refused({"--ptx", "mine.ptx"}, "--adapter");
  check_refused({"--nvcc-option", "--fmad=false"}, "--adapter");
  check_refused({"--kernel", kRight, "--adapter", kAdapter}, "--kernel");
  if (!has_cuda_kit()) return;
  check_refused({"--adapter", "none.cc"}, "none.cc: No such file or directory");
  check_refused({"--adapter", kAdapter, "--ptx", "none.ptx"}, "none.ptx: expected a file with PTX");
}

TEST_CASE("a wrong kernel fails; its case is reduced and kept, and its replay names the fault") {
  const std::string folder = folder_named("failing");
  const auto tried = verify(with({"--kernel", kFaulty, "--backend", "prefill", "--law", "oracle",
                                  "--cases", is_full_run() ? "200" : "40", "--out", folder},
                                 unless_full({"--context-max", "200", "--q-heads-max", "16"})));
  INFO(tried.out << tried.err);
  REQUIRE(tried.exit_code == 1);
  CHECK_THAT(tried.err, ContainsSubstring(" checks failed; first: " + folder));
  const std::string file = folder + "/faulty-c-prefill-oracle-1.json";
  CHECK_THAT(tried.out, ContainsSubstring("law oracle is broken by faulty-c prefill\n"));
  CHECK_THAT(tried.out,
             ContainsSubstring("replay\n  recto replay " + file + " --kernel " + kFaulty + "\n"));
  const verify::SavedCase saved = verify::parse_saved_case(read_text_file(file).value()).value();
  CHECK(saved.backend == "faulty-c prefill");
  CHECK(saved.spec.options.window.has_value());
  CHECK(saved.spec.longest_context() <= 3);

  const auto replayed = testing::try_command(replay_command, {"replay", file, "--kernel", kFaulty});
  INFO(replayed.out << replayed.err);
  CHECK(replayed.exit_code == 1);
  CHECK_THAT(replayed.out, ContainsSubstring("the window is one key too wide\n"));
  const auto right = testing::try_command(replay_command, {"replay", file, "--kernel", kRight});
  INFO(right.out << right.err);
  CHECK(right.exit_code == 0);
}

TEST_CASE("laws that never apply to a backend are listed apart from those that met no case") {
  const auto tried = verify({"--kernel", kRight, "--law", "oracle,merge_identity,chunking",
                             "--cases", "16", "--out", folder_named("never")});
  INFO(tried.out);
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("merge_identity: exposes no merge of partial states: "
                                          "plain-c decode, plain-c prefill"));
  CHECK_THAT(tried.out, ContainsSubstring("it computes no attention: plain-c kv_write"));
  CHECK_THAT(tried.out, ContainsSubstring("  plain-c decode: chunking\n"));
  CHECK_THAT(tried.out, !ContainsSubstring("untried"));
}

TEST_CASE("a run of the default length tries each law on each backend to which it applies") {
  const auto tried = verify({"--backend", "naive-fp64,paged-prefill", "--law", "oracle,chunking"});
  INFO(tried.out);
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("\npaged-prefill  chunking"));
  CHECK_THAT(tried.out, !ContainsSubstring("Laws that applied to no drawn case"));
}

TEST_CASE("empty file names, a path that is not a folder, and a time of NaN are refused") {
  check_refused({"--kernel", ""}, "--kernel: found ''; expected a file");
  check_refused({"--adapter", ""}, "--adapter: found ''; expected a file");
  check_refused({"--seconds", "nan"}, "--seconds");
  check_refused({"--out", "/dev/null", "--cases", "1", "--backend", "naive-fp64"},
                "--out: /dev/null: expected a folder, or nothing yet");
}

TEST_CASE("a limit of --seconds ends a run") {
  const auto tried = verify({"--backend", "naive-fp64", "--law", "oracle", "--seconds", "0.2"});
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("naive-fp64  oracle"));
}

TEST_CASE("bad flags are named, with what was expected") {
  check_refused({"--backend", "naive"}, "--backend: found 'naive'; expected one of reference, ");
  check_refused({"--law", "gravity"}, "--law: found 'gravity'; expected one of ones_give_one, ");
  check_refused({"--law", "oracle,,"}, "--law: found 'oracle,,'; expected a list");
  check_refused({"--kernel", "nowhere.so"}, "--kernel: nowhere.so: No such file or directory");
  check_refused({"--kernel", kRight, "--backend", "naive-fp64"},
                "--backend: found 'naive-fp64'; expected one of plain-c decode, plain-c prefill");
  check_refused({"--cases", "0"}, "--cases");
  check_refused({"--failures", "-1"}, "--failures");
  check_refused({"--seconds", "-1"}, "--seconds");
  for (const char* flag : {"--context-max", "--sequences-max", "--rows-max", "--q-heads-max"})
    for (const char* size : {"0", "1e9", "many"}) check_refused({flag, size}, flag);
  check_refused({"--seed", "-1"}, "--seed: found '-1'; expected an integer of at least 0");
  check_refused({"--bound", "soft"}, "--bound");
  check_refused({"--out", ""}, "--out: found ''; expected a folder");
  check_refused({"--list", "--cases", "3"}, "--list: runs nothing, and excludes --cases");
}

TEST_CASE("the output of --list names every backend and law") {
  const auto tried = verify({"--list"});
  CHECK(tried.exit_code == 0);
  for (const char* part : {"naive-fp64 ", "reference-decode ", "host-api-step@gpu ",
                           "not here: ", "ones_give_one ", "oracle "})
    CHECK_THAT(tried.out, ContainsSubstring(part));
  const auto library = verify({"--list", "--kernel", kRight});
  CHECK_THAT(library.out, ContainsSubstring("plain-c prefill"));
  CHECK_THAT(library.out, ContainsSubstring("kv_write "));
}

TEST_CASE("help shows every flag and examples") {
  const auto tried = verify({"--help"});
  CHECK(tried.exit_code == 0);
  for (const char* part :
       {"--backend", "--law", "--kernel", "--list", "--cases", "--seconds", "--seed", "--bound",
        "--context-max", "--sequences-max", "--rows-max", "--q-heads-max", "--failures", "--out",
        "--json", "Examples:", "  recto verify"})
    CHECK_THAT(tried.out, ContainsSubstring(part));
  for (const std::string& line : lines_of(tried.out)) CHECK(display_width(line) <= 100);
}

}  // namespace
}  // namespace recto::experiments
