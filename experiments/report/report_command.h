#pragma once

// The page of a folder of results.

#include <string>

#include "core/status.h"
#include "experiments/support/command.h"

namespace recto::experiments {

struct ReportFlags {
  std::string folder;
  std::string page = {};  // path; empty: report.html in the folder
};

// Reads the folder, writes the page and prints its path. Beside a sweep's page in the folder goes
// its data (study_data.h).
Status write_folder_report(const ReportFlags& flags, CommandContext& context);

// Checks that a page may be written into the folder: its path holds a page, or nothing. Call it
// before the work whose results the page shows.
Status check_page_place(const std::string& folder);

// Removes the page of an earlier run and its data from the folder, and says so: they show
// overwritten results.
Status drop_old_page(const std::string& folder, CommandContext& context);

}  // namespace recto::experiments
