#pragma once

// A temporary folder for files and for processes that work on them; all are removed at the end.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>

#include "core/status.h"

namespace recto::verify {

// Removes the folder and ends its processes in the destructor, or when the thread that created it
// has ended in any way, so an interrupted program needs no signal handler. A separate process does
// this; signals to the program's process group do not reach it.
class WorkFolder {
 public:
  // Creates `prefix` and six letters below the system's folder for temporary files. Failed if the
  // system provides no folder or no process.
  static Result<WorkFolder> create(const std::string& prefix);
  WorkFolder(WorkFolder&& other) noexcept
      : path_(std::move(other.path_)), keeper_(std::exchange(other.keeper_, -1)) {}
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();

  const std::filesystem::path& path() const { return path_; }
  // The group of the processes that end with the folder.
  pid_t group() const { return keeper_; }

 private:
  WorkFolder(std::filesystem::path path, pid_t keeper) : path_(std::move(path)), keeper_(keeper) {}

  std::filesystem::path path_;
  pid_t keeper_;  // -1 once moved from
};

}  // namespace recto::verify
