#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto report DIR`: results as one HTML page.
Command report_command();

}  // namespace recto::experiments
