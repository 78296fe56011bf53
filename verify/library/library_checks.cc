#include "verify/library/library_checks.h"

#include <elf.h>
#include <errno.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>

#include "core/contract.h"
#include "verify/indented.h"
#include "verify/library/recto_kernel.h"

namespace recto::verify {
namespace {

// The table of version 1.0: up to its last function.
constexpr std::uint64_t kTableBytesMin =
    offsetof(RectoKernelTable, kv_write) + sizeof(RectoKernelTable::kv_write);

Status check_memories(const LoadedTable& table, std::uint32_t handed_over) {
  if ((table.memories & handed_over) != 0) return Status::ok();
  if (table.memories == kRectoDeviceMemory) {
    return Status::invalid_input(fmt::format(
        "memories: expected kRectoHostMemory ({}), got kRectoDeviceMemory ({}) alone: this program "
        "has no device memory; recto_on_gpu (//experiments:recto_on_gpu) has it",
        static_cast<int>(kRectoHostMemory), static_cast<int>(kRectoDeviceMemory)));
  }
  return Status::invalid_input(fmt::format(
      "memories: expected kRectoHostMemory ({}), kRectoDeviceMemory ({}) or both, got "
      "{}",
      static_cast<int>(kRectoHostMemory), static_cast<int>(kRectoDeviceMemory), table.memories));
}

Status check_table(const LoadedTable& table) {
  if (table.abi_major != RECTO_KERNEL_ABI_MAJOR) {
    return Status::invalid_input(
        fmt::format("abi_major: expected {}, got {}: build the library with this recto's header",
                    RECTO_KERNEL_ABI_MAJOR, table.abi_major));
  }
  if (table.struct_bytes < kTableBytesMin) {
    return Status::invalid_input(
        fmt::format("struct_bytes: expected sizeof(RectoKernelTable), at least {}, got {}",
                    kTableBytesMin, table.struct_bytes));
  }
  if (table.name[0] == '\0') {
    return Status::invalid_input("name: expected a name for tables, got nothing");
  }
  if (std::ranges::any_of(std::string_view(table.name), is_control_character)) {
    return Status::invalid_input("name: expected text, got a control character");
  }
  if ((table.features & ~std::uint64_t{kRectoWithoutLseLn}) != 0) {
    return Status::invalid_input(
        fmt::format("features: expected kRectoWithoutLseLn ({}) or 0, got {}",
                    static_cast<int>(kRectoWithoutLseLn), table.features));
  }
  if (std::ranges::count(table.has_function, true) == 0) {
    return Status::invalid_input("the table: expected decode, prefill or kv_write; all are null");
  }
  return Status::ok();
}

// The loader maps segments without checking the file's size; accessing a page beyond the file's end
// raises SIGBUS. Anything but a 64-bit ELF file is left to the loader to refuse.
Status check_whole(const std::string& path, std::uint64_t file_bytes) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header = {};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return Status::ok();
  }
  file.seekg(static_cast<std::streamoff>(std::min<std::uint64_t>(header.e_phoff, file_bytes)));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    file.read(reinterpret_cast<char*>(&segment), sizeof segment);
    const bool is_inside =
        file && segment.p_offset <= file_bytes && segment.p_filesz <= file_bytes - segment.p_offset;
    if (is_inside || (file && segment.p_type != PT_LOAD)) continue;
    return Status::invalid_input(fmt::format(
        "{}: expected a whole shared library; the file ends early, at byte {}", path, file_bytes));
  }
  return Status::ok();
}

}  // namespace

Result<std::string> library_file(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) {
    return Status::invalid_input(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(about.st_mode)) {
    return Status::invalid_input(fmt::format("{}: expected a shared library, got {}", path,
                                             S_ISDIR(about.st_mode) ? "a folder" : "no file"));
  }
  RECTO_RETURN_IF_ERROR(check_whole(path, static_cast<std::uint64_t>(about.st_size)));
  const std::unique_ptr<char, decltype(&free)> absolute(realpath(path.c_str(), nullptr), &free);
  if (absolute == nullptr) {
    return Status::invalid_input(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  return std::string(absolute.get());
}

Status check_loaded(const KernelMailbox& mailbox) {
  switch (mailbox.load_step) {
    case LoadStep::kNotLoaded:
      return Status::invalid_input(fmt::format("not a loadable shared library: {}", mailbox.text));
    case LoadStep::kNoSymbol:
      return Status::invalid_input(
          "exports no recto_kernel_table: expected `const RectoKernelTable* "
          "recto_kernel_table(void)` of recto_kernel.h, in C++ within extern \"C\"");
    case LoadStep::kNoTable:
      return Status::invalid_input("recto_kernel_table() returned null");
    case LoadStep::kNoDevice:
      return Status::invalid_input(
          fmt::format("needs device memory, but there is no GPU: {}", mailbox.text));
    case LoadStep::kLoaded:
      RECTO_RETURN_IF_ERROR(check_table(mailbox.table));
      return check_memories(mailbox.table, mailbox.memories);
    case LoadStep::kLoading:
    case LoadStep::kAskingTable:
    case LoadStep::kBeginning:
      break;
  }
  RECTO_UNREACHABLE("an answer before it was loaded");
}

}  // namespace recto::verify
