#pragma once

// Where the files are that a manifest names, which may be told from another folder.

#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct LocatedInput {
  std::string named;  // as the manifest has it
  std::string found;
};

// Each input of the manifest of `folder`, with the content that it had: where its path leads from
// here, else from the folder or from one above it. Invalid input, naming manifest, file and remedy,
// where there is none such.
Result<std::vector<LocatedInput>> locate_inputs(const Json& manifest, const std::string& folder);

}  // namespace recto::experiments
