#pragma once

// Planted faults that taint must detect: kernels that are made to read unaddressed memory.

#include <cstdint>
#include <optional>
#include <string_view>

namespace recto::verify {

// Reads a slot beyond the context, or a block table entry beyond the sequence's blocks.
enum class PlantedFault : std::uint8_t { kSlot, kEntry };

// Parses the command line's "slot" or "entry".
std::optional<PlantedFault> planted_fault(std::string_view name);

// Whether faults can be planted in cases of this kernel.
bool is_planted_in(std::string_view kernel);

// Runs up to ten cases of the kernel with overstated context lengths, until a fault shows, and
// prints the results. Returns the exit status: 1 if a result is tainted. If an address is tainted,
// the sanitizer ends the program.
int run_planted(PlantedFault fault, std::string_view kernel);

}  // namespace recto::verify
