#include "experiments/verify/kept_failures.h"

#include <fmt/format.h>

#include <utility>

#include "core/json.h"
#include "core/status.h"
#include "experiments/support/numbers.h"
#include "experiments/support/output_file.h"
#include "experiments/support/remarks.h"
#include "verify/saved_case.h"

namespace recto::experiments {

FailureFiles::FailureFiles(const VerifyOptions& options, std::string program)
    : options_(options), program_(std::move(program)) {}

std::string FailureFiles::save(const verify::Law& law, const verify::Backend& backend,
                               const verify::DescribedCase& smallest, VerifyOutcome& outcome) {
  const std::string stem = plain_file_name(fmt::format("{}-{}", backend.name, law.name));
  const std::string file = fmt::format("{}/{}-{}.json", options_.folder, stem, ++numbers_[stem]);
  Status status = make_folder(options_.folder);
  verify::SavedCase saved{.law = law.name,
                          .backend = backend.name,
                          .bound_kind = options_.bound_kind,
                          .spec = *smallest.spec};
  for (const auto& before : smallest.after) saved.after.push_back(*before->spec);
  const std::string text = saved_case_text(saved);
  const Result<std::string> before = read_text_file(file);
  if (status.is_ok()) status = write_file(file, text);
  if (status.is_ok() && before.is_ok() && before.value() != text) outcome.replaced.push_back(file);
  if (outcome.written.is_ok()) outcome.written = status;
  if (!status.is_ok()) return "none, because the case could not be saved: " + status.message();
  outcome.kept.back().file = file;
  if (options_.is_of_caller) {
    const std::string function = backend.name.substr(backend.name.rfind(' ') + 1);
    return fmt::format("recto.replay({}, {}=...)", json_text(Json(file)), function);
  }
  return fmt::format("{} replay {}{}", program_, shell_word(file), options_.replay_flags);
}

std::string failures_text(const VerifyOptions& options, const VerifyOutcome& outcome) {
  const verify::LawReport& report = outcome.report;
  if (report.failed() == 0) return "";
  if (report.failures.empty() && options.failures_kept == 0) {
    return "\n" + wrapped(fmt::format("Failed: {}; --failures N shrinks and shows N of each kind",
                                      counted(report.failed(), "check")));
  }
  const auto failed = static_cast<std::size_t>(report.failed());
  std::int64_t met_shrinking = 0;
  std::int64_t shrunk_to_shown = 0;
  for (const verify::LawCount& count : report.counts) {
    for (const auto& [kind, failures] : count.failures) {
      met_shrinking += failures.met_shrinking;
      shrunk_to_shown += failures.shrunk_to_shown;
    }
  }
  const std::size_t shown = report.failures.size() - static_cast<std::size_t>(met_shrinking);
  // If one could not be saved, its own text says why.
  const std::string shown_where = outcome.written.is_ok()
                                      ? fmt::format("shown below and kept in {}", options.folder)
                                      : "shown below";
  std::string line = fmt::format("Failed: {}", counted(report.failed(), "check"));
  if (failed > 1) line += shown == failed ? ", all" : fmt::format(", {} of them", shown);
  line += fmt::format("{} {}", failed > 1 ? "" : ",", shown_where);
  if (report.cut_short == 0) line += ", fully reduced";
  std::string text = "\n" + wrapped(line);
  if (shown < failed) {
    text += wrapped(
        fmt::format("Shown are the first {}of each kind, law and backend, because others mostly "
                    "have the same cause; --failures N shows N of each",
                    options.failures_kept == 1 ? "" : fmt::format("{} ", options.failures_kept)));
  }
  if (shrunk_to_shown > 0)
    text += fmt::format("Reduced to a case that is shown: {}\n", shrunk_to_shown);
  if (report.cut_short > 0)
    text +=
        fmt::format("Shown but perhaps not fully reduced, with the reason: {}\n", report.cut_short);
  if (met_shrinking > 0)
    text +=
        fmt::format("Found while reducing these, of other kinds, and shown: {}\n", met_shrinking);
  if (!outcome.replaced.empty()) {
    text += "Overwritten, with another case of an earlier run in it:\n";
    for (const std::string& file : outcome.replaced) text += fmt::format("  {}\n", file);
  }
  for (const std::string& failure : report.failures) text += "\n" + failure;
  return text;
}

}  // namespace recto::experiments
