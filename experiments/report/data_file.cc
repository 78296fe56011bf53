#include <fmt/format.h>

#include "core/json.h"
#include "experiments/report/study_data.h"
#include "experiments/support/manifest.h"
#include "experiments/support/output_file.h"

namespace recto::experiments {
namespace {

Result<std::string> data_file_text(const std::string& folder, const Json& data) {
  const Result<Json> manifest = describe_file(folder + "/manifest.json");
  RECTO_RETURN_IF_ERROR(manifest.status());
  return json_text({{"written_by", "recto report"},
                    {"manifest_xxh3_128", manifest.value()["xxh3_128"]},
                    {"data_xxh3_128", content_hash(json_text(data))},
                    {"data", data}});
}

}  // namespace

std::string data_file_in(const std::string& folder) { return folder + "/report.json"; }

Status write_data_file(const std::string& folder, const Json& data) {
  const Result<std::string> text = data_file_text(folder, data);
  RECTO_RETURN_IF_ERROR(text.status());
  return write_file(data_file_in(folder), text.value());
}

Result<Json> read_data_file(const std::string& folder) {
  const std::string path = data_file_in(folder);
  const Result<std::string> text = read_text_file(path);
  if (!text.is_ok()) {
    return Status::invalid_input(text.status().message() +
                                 "; expected what recto fragmentation --out writes; run it again");
  }
  const Result<Json> found = parse_json(text.value());
  Json data = found.is_ok() ? found.value().value("data", Json()) : Json();
  const Result<std::string> expected = data_file_text(folder, data);
  RECTO_RETURN_IF_ERROR(expected.status());
  if (text.value() == expected.value()) return data;
  return Status::invalid_input(
      fmt::format("{}: does not belong to {}/manifest.json; expected both from one run, or no "
                  "report.json",
                  path, folder));
}

}  // namespace recto::experiments
