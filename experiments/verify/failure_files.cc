#include "experiments/verify/failure_files.h"

#include <fmt/format.h>

#include <utility>

#include "core/json.h"
#include "core/status.h"
#include "experiments/support/numbers.h"
#include "experiments/support/output_file.h"
#include "verify/saved_case.h"

namespace recto::experiments {
namespace {

// A name that any file system accepts.
std::string plain_name(std::string name) {
  for (char& c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '@' || c == '.';
    if (!is_plain) c = '-';
  }
  return name;
}

}  // namespace

FailureFiles::FailureFiles(const VerifyOptions& options, std::string program)
    : options_(options), program_(std::move(program)) {}

std::string FailureFiles::save(const verify::Law& law, const verify::Backend& backend,
                               const verify::DescribedCase& smallest, VerifyOutcome& outcome) {
  const std::string stem = plain_name(fmt::format("{}-{}", backend.name, law.name));
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

}  // namespace recto::experiments
