#pragma once

// The data of a folder's page as JSON: report.json beside report.html, for figures and notebooks.
// It has hashes of its results' manifest and of its own data, so that data of other results and
// edited data are detected.

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

// Invalid input unless report.json in the folder is the unchanged output of data_file_text for this
// manifest.
Status check_data_file(const std::string& folder);

// The path of a file with such data for a study whose folder has none: repeats the study's runs.
// The file is unlinked, and exists for this process and the programs that it executes.
Result<std::string> unnamed_data_file(ResultsFolder folder);

}  // namespace recto::experiments
