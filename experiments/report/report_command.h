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
  std::string page = {};               // where to; empty: report.html in the folder
  std::vector<std::string> maps = {};  // labels of rows; see ReportOptions
  std::optional<double> map_from_s = {};
  int threads = 0;  // 0: all cores
};

// Reads the folder, computes what its files do not hold, writes the page and says where it is. A
// page in the folder gets its data beside it (data_file.h).
Status write_folder_report(const ReportFlags& flags, CommandContext& context);

// Checks that a page may be written into the folder: what is there now is a page, or nothing. To be
// called before the work that the page is to show.
Status check_page_place(const std::string& folder);

// Removes the page that an earlier run has left in the folder, and says so: that page shows results
// that have been overwritten.
Status drop_old_page(const std::string& folder, CommandContext& context);

}  // namespace recto::experiments
