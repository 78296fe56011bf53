#pragma once

// What the page in a folder shows, as JSON: report.json beside report.html, for pictures and
// notebooks. It names the manifest of its results and itself by content, so that nobody takes the
// data of other results, or data that were edited, for those of the folder.

#include <string>

#include "core/status.h"
#include "experiments/report/results_folder.h"
#include "experiments/support/output_file.h"

namespace recto::experiments {

inline constexpr FileKind kDataFile{.mark = R"({"written_by":"recto report",)",
                                    .name = "the data of a page of recto report"};

std::string data_file_in(const std::string& folder);

// {"written_by", "manifest_xxh3_128", "data_xxh3_128", "data"}. Invalid input if the folder's
// manifest cannot be read.
Result<std::string> data_file_text(const std::string& folder, const Json& data);

// Invalid input unless report.json in the folder is what data_file_text gave, of this manifest.
Status check_data_file(const std::string& folder);

// The path of a file with such data of a study, of which the folder has none: its runs are
// repeated. The file has no name; it is there for this process and for what it executes.
Result<std::string> unnamed_data_file(ResultsFolder folder);

}  // namespace recto::experiments
