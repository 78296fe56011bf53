#pragma once

// One self-contained HTML file: styles, scripts, the plotting library, data. It opens from disk and
// loads nothing else.

#include <string>
#include <string_view>

#include "experiments/support/run_config.h"

namespace recto::experiments {

// A mark near the beginning of each page.
inline constexpr std::string_view kReportPageMark = R"(<meta name="generator" content="recto">)";

// web/page.html with its styles, scripts and the plotting library, as
// //experiments/report:make_page generates it, and with a marker for the data and one for the
// manifest.
std::string_view report_page_template();

// `data` comes from study_data.h; `manifest` is shown at the page's foot.
std::string report_page(const Json& data, const Json& manifest);

}  // namespace recto::experiments
