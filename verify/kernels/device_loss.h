#pragma once

// Whether the device that kernels run on is still usable.

#include <optional>
#include <string>

namespace recto::verify {

// On a GPU, after kernels have run there: the sticky error with which all later calls of this
// process fail. Nothing if there is none, or on the executor.
std::optional<std::string> why_device_lost();

}  // namespace recto::verify
