#pragma once

// Scenarios as bytes, for fuzzers: any bytes are one, each command some of them, so that what a
// fuzzer changes, leaves out or repeats stays in its place.

#include <cstdint>
#include <string>
#include <string_view>

#include "verify/models/cache_scenario.h"

namespace recto::verify {

// Small caches, and at most `commands_max` commands; what is left of the bytes is ignored. Each
// cache can be made.
CacheScenario scenario_from_bytes(std::string_view bytes, std::int64_t commands_max);

// Bytes of which the same comes, as far as bytes can say it: numbers below 64, 2 groups.
std::string bytes_of_scenario(const CacheScenario& scenario);

}  // namespace recto::verify
