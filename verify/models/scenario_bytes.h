#pragma once

// Scenarios as bytes, for fuzzers: any bytes are a scenario, in which each command has some bytes
// of its own, so that what a fuzzer changes, leaves out or repeats has a local effect.

#include <cstdint>
#include <string>
#include <string_view>

#include "verify/models/cache_scenario.h"

namespace recto::verify {

// Gives a small cache, which can always be created, and at most `commands_max` commands; the
// remaining bytes are ignored.
CacheScenario scenario_from_bytes(std::string_view bytes, std::int64_t commands_max);

// Bytes that give the same scenario again, as far as bytes can express it: numbers below 64, 2
// groups.
std::string bytes_of_scenario(const CacheScenario& scenario);

}  // namespace recto::verify
