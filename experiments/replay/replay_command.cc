#include "experiments/support/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "experiments/replay/replay_answer.h"
#include "experiments/support/output_file.h"
#include "experiments/verify/selection.h"
#include "verify/drawn_cases.h"
#include "verify/explain/explanation.h"
#include "verify/explain/judged_runs.h"
#include "verify/law_runner.h"
#include "verify/quoted_text.h"
#include "verify/saved_case.h"

namespace recto::experiments {
namespace {

using verify::Backend;
using verify::DescribedCase;
using verify::Law;
using verify::SavedCase;

constexpr const char* kFooter = R"(
Runs the case on the backend on which it failed, or on others, against the law that it broke and
the oracle. Reports what differs, at which step of the computation, and which known faults would
give exactly that.

Examples:
  recto replay failing-cases/mine-decode-oracle-1.json --kernel libmine.so
  recto replay case.json --backend reference-decode,host-api)";

// "decode" for "NAME decode"; any other name unchanged. Another library has the same function under
// its own NAME.
std::string function_of(const std::string& backend) {
  return backend.substr(backend.rfind(' ') + 1);
}

struct ReplayFlags {
  std::string file;
  SelectionFlags selection;
};

Result<SavedCase> read_saved_case(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  RECTO_RETURN_IF_ERROR(text.status());
  Result<SavedCase> saved = verify::parse_saved_case(text.value());
  RECTO_RETURN_IF_ERROR(saved.status().in(path));
  return saved;
}

Result<std::string> saved_backend(const ReplayFlags& flags, const SavedCase& saved) {
  const bool is_of_library = saved.backend.find(' ') != std::string::npos;
  if (saved.backend.empty()) {
    return Status::invalid_input(
        flags.file + ": backend: expected a name of recto verify --list, or the flag --backend");
  }
  if (is_of_library && !flags.selection.has_library()) {
    return Status::invalid_input(fmt::format(
        "{}: backend: '{}' belongs to a kernel library; expected --kernel, --adapter or "
        "--backend",
        flags.file, saved.backend));
  }
  return function_of(saved.backend);
}

// The requested backends, by default the file's, and the law that the file names.
Result<Selection> selection_of(const ReplayFlags& flags, const SavedCase& saved) {
  SelectionFlags wanted = flags.selection;
  wanted.laws = saved.law.empty() ? "oracle" : saved.law;
  wanted.laws_named_by = flags.file + ": law";
  if (wanted.backends.empty()) {
    Result<std::string> backend = saved_backend(flags, saved);
    RECTO_RETURN_IF_ERROR(backend.status());
    wanted.backends = std::move(backend).value();
    wanted.backends_named_by = flags.file + ": backend";
  }
  Result<Selection> chosen = select_checks(wanted);
  RECTO_RETURN_IF_ERROR(chosen.status());
  Selection selection = std::move(chosen).value();
  const std::set<std::string> names = names_on_executor(selection);
  selection.laws = checked_in_forks(std::move(selection.laws), names);
  for (verify::ListedBackend& listed : selection.backends)
    if (names.contains(listed.backend.name)) listed.backend = in_own_process(listed.backend);
  return selection;
}

// Resets the backend, and checks the law on the cases that precede the saved one, because the saved
// case fails in this state.
void begin_again(const Backend& backend, const Law& law, const SavedCase& saved) {
  if (!backend.restart) return;
  backend.restart(verify::CallsAre::kTrials);
  for (const verify::CaseSpec& spec : saved.after)
    verify::verdict_of(law, backend, verify::drawn_case(spec, "").law_case, saved.bound_kind);
}

// The backend, reset by begin_again() before each call. Arguments must outlive it.
Backend begun_again(const Backend& backend, const Law& law, const SavedCase& saved) {
  if (!backend.restart || !backend.attend) return backend;
  Backend begun = backend;
  begun.attend = [&](const PagedAttentionInputs& inputs, const verify::CallOptions& options) {
    begin_again(backend, law, saved);
    return backend.attend(inputs, options);
  };
  return begun;
}

enum class Replayed : std::uint8_t { kSkipped, kHeld, kFailed };

bool is_oracle(const Law& law) { return law.name == "oracle"; }

// The explanation has its own run, whose outcome may differ from the law's run.
std::string verdict_text(const Law& law, const verify::LawVerdict& verdict,
                         const verify::Explanation& explanation) {
  if (verdict.skipped) return fmt::format("skipped    law {}: {}\n", law.name, *verdict.skipped);
  const bool is_explained = !verdict.failed() || (!verdict.call_failure && explanation.is_wrong());
  if (is_oracle(law) && is_explained) {
    const std::string printed = verify::printed_text(verdict.printed);
    return printed.empty() ? "" : printed + "\n";
  }
  if (!verdict.failed()) {
    return fmt::format("law        {} holds, {}\n", law.name, verdict.comparison.text());
  }
  return fmt::format("law        {} is broken: {}\n{}\n", law.name, law.statement,
                     verdict.heading() + "\n" + verdict.details());
}

// A remark on the law's run and the explained run together.
std::string remark_on(const Law& law, const verify::LawVerdict& verdict,
                      const verify::Explanation& explanation, bool is_kept) {
  if (verdict.skipped) return "";
  const bool has_failed = explanation.is_wrong() || explanation.not_run;
  if (verdict.failed() && !has_failed) {
    return is_oracle(law) ? "  it fails only sometimes: run again, the case is right\n" : "";
  }
  if (verdict.failed()) return "";
  if (is_oracle(law) && has_failed)
    return "  it fails only sometimes: run before, the case was right\n";
  if (is_kept && !explanation.is_wrong())
    return "  the saved failure of this backend did not recur this time\n";
  return "";
}

Replayed replay_on(const Backend& backend, const Law& law, const SavedCase& saved,
                   const verify::LawCase& law_case, std::ostream& out) {
  const verify::TriedLaw tried{law, backend, law_case, saved.bound_kind};
  verify::JudgedRuns runs;
  verify::LawVerdict verdict;
  for (int time = 0; time < 2; ++time) {
    begin_again(backend, law, saved);
    verdict = is_oracle(law) ? verify::verdict_of(law, backend, law_case, saved.bound_kind)
                             : verify::judged_verdict(tried, runs);
    if (!verdict.call_failure || !verdict.call_failure->may_be_machine) break;
  }
  // State left by the law's calls is not part of the case.
  const verify::Explanation explanation =
      verify::explain(begun_again(backend, law, saved), law_case, saved.bound_kind);
  out << fmt::format("\n{}, {} bounds\n", backend.name, bound_kind_name(saved.bound_kind))
      << verdict_text(law, verdict, explanation);
  // The oracle's verdict already says why nothing was run; other laws may change the case to a
  // supported one.
  const bool is_new = is_oracle(law) && !verdict.skipped && !verdict.call_failure;
  if (!explanation.not_run || is_new) out << explanation_text(explanation, law_case);
  const bool is_of_runs = verdict.failed() && !explanation.is_wrong() && runs.made > 0;
  if (is_of_runs) out << explained_runs(tried, runs, [&] { begin_again(backend, law, saved); });
  out << remark_on(law, verdict, explanation, saved.backend == backend.name);
  if (explanation.is_wrong() || verdict.failed()) return Replayed::kFailed;
  if (!explanation.not_run) return Replayed::kHeld;
  if (verdict.skipped) return Replayed::kSkipped;
  return is_oracle(law) ? Replayed::kFailed : Replayed::kHeld;
}

// False if another backend is requested.
bool is_of_answer(const ReplayFlags& flags, const SavedCase& saved) {
  return !saved.answer.empty() && flags.selection.backends.empty() &&
         !flags.selection.has_library();
}

Status run_replay(const ReplayFlags& flags, CommandContext& context) {
  const Result<SavedCase> saved = read_saved_case(flags.file);
  RECTO_RETURN_IF_ERROR(saved.status());
  if (is_of_answer(flags, saved.value())) {
    context.out << saved.value().spec << '\n';
    return replay_answer(flags.file, saved.value(), flags.selection.numerics, context.out);
  }
  const Result<Selection> selection = selection_of(flags, saved.value());
  RECTO_RETURN_IF_ERROR(selection.status());
  const DescribedCase described = verify::drawn_case(saved.value().spec, "");
  context.out << described.description << '\n';
  if (const std::size_t after = saved.value().after.size(); after > 0)
    context.out << fmt::format("after      {} other {}, each time\n", after,
                               after == 1 ? "case" : "cases");
  std::int64_t counts[3] = {};
  for (const verify::ListedBackend& listed : selection.value().backends) {
    if (listed.why_not_here) {
      context.out << fmt::format("\nSKIPPED: {}: {}\n", listed.backend.name, *listed.why_not_here);
      continue;
    }
    const Replayed replayed = replay_on(listed.backend, selection.value().laws.front(),
                                        saved.value(), described.law_case, context.out);
    ++counts[static_cast<int>(replayed)];
  }
  const std::int64_t failed = counts[static_cast<int>(Replayed::kFailed)];
  const std::int64_t tried = failed + counts[static_cast<int>(Replayed::kHeld)];
  if (tried == 0) return Status::failed("the case was skipped by every backend");
  if (failed == 0) return Status::ok();
  return Status::failed(fmt::format("the case fails on {} of {} backends", failed, tried));
}

}  // namespace

Command replay_command() {
  auto flags = std::make_shared<ReplayFlags>();
  Command command("replay", "run a failed case again, and explain what is wrong in it");
  command.add("file FILE", nonempty_text(flags->file, "a file"),
              "case file written by recto verify or recto check");
  add_backend_flag(command, flags->selection,
                   "names or kinds of recto verify --list [that of the file]");
  add_library_flags(command, flags->selection);
  add_filter_flags(command, flags->selection.filter, "all");
  command.footer = kFooter;
  command.run = [flags](CommandContext& context) { return run_replay(*flags, context); };
  return command;
}

}  // namespace recto::experiments
