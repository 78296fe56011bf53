#pragma once

// The data that a page and figures show of a folder of results, as JSON: numbers, aggregated for
// pictures. `recto fragmentation` writes those of a study beside its tables, as report.json; those
// of a sweep follow from its table alone, and lie beside its page.

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/report/results_folder.h"
#include "experiments/support/command.h"
#include "experiments/support/output_file.h"
#include "sim/metrics/report.h"

namespace recto::experiments {

// What the tables of a study lack: one row's run under the first seed.
struct FirstRun {
  const RunConfig& config;  // a manifest's has no names of files that are not UTF-8
  const sim::Report& report;
  const Json& latency;  // LatencyQuantiles::json
};

struct MapOptions {
  // Labels of the rows with a memory map; empty: one row per allocator, with the recommended block
  // size.
  std::vector<std::string> rows = {};
  std::optional<double> from_s = {};  // the part shown block by block begins here
  int threads = 1;
};

// Invalid input unless each of options.rows is the label of one of `configs`.
Status check_map_rows(const MapOptions& options, const std::vector<RunConfig>& configs);

// Writes report.json into the folder of a study whose rows had these runs. Repeats the runs of rows
// with a map.
Status write_study_data(const std::string& folder, const std::vector<FirstRun>& runs,
                        const MapOptions& options, CommandContext& context);

// Figures of every point of a sweep, and a block-size panel for each setting of the other axes.
Result<Json> sweep_data(const ResultsFolder& folder);

inline constexpr FileKind kDataFile{.mark = R"({"written_by":"recto report",)",
                                    .name = "the data of a page of recto report"};

std::string data_file_in(const std::string& folder);

// {"written_by", "manifest_xxh3_128", "data_xxh3_128", "data"}: with hashes of its results'
// manifest and of its own data, so that data of other results and edited data are detected.
Status write_data_file(const std::string& folder, const Json& data);

// The data in the folder's report.json. Invalid input unless that is the unchanged output of
// write_data_file for this manifest.
Result<Json> read_data_file(const std::string& folder);

}  // namespace recto::experiments
