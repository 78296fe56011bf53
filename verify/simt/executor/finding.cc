#include "verify/simt/executor/finding.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>

namespace recto::simt {
namespace {

// In the order of Check.
constexpr const char* kCheckNames[] = {"invalid launch",
                                       "barrier divergence",
                                       "exit before a barrier",
                                       "warp mask",
                                       "shuffle source",
                                       "deadlock",
                                       "never ends",
                                       "out of bounds",
                                       "logical bounds",
                                       "misaligned",
                                       "write to read-only memory",
                                       "uninitialised read",
                                       "race",
                                       "race between thread blocks",
                                       "unfinished copy",
                                       "mbarrier",
                                       "assertion",
                                       "fault",
                                       "unobserved",
                                       "schedule dependence",
                                       "missing dependency"};
static_assert(std::size(kCheckNames) == static_cast<int>(Check::kMissingDependency) + 1);

// Farther away than this, an address has nothing to do with a piece of memory.
constexpr std::uintptr_t kNearBytes = std::uintptr_t{1} << 34;

// What a command prints; empty if it cannot be run.
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
// is not in the dialect: the kernel's line that calls __ldg, not one in __ldg.
std::string kernel_line(const std::string& lines) {
  std::istringstream stream(lines);
  std::string first;
  for (std::string line; std::getline(stream, line);) {
    line = tidied(std::move(line));
    if (first.empty()) first = line;
    if (line.find("verify/simt/dialect/simt_") == std::string::npos) return line;
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

const char* check_name(Check check) { return kCheckNames[static_cast<int>(check)]; }

std::string CodePlace::text() const {
  if (site.line > 0) return tidied(fmt::format("{}:{}", site.file, site.line));
  if (instruction == 0) return {};
  static std::mutex mutex;
  static std::map<std::uintptr_t, std::string> known;
  const std::lock_guard lock(mutex);
  std::string& text = known[instruction];
  if (text.empty()) text = symbolise(instruction);
  return text;
}

std::string address_text(std::uintptr_t address, const std::optional<NamedMemory>& before,
                         const std::optional<NamedMemory>& behind) {
  if (before && address - before->begin < before->bytes) {
    return fmt::format("{}+{}", before->name, address - before->begin);
  }
  const std::uintptr_t past_before = before ? address - before->begin - before->bytes : kNearBytes;
  const std::uintptr_t to_behind = behind ? behind->begin - address : kNearBytes;
  // The nearer piece of memory was probably meant.
  if (past_before < kNearBytes && past_before <= to_behind) {
    return fmt::format("memory {} bytes past the end of {} ({} bytes)", past_before, before->name,
                       before->bytes);
  }
  if (to_behind < kNearBytes) {
    return fmt::format("memory {} bytes before {} ({} bytes)", to_behind, behind->name,
                       behind->bytes);
  }
  return {};
}

std::string access_text(const char* verb, std::size_t bytes, const std::string& place) {
  return fmt::format("{} {} byte{} of {}", verb, bytes, bytes == 1 ? "" : "s", place);
}

std::string ThreadPlace::text() const {
  return fmt::format("thread {} (warp {}, lane {}) of block ({}, {}, {})", linear,
                     linear / kWarpSize, linear % kWarpSize, block_index.x, block_index.y,
                     block_index.z);
}

std::string Finding::text() const {
  std::string text = kernel.empty() ? fmt::format("{} in the host program", check_name(check))
                                    : fmt::format("{} in kernel '{}'", check_name(check), kernel);
  const auto add_party = [&text](const CodePlace& place, const std::optional<ThreadPlace>& thread,
                                 const std::string& what) {
    const std::string where = place.text();
    if (!where.empty()) text += where + ": ";
    if (thread) text += thread->text() + " ";
    text += what;
  };
  text += ": ";
  add_party(place, thread, what);
  if (!other_what.empty()) {
    text += "; ";
    add_party(other_place, other_thread, other_what);
  }
  return text;
}

}  // namespace recto::simt
