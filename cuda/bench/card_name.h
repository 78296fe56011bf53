#pragma once

#include <string>
#include <string_view>

namespace recto::bench {

// The name of a card in folders of results: "H100-80GB-HBM3" for "NVIDIA H100 80GB HBM3". Only
// letters, digits and dashes; "unnamed" if the name has none of them.
std::string card_folder_name(std::string_view name);

}  // namespace recto::bench
