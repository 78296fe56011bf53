#include "core/input_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

namespace recto {
namespace {

Status system_reason(int error) { return Status::invalid_input(std::strerror(error)); }

// Named pipes are in an ordinary file system; anonymous ones are in pipefs.
bool has_name(int pipe) {
  struct statfs system = {};
  return fstatfs(pipe, &system) != 0 || system.f_type != PIPEFS_MAGIC;
}

// The reason why the open file cannot be read to its end, if there is one.
std::optional<Status> why_refused(int descriptor) {
  struct stat info = {};
  if (fstat(descriptor, &info) != 0) return system_reason(errno);
  if (S_ISREG(info.st_mode)) return std::nullopt;
  if (S_ISDIR(info.st_mode)) return system_reason(EISDIR);
  const auto found = [](const std::string& what) {
    return Status::invalid_input("expected a file, found " + what);
  };
  if (!S_ISFIFO(info.st_mode)) return found("a device, whose data may never end");
  if (has_name(descriptor)) return found("a named pipe, which may never get a writer");
  return std::nullopt;
}

}  // namespace

Result<InputFile> open_input_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENXIO) {
    return Status::invalid_input("expected a file, found a socket, or a missing device");
  }
  if (descriptor < 0) return system_reason(errno);
  InputFile file(fdopen(descriptor, "rb"), std::fclose);
  if (file == nullptr) {
    const int error = errno;
    close(descriptor);
    return system_reason(error);
  }
  if (const auto refused = why_refused(descriptor)) return *refused;
  // Only opening must not block. Reading may: the writer of a pipe may take its time.
  if (fcntl(descriptor, F_SETFL, 0) != 0) return system_reason(errno);
  return file;
}

Result<std::string> read_input_file(const std::string& path) {
  const Result<InputFile> file = open_input_file(path);
  RECTO_RETURN_IF_ERROR(file.status());
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (const std::size_t size = std::fread(chunk.data(), 1, chunk.size(), file.value().get())) {
    text.append(chunk.data(), size);
  }
  if (std::ferror(file.value().get()) != 0) return system_reason(errno);
  return text;
}

}  // namespace recto
