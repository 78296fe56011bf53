#include "verify/simt/executor/symbolise.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>

namespace recto::simt {
namespace {

// What a command prints, or nothing if it cannot be run.
std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string output;
  std::array<char, 512> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
  pclose(pipe);
  return output;
}

// Turns "/a/b/./cuda/kernels/x.cuh:12 (discriminator 3)" into the file's name in the build system.
std::string tidied(std::string line) {
  line = line.substr(0, line.find_first_of(" \n"));
  for (const char* root : {"/proc/self/cwd/", "/./"}) {
    const std::size_t at = line.rfind(root);
    if (at != std::string::npos) line = line.substr(at + std::string(root).size());
  }
  if (line.rfind("./", 0) == 0) line = line.substr(2);
  const std::size_t sandbox = line.rfind("/execroot/recto/");
  return sandbox == std::string::npos ? line : line.substr(sandbox + 16);
}

// `lines` are a call and those into which it was inlined, innermost first. Returns the first that
// is neither in the dialect nor in the headers for foreign sources: the kernel's line that calls
// __ldg, not one in __ldg.
std::string kernel_line(const std::string& lines) {
  std::istringstream stream(lines);
  std::string first;
  for (std::string line; std::getline(stream, line);) {
    line = tidied(std::move(line));
    if (first.empty()) first = line;
    const auto is_of = [&line](const char* header) {
      return line.find(header) != std::string::npos;
    };
    if (!is_of("verify/simt/dialect/simt_") && !is_of("verify/simt/foreign/simt_foreign")) {
      return line;
    }
  }
  return first;
}

// The program's own name may be relative to a folder that is no longer the current one.
std::string file_of(const Dl_info& module) {
  const std::string name = module.dli_fname;
  if (name.find(".so") != std::string::npos) return name;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? name : program.string();
}

std::string symbolise(std::uintptr_t instruction) {
  Dl_info module;
  if (dladdr(reinterpret_cast<void*>(instruction), &module) == 0) {
    return fmt::format("{:#x}", instruction);
  }
  const std::uintptr_t offset = instruction - reinterpret_cast<std::uintptr_t>(module.dli_fbase);
  const std::string file = file_of(module);
  // This is a return address: one less lies within the call.
  const std::string line =
      kernel_line(output_of(fmt::format("addr2line -ie '{}' {:#x} 2>/dev/null", file, offset - 1)));
  return line.empty() || line[0] == '?' ? fmt::format("{}+{:#x}", file, offset) : line;
}

}  // namespace

std::string place_text(const CodePlace& place) {
  if (place.site.line > 0) return tidied(fmt::format("{}:{}", place.site.file, place.site.line));
  if (place.instruction == 0) return {};
  static std::mutex mutex;
  static std::map<std::uintptr_t, std::string> known;
  const std::lock_guard lock(mutex);
  std::string& text = known[place.instruction];
  if (text.empty()) text = symbolise(place.instruction);
  return text;
}

}  // namespace recto::simt
