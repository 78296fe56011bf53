#pragma once

// Whether what kernels run on still serves.

#include <optional>
#include <string>

namespace recto::verify {

// On a GPU, once kernels have run there: the error that it keeps, by which all later calls of this
// process fail. Nothing where there is none, and on the executor.
std::optional<std::string> why_device_lost();

}  // namespace recto::verify
