#include "verify/saved_case.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "verify/generators/case_json.h"
#include "verify/generators/field_reader.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::array<BoundKind, 2> kBoundKinds = {BoundKind::kHard, BoundKind::kSharp};

}  // namespace

std::string saved_case_text(const SavedCase& saved) {
  Json head = {{"recto_case", kVersion},
               {"law", saved.law},
               {"backend", saved.backend},
               {"bound", bound_kind_name(saved.bound_kind)}};
  if (!saved.answer.empty()) head["answer"] = saved.answer;
  return fmt::format("{{\n{},\n  \"case\": {{\n{}\n  }}\n}}\n", topic_lines(head, "  "),
                     topic_lines(case_json(saved.spec), "    "));
}

Result<SavedCase> parse_saved_case(std::string_view text) {
  const Result<Json> object = parse_json_object(text);
  RECTO_RETURN_IF_ERROR(object.status());
  FieldReader reader(object.value(), "");
  std::int64_t version = 0;
  SavedCase saved;
  // The version comes first: what other versions contain is not known.
  if (reader.require("recto_case", "1, as recto verify and recto check write it") == nullptr) {
    return reader.finish();
  }
  reader.read("recto_case", version);
  if (version != kVersion) {
    reader.fail("recto_case", std::to_string(kVersion), std::to_string(version));
  }
  reader.read("law", saved.law);
  reader.read("backend", saved.backend);
  if (reader.find("answer") != nullptr) reader.read("answer", saved.answer);
  reader.read_choice("bound", saved.bound_kind, kBoundKinds, bound_kind_name);
  const Json* spec = reader.require("case", "an object");
  RECTO_RETURN_IF_ERROR(reader.finish());
  const Result<CaseSpec> read = read_case(*spec, "case");
  RECTO_RETURN_IF_ERROR(read.status());
  saved.spec = read.value();
  return saved;
}

}  // namespace recto::verify
