#pragma once

// Manifests: the origin of results, enough to reproduce them.

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Files that a configuration reads: trace, lengths, model, time model.
std::vector<std::string> input_files(const RunConfig& config);

// Invalid input if `output` is one of the input files: writing would destroy it.
Status check_no_input(const std::string& output, const std::vector<std::string>& inputs);

// {"path": ..., "bytes": ..., "xxh3_128": ...}. Invalid input if the file cannot be read.
Result<Json> describe_file(const std::string& path);

// The beginning of every manifest: the program's versions, the name of the command and its inputs,
// each once. It has no time and no number of threads, so equal runs give equal manifests.
Result<Json> begin_manifest(const std::string& command, const std::vector<RunConfig>& configs);

// The manifest of a folder. Invalid input if there is none, or it is not recto's.
Result<Json> read_manifest(const std::string& folder);

// Invalid input if the folder has the manifest of another command or program: results of `command`
// would replace it, and could not be distinguished from the existing ones.
Status check_own_folder(const std::string& folder, std::string_view command);

// A manifest's entry on a written file: {"bytes": ..., "xxh3_128": ...}.
Json written_file(const std::string& text);

// Writes a file of a command and notes it in `files`, the object of that name in its manifest.
Status write_noted_file(const std::string& folder, const std::string& name, const std::string& text,
                        Json& files);

// Invalid input, naming the file, unless `folder` has each file that the command of `manifest`
// writes, with the content that the manifest names: files shown together must be of one run.
Status check_written_files(const std::string& folder, const Json& manifest);

// 128 bits of XXH3 in hexadecimal.
std::string content_hash(const std::string& text);

inline constexpr const char* kVersion = "0.1.0";

// The commit that this program was built from, with "-dirty" if files were changed; "unknown"
// without git. //bazel:workspace_status.sh passes it to the build.
std::string commit();

// The day of that commit, as "2026-11-23", in UTC; empty if there was no git.
std::string commit_day();

// Version, commit, compiler and libraries, for manifests.
Json version_json();

}  // namespace recto::experiments
