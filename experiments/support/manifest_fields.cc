#include "experiments/support/manifest_fields.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "core/json.h"

namespace recto::experiments {
namespace {

struct Kind {
  bool (*has)(const Json&);
  std::string_view name;
};

constexpr Kind kText{[](const Json& json) { return json.is_string(); }, "a text"};
constexpr Kind kObject{[](const Json& json) { return json.is_object(); }, "an object"};
constexpr Kind kArray{[](const Json& json) { return json.is_array(); }, "an array"};
constexpr Kind kCount{
    [](const Json& json) { return json.is_number_integer() && json.get<std::int64_t>() >= 0; },
    "an integer from 0"};

struct Field {
  std::string_view name;
  Kind kind;
};

constexpr Field kOrigin[] = {{"recto", kObject}};
constexpr Field kFields[] = {
    {"grid", kObject},  {"configurations", kArray}, {"time_models", kArray},
    {"inputs", kArray}, {"remarks", kArray},        {"columns", kArray},
    {"points", kCount}, {"failed_points", kArray},  {"repeat", kText}};
constexpr Field kVersion[] = {{"version", kText}, {"commit", kText}};
constexpr Field kTimeModel[] = {{"name", kText}, {"provenance", kText}};
constexpr Field kFailedPoint[] = {{"point", kCount}, {"error", kText}};
constexpr Field kInput[] = {{"path", kText}, {"bytes", kCount}, {"xxh3_128", kText}};

Status check(const Json& found, const Kind& kind, const std::string& where) {
  if (kind.has(found)) return Status::ok();
  return Status::invalid_input(
      fmt::format("{}: found {}; expected {}", where, json_text(found), kind.name));
}

enum class Missing { kAllowed, kRefused };

Status check_fields(const Json& object, std::span<const Field> fields, const std::string& where,
                    Missing missing) {
  for (const auto& [name, kind] : fields) {
    const Json* const found = object.find(name);
    const std::string field = where + std::string(name);
    if (found == nullptr && missing == Missing::kAllowed) continue;
    if (found == nullptr) {
      return Status::invalid_input(fmt::format("{}: found none; expected {}", field, kind.name));
    }
    RECTO_RETURN_IF_ERROR(check(*found, kind, field));
  }
  return Status::ok();
}

// Each item of an array must be of this kind and, if it is an object, have these fields.
Status check_items(const Json& manifest, std::string_view array, const Kind& kind,
                   std::span<const Field> fields, const std::string& where) {
  const Json* const items = manifest.find(array);
  if (items == nullptr) return Status::ok();
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Json& item = (*items)[i];
    const std::string here = fmt::format("{}{}[{}]", where, array, i);
    RECTO_RETURN_IF_ERROR(check(item, kind, here));
    RECTO_RETURN_IF_ERROR(check_fields(item, fields, here + '.', Missing::kRefused));
  }
  return Status::ok();
}

Status check_settings(const Json& manifest, const std::string& where) {
  if (const Json* grid = manifest.find("grid"); grid != nullptr && grid->contains("base")) {
    RECTO_RETURN_IF_ERROR(check((*grid)["base"], kObject, where + "grid.base"));
    const Status base = run_config_from_json((*grid)["base"]).status();
    RECTO_RETURN_IF_ERROR(base.in(where + "grid.base"));
  }
  const Json* const configurations = manifest.find("configurations");
  if (configurations == nullptr) return Status::ok();
  for (std::size_t i = 0; i < configurations->size(); ++i) {
    const std::string here = fmt::format("{}configurations[{}]", where, i);
    RECTO_RETURN_IF_ERROR(check((*configurations)[i], kObject, here));
    RECTO_RETURN_IF_ERROR(run_config_from_json((*configurations)[i]).status().in(here));
  }
  return Status::ok();
}

}  // namespace

Status check_manifest_fields(const Json& manifest, const std::string& path) {
  const std::string where = path + ", ";
  RECTO_RETURN_IF_ERROR(check_fields(manifest, kFields, where, Missing::kAllowed));
  RECTO_RETURN_IF_ERROR(check_fields(manifest, kOrigin, where, Missing::kRefused));
  RECTO_RETURN_IF_ERROR(
      check_fields(manifest["recto"], kVersion, where + "recto.", Missing::kRefused));
  RECTO_RETURN_IF_ERROR(check_items(manifest, "time_models", kObject, kTimeModel, where));
  RECTO_RETURN_IF_ERROR(check_items(manifest, "inputs", kObject, kInput, where));
  RECTO_RETURN_IF_ERROR(check_items(manifest, "remarks", kText, {}, where));
  RECTO_RETURN_IF_ERROR(check_items(manifest, "columns", kText, {}, where));
  RECTO_RETURN_IF_ERROR(check_items(manifest, "failed_points", kObject, kFailedPoint, where));
  return check_settings(manifest, where);
}

}  // namespace recto::experiments
