#include "experiments/support/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <system_error>
#include <utility>
#include <vector>

#include "core/input_file.h"

namespace recto::experiments {
namespace {

constexpr const char* kNoFolder = ": cannot make this folder: ";

// A path where nothing can be written is the caller's mistake; a full disk is not.
Status failure(const std::string& message, int error) {
  static constexpr std::array kMisplaced{EACCES, EEXIST,       EISDIR,  ELOOP, EINVAL,
                                         ENOENT, ENAMETOOLONG, ENOTDIR, EPERM, EROFS};
  const std::string text = message + std::strerror(error);
  return std::ranges::find(kMisplaced, error) != kMisplaced.end() ? Status::invalid_input(text)
                                                                  : Status::failed(text);
}

Status no_file(const std::string& path, int error) {
  return failure(path + ": cannot write: ", error);
}

// Renaming onto a device or a pipe would replace it.
bool is_special(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  const bool special = is_special(path);
  const std::string written =
      special ? path : path + ".partial-" + std::to_string(static_cast<long>(getpid()));
  const int flags = special ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC;
  const int descriptor = open(written.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor < 0) return no_file(path, errno);
  Handle handle(fdopen(descriptor, "w"), std::fclose);
  if (handle == nullptr) return no_file(path, errno);
  return OutputFile(path, written, std::move(handle));
}

OutputFile::OutputFile(std::string path, std::string written_path, Handle handle)
    : path_(std::move(path)), written_path_(std::move(written_path)), handle_(std::move(handle)) {}

OutputFile::~OutputFile() { remove_partial(); }

void OutputFile::remove_partial() {
  if (handle_ == nullptr) return;  // committed, or moved from
  handle_.reset();
  if (written_path_ != path_) unlink(written_path_.c_str());
}

void OutputFile::write(std::string_view text) {
  if (error_ != 0 || text.empty()) return;
  if (std::fwrite(text.data(), 1, text.size(), handle_.get()) != text.size()) error_ = errno;
}

Status OutputFile::commit() {
  if (error_ == 0 && std::fflush(handle_.get()) != 0) error_ = errno;
  // Some file systems report a full disk only here.
  if (std::fclose(handle_.release()) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0 && written_path_ != path_ &&
      std::rename(written_path_.c_str(), path_.c_str()) != 0) {
    error_ = errno;
  }
  if (error_ == 0) return Status::ok();
  if (written_path_ != path_) unlink(written_path_.c_str());
  return no_file(path_, error_);
}

Status write_file(const std::string& path, std::string_view text) {
  Result<OutputFile> file = OutputFile::create(path);
  RECTO_RETURN_IF_ERROR(file.status());
  file.value().write(text);
  return file.value().commit();
}

bool is_file_of(const FileKind& kind, const std::string& path) {
  if (is_special(path)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string beginning(1024, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<std::size_t>(file.gcount()));
  return beginning.find(kind.mark) != std::string::npos;
}

Status check_overwrites_only(const FileKind& kind, const std::string& path) {
  std::error_code error;  // a missing file has no size
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes == 0 || is_special(path) || is_file_of(kind, path)) return Status::ok();
  const std::string name(kind.name);
  return Status::invalid_input(path + ": is a file already, and not " + name +
                               "; expected a new file, or " + name + " to replace");
}

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error)) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (!error) return Status::ok();
  return failure(path + kNoFolder, error.value());
}

// In a folder that is missing nothing is made, which would be in the way of other processes that
// try the same one: that it can be made is seen one level above.
Status try_folder(const std::string& path, const std::string& file) {
  std::error_code error;
  std::filesystem::path there = path;
  while (!there.empty() && !std::filesystem::exists(there, error)) {
    if (error) return failure(path + kNoFolder, error.value());
    there = there.parent_path();
  }
  if (there == path) {
    RECTO_RETURN_IF_ERROR(make_folder(path));  // says if it is none
    // Never committed, so it leaves nothing behind.
    return OutputFile::create(path + '/' + file).status();
  }
  std::string trial = (there / ".recto-XXXXXX").string();
  if (mkdtemp(trial.data()) == nullptr) return failure(path + kNoFolder, errno);
  rmdir(trial.c_str());
  return Status::ok();
}

Result<std::string> read_text_file(const std::string& path) {
  Result<std::string> text = read_input_file(path);
  RECTO_RETURN_IF_ERROR(text.status().in(path));
  return text;
}

std::string plain_file_name(std::string name) {
  for (char& c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '@' || c == '.';
    if (!is_plain) c = '-';
  }
  return name;
}

}  // namespace recto::experiments
