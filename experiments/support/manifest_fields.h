#pragma once

#include <string>

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Invalid input, naming `path` and the field, if something that pages and pictures show of a
// manifest is not of its type: versions, time models, inputs, remarks, counts of points, settings.
// Which recto wrote it must be told; other fields that are missing are left to whoever needs them.
Status check_manifest_fields(const Json& manifest, const std::string& path);

}  // namespace recto::experiments
