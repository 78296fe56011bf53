#include "experiments/check/check_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "experiments/support/output_file.h"
#include "experiments/support/parallel.h"
#include "verify/cases/case_files/answer.h"
#include "verify/saved_case.h"

namespace recto::experiments {
namespace {

verify::LawVerdict judge(const CaseFile& file, const std::string& answer,
                         const CheckOptions& options) {
  verify::LawVerdict unread;
  const Result<std::string> bytes = read_text_file(answer);
  if (!bytes.is_ok()) {
    unread.call_failure = {verify::kThrown, bytes.status().message()};
    return unread;
  }
  const auto arrays = verify::parse_answer(answer, bytes.value());
  if (!arrays.is_ok()) {
    unread.call_failure = {verify::kThrown, arrays.status().message()};
    return unread;
  }
  return verify::judge_answer(file.operation, file.spec, arrays.value(), options.bound_kind,
                              options.numerics);
}

// The path relative to the case's folder, so that case and answer can be moved together.
std::string seen_from(const std::string& folder, const std::string& path) {
  std::error_code error;
  const auto relative = std::filesystem::proximate(path, folder, error);
  return error ? path : relative.string();
}

Status keep(const CheckOptions& options, JudgedCase& judged) {
  RECTO_RETURN_IF_ERROR(make_folder(options.kept_folder));
  const bool is_write = judged.file.operation == verify::CaseOperation::kKvWrite;
  const verify::SavedCase saved{.law = is_write ? "kv_write" : "oracle",
                                .answer = seen_from(options.kept_folder, judged.answer),
                                .bound_kind = options.bound_kind,
                                .spec = judged.file.spec};
  judged.kept =
      (std::filesystem::path(options.kept_folder) / (judged.file.name + ".json")).string();
  return write_file(judged.kept, saved_case_text(saved));
}

}  // namespace

Result<std::vector<JudgedCase>> judge_folder(const CheckOptions& options, CommandContext& context) {
  Result<CaseManifest> manifest = read_case_manifest(options.folder);
  RECTO_RETURN_IF_ERROR(manifest.status());
  std::vector<JudgedCase> cases;
  ProgressBar progress(context.err, context.terminal, manifest.value().cases.size());
  for (CaseFile& file : manifest.value().cases) {
    progress.advance(file.name);
    RECTO_RETURN_IF_ERROR(check_case_file(options.folder, file));
    const auto answer = answer_path(options.folder, file);
    RECTO_RETURN_IF_ERROR(answer.status());
    JudgedCase& judged = cases.emplace_back();
    judged.file = std::move(file);
    if (!answer.value()) {
      auto skipped = skip_reason(options.folder, judged.file);
      RECTO_RETURN_IF_ERROR(skipped.status());
      if (!skipped.value()) continue;
      judged.state = AnswerState::kSkipped;
      judged.reason = *std::move(skipped).value();
      continue;
    }
    judged.answer = *answer.value();
    judged.verdict = judge(judged.file, judged.answer, options);
    judged.state = judged.verdict.failed() ? AnswerState::kWrong : AnswerState::kRight;
    if (judged.verdict.failed()) RECTO_RETURN_IF_ERROR(keep(options, judged));
  }
  return cases;
}

std::int64_t count_in_state(const std::vector<JudgedCase>& cases, AnswerState state) {
  return std::ranges::count(cases, state, &JudgedCase::state);
}

}  // namespace recto::experiments
