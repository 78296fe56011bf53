#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto cases`: adversarial cases in files, for programs in any language.
Command cases_command();

}  // namespace recto::experiments
