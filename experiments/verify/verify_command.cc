#include "experiments/support/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "experiments/support/numbers.h"
#include "experiments/support/output_file.h"
#include "experiments/verify/selection.h"
#include "experiments/verify/verify_run.h"
#include "experiments/verify/verify_text.h"
#include "verify/kernels/device_loss.h"
#include "verify/library/kernel_library.h"
#include "verify/saved_case.h"

namespace recto::experiments {
namespace {

constexpr std::int64_t kCasesMax = 10'000'000;
constexpr double kSecondsMax = 1e6;
constexpr std::int64_t kContextMax = 131'072;
constexpr std::int64_t kSequencesMax = 4096;
constexpr std::int64_t kRowsMax = 8192;
constexpr std::int64_t kQHeadsMax = 1024;

constexpr const char* kFooter = R"(
Runs each law, and the comparison with the oracle, on each backend over drawn cases. A failing case
is reduced as far as possible, printed, and kept in a file for recto replay.

A call of a library that does not return within {} s of CPU time, or {} s if it is built from
sources (--time-limit), or within {} times that of wall time, fails its case: at once if it hangs,
else if it is late again after the same calls. Other laws then skip that case. After {} late calls
of a function, it gets no new calls; late calls made to reduce a failing case do not count.

recto's own kernels on the executor run in forks: a crash fails its case. Their memory accesses are
checked in a separate, slower build: //verify/kernels:kernels_checks_test.

Examples:
  recto verify --list
  recto verify --backend executor --cases 40
  recto verify --kernel libmine.so
  recto verify --cuda mine.cu --adapter adapter.cc
  recto verify --ptx kernel.ptx --adapter adapter.cc
  recto verify --kernel libmine.so --law oracle --seconds 60 --seed 7)";

struct VerifyFlags {
  SelectionFlags selection;
  VerifyOptions options;
  std::string bound = "probabilistic";
  bool is_fail_fast = false;
  bool is_list = false;
  bool is_json = false;
};

// Backends that skipped every case although the run was about them: backends named one by one, and
// the functions of a user's library unless laws were selected. Other backends of recto's list
// support few sizes.
std::string untried_names(const VerifyFlags& flags, const Selection& selection,
                          const VerifyOutcome& outcome) {
  std::vector<std::string> named;
  if (!flags.selection.backends.empty()) named = split_list(flags.selection.backends).value();
  const auto is_named = [&](const std::string& backend) {
    return std::ranges::any_of(named, [&](const std::string& name) {
      return backend == name || backend.ends_with(" " + name);  // a library's function
    });
  };
  const bool is_about_all = flags.selection.has_library() && flags.selection.laws.empty();
  std::string names;
  for (const std::string& name : untried_backends(selection, outcome))
    if (is_about_all || is_named(name)) names += (names.empty() ? "" : ", ") + name;
  return names;
}

Status verdict_of(const VerifyFlags& flags, const Selection& selection,
                  const VerifyOutcome& outcome) {
  const verify::LawReport& report = outcome.report;
  std::int64_t ran = 0;
  for (const verify::LawCount& count : report.counts) ran += count.ran();
  if (report.failed() > 0) {
    const bool is_kept = !outcome.kept.empty() && outcome.kept.front().file;
    return Status::failed(fmt::format("{} of {} failed{}", grouped(report.failed()),
                                      counted(ran, "check"),
                                      is_kept ? "; first: " + *outcome.kept.front().file : ""));
  }
  if (outcome.cases == 0 && !flags.options.seconds) {
    return Status::invalid_input(
        "--require, --without and the other filters: no drawn case meets all of them");
  }
  if (ran == 0) return Status::failed("every case was skipped, and nothing was checked");
  const std::string untried = untried_names(flags, selection, outcome);
  return untried.empty() ? Status::ok() : Status::failed("every case was skipped by " + untried);
}

// Checks before the run that failures can be saved.
Status check_folder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error)) {
    return Status::invalid_input(
        fmt::format("--out: {}: expected a folder, or nothing yet", folder));
  }
  const Status status = try_folder(folder, "failing-case");
  return status.is_ok() ? status : Status::invalid_input("--out: " + status.message());
}

// Checked here, because the help would list all excluded options on one line.
Status check_list_alone(const CommandContext& context) {
  if (!context.is_given("--list")) return Status::ok();
  for (const char* unused : {"--cases", "--seconds", "--seed", "--context-max", "--sequences-max",
                             "--rows-max", "--q-heads-max", "--bound", "--failures", "--fail-fast",
                             "--after-failure", "--out", "--json"}) {
    if (context.is_given(unused))
      return Status::invalid_input(fmt::format("--list: runs nothing, and excludes {}", unused));
  }
  return Status::ok();
}

