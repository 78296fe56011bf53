#pragma once

// Settings that were given but that no run uses: whoever gives one expects it to do something.

#include <cstdint>
#include <span>
#include <string>

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Invalid input, naming the flag and why it has no effect, if a setting differs from its default in
// some of `configs` and has no effect in any of these. All of `configs` must be valid.
Status refuse_unused(std::span<const RunConfig> configs);

// The settings of a valid configuration as flags of recto simulate: " --block-size 32". Those that
// have their default or no effect are left out.
std::string used_flags(const RunConfig& config);

// Invalid input for several seeds if none of `configs` would differ under another seed: means over
// equal runs look more certain than they are.
Status refuse_idle_seeds(std::span<const RunConfig> configs, std::int64_t seeds);

// False where a run is the same under every seed.
bool draws_by_chance(const RunConfig& config);

}  // namespace recto::experiments
