#pragma once

// Faults that taint must show: kernels that are made to read what is not addressed.

#include <cstdint>
#include <optional>
#include <string_view>

namespace recto::verify {

// In a slot behind the context, or in an entry of the table behind its blocks.
enum class PlantedFault : std::uint8_t { kSlot, kEntry };

// By its name on the command line: "slot" or "entry".
std::optional<PlantedFault> planted_fault(std::string_view name);

// Whether it is one of the kernels that cases are planted in.
bool is_planted_in(std::string_view kernel);

// Cases of it, whose contexts are said to be longer than they are, ten or until one is seen: prints
// what it makes of them. How the program is to end: 1 if a result is tainted; where addresses are,
// shadow memory ends it.
int run_planted(PlantedFault fault, std::string_view kernel);

}  // namespace recto::verify
