#include "verify/saved_case.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "verify/cases/case_json.h"
#include "verify/cases/field_reader.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kCasesBeforeMax = 1000;

struct RenamedBackend {
  std::string_view before;
  std::string_view now;
};
constexpr RenamedBackend kRenamedBackends[] = {{"paged-decode", "reference-decode"},
                                               {"group-decode", "gqa-decode"},
                                               {"bulk-decode", "tma-decode"}};

// The name of today for one that older files have, on the executor or "@gpu"; others unchanged. A
// library's function, "NAME decode", keeps its name.
std::string backend_of_today(std::string name) {
  const std::string_view kernel = std::string_view(name).substr(0, name.find('@'));
  for (const RenamedBackend& renamed : kRenamedBackends)
    if (kernel == renamed.before) return name.replace(0, kernel.size(), renamed.now);
  return name;
}

// One line per case.
std::string after_text(const std::vector<CaseSpec>& after) {
  std::string text;
  for (const CaseSpec& spec : after)
    text += fmt::format("{}    {}", text.empty() ? "" : ",\n", json_text(case_json(spec)));
  return fmt::format("  \"after\": [\n{}\n  ],\n", text);
}

Status read_after(const Json& list, std::vector<CaseSpec>& after) {
  if (!list.is_array() || list.empty() || list.size() > kCasesBeforeMax) {
    return Status::invalid_input(
        fmt::format("after: expected a list of 1 to {} cases", kCasesBeforeMax));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string path = fmt::format("after[{}]", i);
    if (!list[i].is_object()) return Status::invalid_input(path + ": expected an object");
    Result<CaseSpec> read = read_case(list[i], path);
    RECTO_RETURN_IF_ERROR(read.status());
    after.push_back(std::move(read).value());
  }
  return Status::ok();
}

}  // namespace

std::string saved_case_text(const SavedCase& saved) {
  Json head = {{"recto_case", kVersion},
               {"law", saved.law},
               {"backend", saved.backend},
               {"bound", bound_kind_name(saved.bound_kind)}};
  if (!saved.answer.empty()) head["answer"] = saved.answer;
  return fmt::format("{{\n{},\n{}  \"case\": {{\n{}\n  }}\n}}\n", topic_lines(head, "  "),
                     saved.after.empty() ? "" : after_text(saved.after),
                     topic_lines(case_json(saved.spec), "    "));
}

Result<SavedCase> parse_saved_case(std::string_view text) {
  const Result<Json> object = parse_json_object(text);
  RECTO_RETURN_IF_ERROR(object.status());
  FieldReader reader(object.value(), "");
  std::int64_t version = 0;
  SavedCase saved;
  // The version is read first: the contents of other versions are unknown.
  if (reader.require("recto_case", "1, as recto verify and recto check write it") == nullptr) {
    return reader.finish();
  }
  reader.read("recto_case", version);
  if (version != kVersion) {
    reader.fail("recto_case", std::to_string(kVersion), std::to_string(version));
  }
  reader.read("law", saved.law);
  reader.read("backend", saved.backend);
  saved.backend = backend_of_today(std::move(saved.backend));
  if (reader.find("answer") != nullptr) reader.read("answer", saved.answer);
  std::string_view bound;
  reader.read_choice("bound", bound, kBoundNames, [](std::string_view name) { return name; });
  saved.bound_kind = bound_kind_of(bound);
  const Json* const after = reader.find("after");
  const Json* spec = reader.require("case", "an object");
  RECTO_RETURN_IF_ERROR(reader.finish());
  if (after != nullptr) RECTO_RETURN_IF_ERROR(read_after(*after, saved.after));
  const Result<CaseSpec> read = read_case(*spec, "case");
  RECTO_RETURN_IF_ERROR(read.status());
  saved.spec = read.value();
  return saved;
}

}  // namespace recto::verify
