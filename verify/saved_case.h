#pragma once

// A failing case saved in a file: what broke, on which backend, and the case that shows it.

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "verify/generators/case_spec.h"
#include "verify/law.h"

namespace recto::verify {

struct SavedCase {
  std::string law = {};      // empty: the oracle
  std::string backend = {};  // on which it was observed; may be empty
  std::string answer = {};   // the file of results in which it was observed, or empty
  BoundKind bound_kind = BoundKind::kSharp;
  CaseSpec spec = {};
  // Cases that the law is put to before it, in this order, in a fresh process: it fails only then.
  std::vector<CaseSpec> after = {};
};

// JSON with one line per topic, ending in a newline. Equal cases produce equal texts.
std::string saved_case_text(const SavedCase& saved);

// Invalid input names the line, or the field and what was expected. A saved case must be complete:
// `law` and `backend` may be empty strings, and only `answer`, `after` and values.varied_tokens may
// be omitted.
Result<SavedCase> parse_saved_case(std::string_view text);

constexpr const char* bound_kind_name(BoundKind kind) {
  return kind == BoundKind::kHard ? "hard" : "sharp";
}

}  // namespace recto::verify
