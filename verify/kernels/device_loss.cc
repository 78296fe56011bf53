#include "verify/kernels/device_loss.h"

namespace recto::verify {

std::optional<std::string> why_device_lost() { return std::nullopt; }

}  // namespace recto::verify
