#pragma once

// How many sequences a request decodes into, as data and as text: `single`, `parallel:4` (four
// samples of one prompt), `beam:6` (beam search of width six).

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"
#include "sim/request.h"

namespace recto::sim {

struct DecodingSpec {
  Decoding kind = Decoding::kSingle;
  std::int32_t width = 1;
  friend bool operator==(const DecodingSpec&, const DecodingSpec&) = default;
};

// `single` has width 1, the others 1 to 1024.
Status check_decoding(const DecodingSpec& spec);
Result<DecodingSpec> parse_decoding(std::string_view text);
std::string describe(const DecodingSpec& spec);

}  // namespace recto::sim
