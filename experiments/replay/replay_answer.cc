#include "experiments/replay/replay_answer.h"

#include <fmt/format.h>

#include <filesystem>

#include "experiments/support/output_file.h"
#include "verify/cases/case_files/answer.h"
#include "verify/explain/explanation.h"

namespace recto::experiments {
namespace {

using verify::CaseOperation;

constexpr const char* kStillWrong = "the answer is wrong";

std::string path_of(const std::string& case_file, const std::string& answer) {
  const std::filesystem::path folder = std::filesystem::path(case_file).parent_path();
  return (folder / answer).lexically_normal().string();
}

Status replay_write(const verify::SavedCase& saved, const verify::NpzArrays& arrays,
                    std::ostream& out) {
  const verify::LawVerdict verdict =
      judge_answer(CaseOperation::kKvWrite, saved.spec, arrays, saved.bound_kind);
  out << verdict.details() << '\n';
  return verdict.failed() ? Status::failed(kStillWrong) : Status::ok();
}

}  // namespace

Status replay_answer(const std::string& case_file, const verify::SavedCase& saved,
                     const reference::DeclaredNumerics& declared, std::ostream& out) {
  const std::string path = path_of(case_file, saved.answer);
  const Result<std::string> bytes = read_text_file(path);
  RECTO_RETURN_IF_ERROR(bytes.status());
  const auto arrays = verify::parse_answer(path, bytes.value());
  RECTO_RETURN_IF_ERROR(arrays.status().in(path));
  out << fmt::format("\n{}, {} bounds\n", path, bound_kind_name(saved.bound_kind));
  if (saved.law == case_operation_name(CaseOperation::kKvWrite)) {
    return replay_write(saved, arrays.value(), out);
  }
  const verify::LawCase law_case{make_problem(saved.spec), saved.spec.placement};
  const verify::PlacedProblem placed(law_case.problem, law_case.placement);
  const auto seen = attention_answer(placed.inputs(), arrays.value());
  RECTO_RETURN_IF_ERROR(seen.status().in(path));
  const verify::Comparison comparison =
      compare_answer(placed.inputs(), seen.value(), saved.bound_kind, declared);
  const verify::Explanation explanation =
      explain_results(seen.value(), comparison, law_case, saved.bound_kind, declared);
  out << explanation_text(explanation, law_case);
  return explanation.is_wrong() ? Status::failed(kStillWrong) : Status::ok();
}

}  // namespace recto::experiments
