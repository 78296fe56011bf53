#include "experiments/support/text_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace recto::experiments {

Result<std::string> read_text_file(const std::string& path) {
  const auto reason = [&] { return Status::invalid_input(path + ": " + std::strerror(errno)); };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) return reason();
  if (std::error_code unknown; std::filesystem::is_character_file(path, unknown)) {
    return Status::invalid_input(path + ": expected a file, found a device, which may never end");
  }
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (const std::size_t size = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    text.append(chunk.data(), size);
  }
  if (std::ferror(file.get()) != 0) return reason();
  return text;
}

}  // namespace recto::experiments
