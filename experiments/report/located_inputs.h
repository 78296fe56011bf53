#pragma once

// Locates the files that a manifest names, whose paths may be relative to another folder.

#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct LocatedInput {
  std::string named;  // as the manifest has it
  std::string found;
};

// Finds each input of the manifest of `folder`, with the content that it had: at its path relative
// to the current folder, else relative to `folder` or one of its parents. Invalid input, naming
// manifest, file and remedy, if there is no such file.
Result<std::vector<LocatedInput>> locate_inputs(const Json& manifest, const std::string& folder);

// Invalid input, naming the manifest and the file, unless `located` are the files that `configs`
// read, which name them where they were found.
Status check_all_read(const std::vector<LocatedInput>& located,
                      const std::vector<RunConfig>& configs, const std::string& folder);

}  // namespace recto::experiments
