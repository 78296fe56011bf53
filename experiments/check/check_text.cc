#include "experiments/check/check_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/json.h"
#include "experiments/cases/declared_numerics.h"
#include "experiments/support/numbers.h"
#include "experiments/support/table.h"
#include "verify/quoted_text.h"
#include "verify/saved_case.h"

namespace recto::experiments {
namespace {

constexpr std::size_t kNamesShown = 7;

struct Row {
  std::int64_t cases = 0;
  std::int64_t wrong = 0;
  std::int64_t missing = 0;
  std::int64_t skipped = 0;
  double worst_ratio = 0.0;
};

const char* state_name(AnswerState state) {
  constexpr const char* kNames[] = {"right", "wrong", "missing", "skipped"};
  return kNames[static_cast<int>(state)];
}

std::string types_text(const JudgedCase& judged) {
  const verify::ProblemShape& shape = judged.file.spec.shape;
  return fmt::format("{} / {}", element_type_name(shape.q_type), element_type_name(shape.kv_type));
}

std::string table_text(const std::vector<JudgedCase>& cases) {
  std::map<std::pair<std::string, std::string>, Row> rows;
  for (const JudgedCase& judged : cases) {
    Row& row = rows[{case_operation_name(judged.file.operation), types_text(judged)}];
    ++row.cases;
    row.wrong += judged.state == AnswerState::kWrong ? 1 : 0;
    row.missing += judged.state == AnswerState::kMissing ? 1 : 0;
    row.skipped += judged.state == AnswerState::kSkipped ? 1 : 0;
    row.worst_ratio = std::max(row.worst_ratio, judged.verdict.comparison.worst_ratio);
  }
  Table table({{"op", Align::kLeft},
               {"q / KV", Align::kLeft},
               {"cases"},
               {"wrong"},
               {"missing"},
               {"skipped"},
               {"error / bound"}});
  for (const auto& [what, row] : rows) {
    table.add_row(
        {what.first, what.second, std::to_string(row.cases), std::to_string(row.wrong),
         std::to_string(row.missing), std::to_string(row.skipped),
         row.missing + row.skipped == row.cases ? "-" : fmt::format("{:.3g}", row.worst_ratio)});
  }
  return table.text();
}

std::string what_text(const JudgedCase& judged) {
  if (judged.verdict.call_failure) return judged.verdict.call_failure->message;
  return judged.verdict.what + "\n" + judged.verdict.details();
}

std::string failure_text(const JudgedCase& judged, const CheckOptions& options) {
  return fmt::format("\n{} is wrong: {}\n{}\ncase\n{}\nreplay\n  recto replay {}{}\n",
                     judged.file.name, judged.answer, verify::indented(what_text(judged)),
                     verify::indented(judged.file.spec.text()), shell_word(judged.kept),
                     numerics_flag_text(options.numerics));
}

std::string names_text(const std::vector<std::string>& names, const char* what) {
  if (names.empty()) return "";
  std::string text = fmt::format("\n{}:\n ", what);
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) text += " " + names[i];
  if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
  return text + "\n";
}

}  // namespace

std::string check_text(const CheckOptions& options, const std::vector<JudgedCase>& cases,
                       std::int64_t shown) {
  std::string text = fmt::format("{} cases of {}, {} bounds\n\n{}", cases.size(), options.folder,
                                 bound_kind_name(options.bound_kind), table_text(cases));
  std::map<verify::CaseOperation, std::int64_t> failures;
  std::vector<std::string> others;
  std::vector<std::string> missing;
  std::map<std::string, std::int64_t> reasons;
  for (const JudgedCase& judged : cases) {
    if (judged.state == AnswerState::kMissing) missing.push_back(judged.file.name);
    if (judged.state == AnswerState::kSkipped) ++reasons[judged.reason];
    if (judged.state != AnswerState::kWrong) continue;
    if (++failures[judged.file.operation] <= shown) {
      text += failure_text(judged, options);
    } else {
      others.push_back(judged.file.name);
    }
  }
  text += names_text(others, "wrong as well");
  if (!reasons.empty()) text += "\nskipped, and why:\n";
  for (const auto& [reason, count] : reasons) text += fmt::format("  {} x {}\n", count, reason);
  return text + names_text(missing, "without an answer, NAME.out.npy or NAME.out.npz");
}

Json check_json(const CheckOptions& options, const std::vector<JudgedCase>& cases) {
  Json json = {{"cases", cases.size()},
               {"bound", bound_kind_name(options.bound_kind)},
               {"right", count_in_state(cases, AnswerState::kRight)},
               {"wrong", count_in_state(cases, AnswerState::kWrong)},
               {"missing", count_in_state(cases, AnswerState::kMissing)},
               {"skipped", count_in_state(cases, AnswerState::kSkipped)},
               {"answers", Json::array()}};
  for (const JudgedCase& judged : cases) {
    const double ratio = judged.verdict.comparison.worst_ratio;
    const bool is_wrong = judged.state == AnswerState::kWrong;
    json["answers"].push_back(
        {{"name", judged.file.name},
         {"op", case_operation_name(judged.file.operation)},
         {"q_type", element_type_name(judged.file.spec.shape.q_type)},
         {"kv_type", element_type_name(judged.file.spec.shape.kv_type)},
         {"state", state_name(judged.state)},
         // JSON has no infinity.
         {"worst_error_to_bound", std::isfinite(ratio) ? Json(ratio) : Json("infinite")},
         {"what", is_wrong ? Json(what_text(judged)) : Json(nullptr)},
         {"reason", judged.reason.empty() ? Json(nullptr) : Json(judged.reason)},
         {"file", is_wrong ? Json(judged.kept) : Json(nullptr)}});
  }
  return json;
}

}  // namespace recto::experiments
