#pragma once

// A file that is there whole or not at all: written under a temporary name beside its own, and
// renamed at the end. Devices and pipes, such as /dev/stdout, are written to directly.

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "core/status.h"

namespace recto::experiments {

class OutputFile {
 public:
  // If it cannot be written to: the file and the system's reason. Invalid input where another place
  // would do, such as a folder that is there; failed where not, such as on a full disk.
  static Result<OutputFile> create(const std::string& path);

  OutputFile(OutputFile&&) = default;
  OutputFile& operator=(OutputFile&&) = default;

  // Without `commit` nothing stays behind.
  ~OutputFile();

  // Buffered. Errors are kept until `commit`, so that writers need not check each line.
  void write(std::string_view text);

  // True once something could not be written: long writers may stop.
  bool has_failed() const { return error_ != 0; }

  // Makes the file appear under its own name, or removes it and says why it could not.
  Status commit();

 private:
  using Handle = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

  OutputFile(std::string path, std::string written_path, Handle handle);
  void remove_partial();

  std::string path_;
  std::string written_path_;  // equal to path_ where that is no regular file
  Handle handle_;
  int error_ = 0;  // the first errno
};

// The whole of a small file.
Status write_file(const std::string& path, std::string_view text);

// Makes the folder and those above it, unless they are there. Errors as of OutputFile::create.
Status make_folder(const std::string& path);

// Whether the folder is there or can be made, and files be written there: tried before the work
// whose results they are to hold, as that may be refused yet. Leaves nothing.
Status try_folder(const std::string& path);

}  // namespace recto::experiments
