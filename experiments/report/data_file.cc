#include "experiments/report/data_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/json.h"
#include "experiments/report/located_inputs.h"
#include "experiments/report/study_data.h"
#include "experiments/support/manifest.h"
#include "experiments/support/output_file.h"
#include "experiments/support/parallel.h"

namespace recto::experiments {

std::string data_file_in(const std::string& folder) { return folder + "/report.json"; }

Result<std::string> data_file_text(const std::string& folder, const Json& data) {
  const Result<Json> manifest = describe_file(folder + "/manifest.json");
  RECTO_RETURN_IF_ERROR(manifest.status());
  return json_text({{"written_by", "recto report"},
                    {"manifest_xxh3_128", manifest.value()["xxh3_128"]},
                    {"data_xxh3_128", content_hash(json_text(data))},
                    {"data", data}});
}

Status check_data_file(const std::string& folder) {
  const std::string path = data_file_in(folder);
  const Result<std::string> text = read_text_file(path);
  RECTO_RETURN_IF_ERROR(text.status());
  const Result<Json> found = parse_json(text.value());
  const Json data = found.is_ok() ? found.value().value("data", Json()) : Json();
  const Result<std::string> expected = data_file_text(folder, data);
  RECTO_RETURN_IF_ERROR(expected.status());
  if (text.value() == expected.value()) return Status::ok();
  return Status::invalid_input(fmt::format(
      "{}: is not what recto report wrote of {}/manifest.json; expected both from one run, or no "
      "report.json",
      path, folder));
}

Result<std::string> unnamed_data_file(ResultsFolder folder) {
  RECTO_RETURN_IF_ERROR(locate_inputs(folder.manifest, folder.path, folder.configs));
  const Result<Json> data = fragmentation_data(folder, {.threads = default_threads()});
  RECTO_RETURN_IF_ERROR(data.status());
  const Result<std::string> text = data_file_text(folder.path, data.value());
  RECTO_RETURN_IF_ERROR(text.status());
  std::FILE* const file = std::tmpfile();
  if (file == nullptr || std::fputs(text.value().c_str(), file) < 0 || std::fflush(file) != 0) {
    return Status::failed(std::string("a temporary file: ") + std::strerror(errno));
  }
  return fmt::format("/dev/fd/{}", fileno(file));
}

}  // namespace recto::experiments
