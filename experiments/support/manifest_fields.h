#pragma once

#include <string>

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Invalid input, naming `path` and the field, if a manifest's field that pages and figures show has
// the wrong type: versions, time models, inputs, remarks, counts of points, settings. The version
// of recto is required; code that needs another field checks that it exists.
Status check_manifest_fields(const Json& manifest, const std::string& path);

}  // namespace recto::experiments
