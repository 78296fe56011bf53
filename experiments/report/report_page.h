#pragma once

// One HTML file with everything in it: styles, scripts, the plotting library, data. It opens from
// disk and loads nothing from anywhere.

#include <string>

#include "experiments/support/run_config.h"

namespace recto::experiments {

// `data` is what study_data.h makes; `manifest` stands at the page's foot.
std::string report_page(const Json& data, const Json& manifest);

}  // namespace recto::experiments
