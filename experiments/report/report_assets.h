#pragma once

// The files of web/, unchanged; //experiments/report:make_assets generates their text.

#include <string_view>

namespace recto::experiments {

// In the order in which a page needs them.
struct ReportAssets {
  std::string_view page;  // with a marker where each of the others goes
  std::string_view style;
  std::string_view library;  // uPlot
  std::string_view library_style;
  std::string_view library_license;
  std::string_view scripts;  // all of ours, joined
};

ReportAssets report_assets();

}  // namespace recto::experiments
