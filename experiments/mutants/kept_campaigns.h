#pragma once

#include <string>

namespace recto::experiments {

// The JSON of the campaigns that are kept; BUILD generates these functions.
std::string last_campaign_json();
std::string uninstrumented_campaign_json();
std::string second_draw_json();

}  // namespace recto::experiments
