#include "experiments/support/command.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "experiments/cases/declared_numerics.h"
#include "experiments/check/check_run.h"
#include "experiments/check/check_text.h"
#include "experiments/support/output_file.h"
#include "verify/saved_case.h"

namespace recto::experiments {
namespace {

constexpr const char* kFooter = R"(
Compares NAME.out.npy, or NAME.out.npz, of each case that recto cases wrote to DIR with the fp64
oracle, within the bound of each element. Expected results are recomputed, not read from DIR. A
wrong case is shown, and kept in a file for recto replay. NAME.skip.txt, with a reason in it, counts
as a case that your program does not serve.

Examples:
  recto check cases
  recto check cases --json
  recto check cases --bound worst-case --failures 1)";

struct CheckFlags {
  CheckOptions options;
  std::string bound = "probabilistic";
  std::int64_t failures_shown = 3;
  bool is_json = false;
};

Status verdict_of(const std::vector<JudgedCase>& cases) {
  const std::int64_t wrong = count_in_state(cases, AnswerState::kWrong);
  const std::int64_t missing = count_in_state(cases, AnswerState::kMissing);
  const bool are_all_skipped = count_in_state(cases, AnswerState::kSkipped) == std::ssize(cases);
  if (are_all_skipped) return Status::failed("every case was skipped, and nothing was checked");
  if (wrong + missing == 0) return Status::ok();
  std::string text = fmt::format("{} of {} cases are wrong", wrong, cases.size());
  if (missing > 0) text += fmt::format(", and {} are not answered", missing);
  for (const JudgedCase& judged : cases) {
    if (judged.kept.empty()) continue;
    text += "; first: " + judged.kept;
    break;
  }
  return Status::failed(text);
}

Status run_check(CheckFlags& flags, CommandContext& context) {
  flags.options.bound_kind = verify::bound_kind_of(flags.bound);
  RECTO_RETURN_IF_ERROR(try_folder(flags.options.kept_folder).in("--out"));
  const Result<std::vector<JudgedCase>> cases = judge_folder(flags.options, context);
  RECTO_RETURN_IF_ERROR(cases.status());
  if (flags.is_json) {
    context.out << json_text(check_json(flags.options, cases.value()), 2) << '\n';
  } else {
    context.out << check_text(flags.options, cases.value(), flags.failures_shown);
  }
  return verdict_of(cases.value());
}

}  // namespace

Command check_command() {
  auto flags = std::make_shared<CheckFlags>();
  CheckOptions& options = flags->options;
  options.kept_folder = "failing-cases";
  Command command("check", "judge your program's answers to recto cases, element by element");
  command.add("dir DIR", nonempty_text(options.folder, "a folder"),
              "folder with cases.json, cases and answers");
  command.add(
      "--bound KIND",
      one_of(flags->bound, {std::begin(verify::kBoundNames), std::end(verify::kBoundNames)}),
      "worst-case or probabilistic [probabilistic];\nhard and sharp mean the same");
  add_numerics_flag(command, options.numerics);
  command.add("--failures N", integer(flags->failures_shown, {1, 1000}),
              "failures shown in full per operation [3]");
  command.add("--out DIR", nonempty_text(options.kept_folder, "a folder"),
              "folder for failing cases, created if needed [failing-cases]");
  command.add("--json", flag(flags->is_json), "print JSON");
  command.footer = kFooter;
  command.run = [flags](CommandContext& context) { return run_check(*flags, context); };
  return command;
}

}  // namespace recto::experiments
