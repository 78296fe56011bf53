#pragma once

// A failing case saved in a file: the law, the backend, and the case that breaks it.

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "verify/cases/case_spec.h"
#include "verify/law.h"

namespace recto::verify {

struct SavedCase {
  std::string law = {};      // empty: the oracle
  std::string backend = {};  // where it was observed; may be empty
  std::string answer = {};   // the file of results in which it was observed, or empty
  BoundKind bound_kind = BoundKind::kProbabilistic;
  CaseSpec spec = {};
  // Cases to run under the law before this one, in this order, in a fresh process: it fails only
  // then.
  std::vector<CaseSpec> after = {};
};

// JSON with one line per topic, ending in a newline. Equal cases produce equal texts.
std::string saved_case_text(const SavedCase& saved);

// Invalid input names the line, or the field and what was expected. All fields are required, except
// `answer`, `after` and values.varied_tokens; `law` and `backend` may be empty strings. Names that
// backends had before are read as today's.
Result<SavedCase> parse_saved_case(std::string_view text);

constexpr const char* bound_kind_name(BoundKind kind) {
  return kind == BoundKind::kWorstCase ? "worst-case" : "probabilistic";
}
// The last two are the former names, which older files have.
inline constexpr std::string_view kBoundNames[] = {"worst-case", "probabilistic", "hard", "sharp"};
// `name` must be one of kBoundNames.
constexpr BoundKind bound_kind_of(std::string_view name) {
  return name == "worst-case" || name == "hard" ? BoundKind::kWorstCase : BoundKind::kProbabilistic;
}

}  // namespace recto::verify
