#pragma once

#include <string>
#include <string_view>

namespace recto::bench {

// How folders of results name a card: "H100-80GB-HBM3" for "NVIDIA H100 80GB HBM3". Letters, digits
// and dashes; "unnamed" for a name that has none of them.
std::string card_folder_name(std::string_view name);

}  // namespace recto::bench
