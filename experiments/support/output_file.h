#pragma once

// A file that appears completely or not at all: it is written under a temporary name in the same
// folder, and renamed at the end. Devices and pipes, such as /dev/stdout, are written directly.

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "core/status.h"

namespace recto::experiments {

class OutputFile {
 public:
  // If the file cannot be written, the error names it and the system's reason: invalid input if
  // another path would work, for instance if the path is a folder; failed otherwise, for instance
  // on a full disk.
  static Result<OutputFile> create(const std::string& path);

  OutputFile(OutputFile&&) = default;
  OutputFile& operator=(OutputFile&&) = default;

  // Leaves nothing behind without `commit`.
  ~OutputFile();

  // Buffered. Errors are kept until `commit`, so that writers need not check each line.
  void write(std::string_view text);

  // True after a write has failed, so that long writers may stop.
  bool has_failed() const { return error_ != 0; }

  // Makes the file appear under its own name, or removes it and says why it could not.
  Status commit();

 private:
  using Handle = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

  OutputFile(std::string path, std::string written_path, Handle handle);
  void remove_partial();

  std::string path_;
  std::string written_path_;  // equal to path_ if that is not a regular file
  Handle handle_;
  int error_ = 0;  // the first errno
};

// Writes a small file at once.
Status write_file(const std::string& path, std::string_view text);

// Identifies files that a program may overwrite.
struct FileKind {
  std::string_view mark;  // in the file's first kilobyte
  std::string_view name;  // "a page of recto report"
};

// Whether a regular file of this kind is at `path`.
bool is_file_of(const FileKind& kind, const std::string& path);

// Checks that writing to `path` overwrites nothing but an empty file or one of this kind. Devices
// and pipes are not overwritten.
Status check_overwrites_only(const FileKind& kind, const std::string& path);

// Makes the folder and its parents, unless they exist. Errors as for OutputFile::create.
Status make_folder(const std::string& path);

// Checks that the folder exists or can be made, and that files can be written there. Call it before
// the work whose results go there. Leaves nothing behind, because that work may still be refused.
// Messages name the file that will be written first.
Status try_folder(const std::string& path, const std::string& file = "manifest.json");

// Reads a whole file or open pipe, as core/input_file.h does. Invalid input names the file.
Result<std::string> read_text_file(const std::string& path);

// The name, with '-' in place of each character that some file system refuses.
std::string plain_file_name(std::string name);

}  // namespace recto::experiments
