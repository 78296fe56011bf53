#include "experiments/cases/case_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "core/json.h"
#include "experiments/support/manifest.h"
#include "experiments/support/output_file.h"
#include "verify/cases/case_json.h"
#include "verify/cases/npz/npz_archive.h"
#include "verify/quoted_text.h"

namespace recto::experiments {
namespace {

using verify::FieldReader;

constexpr std::int64_t kFormat = 1;
constexpr const char* kManifest = "cases.json";
constexpr std::int64_t kFileBytesMax = std::int64_t{1} << 32;

Json case_json(const CaseFile& file) {
  return {{"name", file.name},
          {"op", case_operation_name(file.operation)},
          {"xxh3_128", file.content_hash},
          {"case", verify::case_json(file.spec)}};
}

std::string case_lines(const std::vector<CaseFile>& cases) {
  std::string lines;
  for (const CaseFile& file : cases) {
    lines += (lines.empty() ? "    " : ",\n    ") + json_text(case_json(file));
  }
  return lines;
}

constexpr std::size_t kReasonBytesMax = 200;

std::string skip_path(const std::string& folder, const CaseFile& file) {
  return (std::filesystem::path(folder) / (file.name + ".skip.txt")).string();
}

// Whether `name` is valid in file names.
bool is_plain(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

Result<CaseFile> read_case_file(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  CaseFile file;
  reader.read("name", file.name);
  reader.read_choice("op", file.operation, verify::kCaseOperations, verify::case_operation_name);
  reader.read("xxh3_128", file.content_hash);
  const Json* spec = reader.require("case", "an object");
  if (!is_plain(file.name)) reader.fail("name", "letters, digits, - and _", "'" + file.name + "'");
  RECTO_RETURN_IF_ERROR(reader.finish());
  const Result<verify::CaseSpec> read = verify::read_case(*spec, path + ".case");
  RECTO_RETURN_IF_ERROR(read.status());
  file.spec = read.value();
  return file;
}

Status read_cases(const Json& list, std::vector<CaseFile>& cases) {
  std::set<std::string> names;
  for (const Json& item : list) {
    const std::string path = fmt::format("cases[{}]", cases.size());
    Result<CaseFile> file = read_case_file(item, path);
    RECTO_RETURN_IF_ERROR(file.status());
    if (!names.insert(file.value().name).second) {
      return Status::invalid_input(path + ".name: expected each name once");
    }
    cases.push_back(std::move(file).value());
  }
  return Status::ok();
}

// Invalid input, naming what was found, unless `recto cases` wrote the folder.
Status check_folder(const std::string& folder, const std::string& manifest) {
  namespace fs = std::filesystem;
  constexpr const char* kExpected =
      "expected a folder that recto cases --out DIR wrote: cases.json, a NAME.npz for each case, "
      "and your program's NAME.out.npy or NAME.out.npz beside it";
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (status.type() == fs::file_type::not_found) {
    return Status::invalid_input(fmt::format("{}: No such folder; {}", folder, kExpected));
  }
  if (fs::is_directory(status) && fs::exists(manifest, error)) return Status::ok();
  const char* const found = !fs::is_directory(status)     ? "no folder"
                            : fs::is_empty(folder, error) ? "an empty folder"
                                                          : "no cases.json in it";
  return Status::invalid_input(fmt::format("{}: {}; found {}", folder, kExpected, found));
}

}  // namespace

std::string case_manifest_text(const CaseManifest& manifest) {
  const std::string lines = case_lines(manifest.cases);
  const Json head = {{"recto_cases", kFormat},        {"version", manifest.version},
                     {"commit", manifest.commit},     {"seed", manifest.seed},
                     {"settings", manifest.settings}, {"checksum", content_hash(lines)}};
  return fmt::format("{{\n{},\n  \"cases\": [\n{}\n  ]\n}}\n", verify::topic_lines(head, "  "),
                     lines);
}

Result<CaseManifest> parse_case_manifest(const std::string& text) {
  const Result<Json> object = verify::parse_json_object(text);
  RECTO_RETURN_IF_ERROR(object.status());
  FieldReader reader(object.value(), "");
  std::int64_t format = 0;
  std::string checksum;
  CaseManifest manifest;
  reader.read("recto_cases", format);
  if (format != kFormat) {
    reader.fail("recto_cases", std::to_string(kFormat), std::to_string(format));
  }
  reader.read("version", manifest.version);
  reader.read("commit", manifest.commit);
  reader.read("seed", manifest.seed);
  reader.read("checksum", checksum);
  if (const Json* settings = reader.require("settings", "an object")) manifest.settings = *settings;
  const Json* list = reader.require("cases", "a list");
  if (list != nullptr && !list->is_array()) reader.fail_found("cases", "a list", *list);
  RECTO_RETURN_IF_ERROR(reader.finish());
  RECTO_RETURN_IF_ERROR(read_cases(*list, manifest.cases));
  if (checksum != content_hash(case_lines(manifest.cases))) {
    return Status::invalid_input("checksum: expected that of the cases; they have been changed");
  }
  if (manifest.cases.empty()) return Status::invalid_input("cases: expected one at least");
  return manifest;
}

Result<std::string> case_file_bytes(const CaseFile& file) {
  verify::CaseArrays arrays = verify::case_arrays(file.operation, file.spec);
  std::vector<verify::NpzMember> members = std::move(arrays.inputs);
  members.insert(members.end(), arrays.expected.begin(), arrays.expected.end());
  return verify::npz_bytes(members);
}

Result<CaseManifest> read_case_manifest(const std::string& folder) {
  const std::string path = case_manifest_path(folder);
  RECTO_RETURN_IF_ERROR(check_folder(folder, path));
  const Result<std::string> text = read_text_file(path);
  RECTO_RETURN_IF_ERROR(text.status());
  Result<CaseManifest> manifest = parse_case_manifest(text.value());
  RECTO_RETURN_IF_ERROR(manifest.status().in(path));
  return manifest;
}

Status check_case_file(const std::string& folder, const CaseFile& file) {
  const std::string path = case_path(folder, file);
  const Result<std::string> bytes = read_text_file(path);
  RECTO_RETURN_IF_ERROR(bytes.status());
  const auto arrays = verify::parse_npz(bytes.value(), kFileBytesMax);
  RECTO_RETURN_IF_ERROR(arrays.status().in(path));
  for (const verify::NpzMember& member : verify::case_arrays(file.operation, file.spec).inputs) {
    const auto found = arrays.value().find(member.name);
    if (found != arrays.value().end() && found->second == member.array) continue;
    return Status::invalid_input(
        fmt::format("{}: {}: expected the arrays that this recto writes; the file was changed, or "
                    "written by another version",
                    path, member.name));
  }
  if (content_hash(bytes.value()) != file.content_hash) {
    return Status::invalid_input(path + ": expected the file as it was written; it was changed");
  }
  return Status::ok();
}

std::string case_manifest_path(const std::string& folder) {
  return (std::filesystem::path(folder) / kManifest).string();
}

std::string case_path(const std::string& folder, const CaseFile& file) {
  return (std::filesystem::path(folder) / (file.name + ".npz")).string();
}

Result<std::optional<std::string>> skip_reason(const std::string& folder, const CaseFile& file) {
  const std::string path = skip_path(folder, file);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<std::string>();
  Result<std::string> text = read_text_file(path);
  RECTO_RETURN_IF_ERROR(text.status());
  std::string reason = std::move(text).value();
  std::ranges::replace_if(reason, verify::is_control_character, ' ');
  reason.resize(std::min(reason.size(), kReasonBytesMax));
  while (reason.ends_with(' ')) reason.pop_back();
  if (reason.empty()) return Status::invalid_input(path + ": expected a reason, found no text");
  return std::optional(std::move(reason));
}

Result<std::optional<std::string>> answer_path(const std::string& folder, const CaseFile& file) {
  std::optional<std::string> found;
  std::error_code failed;
  if (const std::string skip = skip_path(folder, file); std::filesystem::exists(skip, failed))
    found = skip;
  const bool is_skipped = found.has_value();
  for (const char* suffix : {".out.npy", ".out.npz"}) {
    const auto path = std::filesystem::path(folder) / (file.name + suffix);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    if (found) {
      return Status::invalid_input(
          fmt::format("{}: expected one answer, found {} as well", path.string(), *found));
    }
    found = path.string();
  }
  if (is_skipped) return std::optional<std::string>();
  return found;
}

}  // namespace recto::experiments
