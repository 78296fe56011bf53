#pragma once

// The page of a folder of results.

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/command.h"

namespace recto::experiments {

struct ReportFlags {
  std::string folder;
  std::string page = {};               // path; empty: report.html in the folder
  std::vector<std::string> maps = {};  // labels of rows; see ReportOptions
  std::optional<double> map_from_s = {};
  int threads = 0;  // 0: all cores
};

// Reads the folder, computes the data that its files lack, writes the page and prints its path. If
// the page is in the folder, also writes its data beside it (data_file.h).
Status write_folder_report(const ReportFlags& flags, CommandContext& context);

// Checks that a page may be written into the folder: its path holds a page, or nothing. Call it
// before the work whose results the page shows.
Status check_page_place(const std::string& folder);

// Removes the page of an earlier run from the folder, and says so: that page shows overwritten
// results.
Status drop_old_page(const std::string& folder, CommandContext& context);

}  // namespace recto::experiments