Status run_command(VerifyFlags& flags, CommandContext& context) {
  RECTO_RETURN_IF_ERROR(check_list_alone(context));
  flags.options.bound_kind = verify::bound_kind_of(flags.bound);
  flags.options.replay_flags = flags.selection.library_text();
  flags.options.is_of_caller = flags.selection.caller.has_value();
  if (flags.is_fail_fast) flags.options.cases_after_failure = 0;
  if (flags.selection.has_library()) {
    flags.options.cases_by_default = kDefaultLibraryCases;
    flags.options.supply = library_supply();
  }
  // A library runs, and fails, in separate processes.
  if (!flags.selection.has_library()) flags.options.why_lost = verify::why_device_lost;
  const Result<verify::CaseDemands> demands = demands_of(flags.selection.filter);
  RECTO_RETURN_IF_ERROR(demands.status());
  Result<std::vector<std::string>> kinds = kinds_of(flags.selection.filter);
  RECTO_RETURN_IF_ERROR(kinds.status());
  flags.options.supply.demands = demands.value();
  flags.options.supply.kinds = std::move(kinds).value();
  const Result<Selection> selection = select_checks(flags.selection);
  RECTO_RETURN_IF_ERROR(selection.status());
  if (flags.is_list) {
    context.out << selection_text(selection.value());
    return Status::ok();
  }
  RECTO_RETURN_IF_ERROR(check_folder(flags.options.folder));
  const VerifyOutcome outcome = run_verify(selection.value(), flags.options, context);
  if (flags.is_json) {
    context.out << json_text(verify_json(selection.value(), flags.options, outcome), 2) << '\n';
  } else {
    context.out << verify_text(selection.value(), flags.options, outcome);
  }
  // The folder was writable before, so this is a failure of the run, not bad input; and laws are
  // broken.
  if (!outcome.written.is_ok()) return Status::failed(outcome.written.message());
  return verdict_of(flags, selection.value(), outcome);
}

// The given value is the largest drawn size, below or above the default.
void add_limit_flags(Command& command, verify::SizeLimits& limits) {
  const auto add = [&command](const char* names, std::int64_t& limit, const char* about,
                              std::int64_t most) {
    command.add(names, integer(limit, {1, most}), fmt::format("{} [{}]", about, limit));
  };
  add("--context-max N", limits.context_max, "longest context, tokens", kContextMax);
  add("--sequences-max N", limits.num_seqs_max, "most sequences per batch", kSequencesMax);
  add("--rows-max N", limits.num_rows_max, "most query rows per sequence", kRowsMax);
  add("--q-heads-max N", limits.num_q_heads_max, "most query heads", kQHeadsMax);
}

void add_run_flags(Command& command, VerifyFlags& flags) {
  VerifyOptions& options = flags.options;
  command.add("--cases N", integer(options.cases, {1, kCasesMax}),
              fmt::format("cases to draw [{}, with a library {}, or until --seconds]",
                          kDefaultCases, kDefaultLibraryCases));
  command.add("--seconds S", number(options.seconds, {0, kSecondsMax}),
              "start no case after this time");
  command.add("--seed N", integer(options.seed), "seed of the cases [2026]");
  add_limit_flags(command, options.limits);
  add_filter_flags(command, flags.selection.filter, "all");
  command.add("--bound KIND",
              one_of(flags.bound, {std::begin(verify::kBoundNames), std::end(verify::kBoundNames)}),
              "worst-case or probabilistic [probabilistic];\nhard and sharp mean the same");
  command.add("--failures N", integer(options.failures_kept, {0, 1000}),
              "failures shown and kept per kind, law and backend [1]");
  command.add("--fail-fast", flag(flags.is_fail_fast), "draw no case after one that failed");
  command.add("--after-failure N", integer(options.cases_after_failure, {0, kCasesMax}),
              "cases to draw after one that failed [all]");
  command.add("--out DIR", nonempty_text(options.folder, "a folder"),
              "folder for failing cases, created if needed [failing-cases]");
  command.add("--json", flag(flags.is_json), "print JSON");
  command.add("--list", flag(flags.is_list), "backends and laws; runs nothing");
}

}  // namespace

Command verify_command() {
  auto flags = std::make_shared<VerifyFlags>();
  flags->options.folder = "failing-cases";
  Command command("verify",
                  "check paged attention by laws and an oracle: recto's kernels, or yours");
  add_backend_flag(command, flags->selection, "names or kinds of --list [all]");
  add_law_flag(command, flags->selection);
  add_library_flags(command, flags->selection);
  add_run_flags(command, *flags);
  const verify::KernelLibraryOptions library;
  command.footer = fmt::format(kFooter, library.time_limit_ms / 1000, kSourcesLimitMs / 1000,
                               verify::kClockLimitFactor, library.time_outs_max);
  command.run = [flags](CommandContext& context) { return run_command(*flags, context); };
  return command;
}

}  // namespace recto::experiments
