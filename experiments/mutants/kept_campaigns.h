#pragma once

#include <string>

namespace recto::experiments {

// The JSON of campaigns that are kept, of which BUILD makes the functions.
std::string last_campaign_json();
std::string uninstrumented_campaign_json();
std::string second_draw_json();

}  // namespace recto::experiments
