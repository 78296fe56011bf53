#include "sim/traces/real_traces.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace recto::testing {
namespace {

// Any workspace file that tests can see. Its symbolic links lead to the workspace, even from a
// sandbox.
constexpr std::string_view kWorkspaceFile = "sim/traces/testdata/plain.csv";
constexpr int kWorkspaceFileDepth = 4;

std::filesystem::path traces_folder() {
  if (const char* named = std::getenv("RECTO_TRACES"); named != nullptr && *named != '\0') {
    return named;
  }
  std::error_code error;
  std::filesystem::path workspace = std::filesystem::canonical(kWorkspaceFile, error);
  for (int i = 0; i < kWorkspaceFileDepth; ++i) workspace = workspace.parent_path();
  return workspace.parent_path() / "shared" / "traces";
}

}  // namespace

std::optional<std::string> find_real_trace(std::string_view file) {
  const std::filesystem::path path = traces_folder() / file;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return path.string();
}

}  // namespace recto::testing
