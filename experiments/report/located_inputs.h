#pragma once

// The files that a manifest names, whose paths may be relative to another folder.

#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Finds each input of the manifest of `folder`, with unchanged content, at its path relative to the
// current folder, else relative to `folder` or one of its parents; makes `configs` use that path.
// Invalid input, naming manifest, file and remedy, if there is no such file, or if the inputs are
// not the files that `configs` read.
Status locate_inputs(const Json& manifest, const std::string& folder,
                     std::vector<RunConfig>& configs);

}  // namespace recto::experiments
