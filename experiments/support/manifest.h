#pragma once

// Where results came from: enough to make them again.

#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Files that a configuration reads: trace, lengths, model, time model.
std::vector<std::string> input_files(const RunConfig& config);

// Invalid input if `output` is one of the files that are read: writing would destroy it.
Status check_no_input(const std::string& output, const std::vector<std::string>& inputs);

// {"path": ..., "bytes": ..., "xxh3_128": ...}. Invalid input if the file cannot be read.
Result<Json> describe_file(const std::string& path);

// What any manifest begins with: the program's versions, the name of the command and its inputs,
// each once. No clock and no number of threads, so that equal runs give equal manifests.
Result<Json> begin_manifest(const std::string& command, const std::vector<RunConfig>& configs);

// 128 bits of XXH3 in hexadecimal.
std::string content_hash(const std::string& text);

}  // namespace recto::experiments
