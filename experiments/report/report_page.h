#pragma once

// One HTML file with everything in it: styles, scripts, the plotting library, data. It opens from
// disk and loads nothing from anywhere.

#include <string>
#include <string_view>

#include "experiments/support/run_config.h"

namespace recto::experiments {

// Stands near the beginning of each page.
inline constexpr std::string_view kReportPageMark = R"(<meta name="generator" content="recto">)";

// web/page.html with its styles, scripts and the plotting library, as
// //experiments/report:make_page generates it, and with a marker for the data and one for the
// manifest.
std::string_view report_page_template();

// `data` is what study_data.h makes; `manifest` stands at the page's foot.
std::string report_page(const Json& data, const Json& manifest);

}  // namespace recto::experiments
