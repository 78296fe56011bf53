#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto plan`: how far the KV cache of a model goes on a card.
Command plan_command();

}  // namespace recto::experiments
