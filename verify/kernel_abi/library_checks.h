#pragma once

// What a kernel library must be before it is called, in words that tell its author what to mend.

#include <string>

#include "core/status.h"
#include "verify/kernel_abi/kernel_mailbox.h"

namespace recto::verify {

// Such as a terminal obeys: none belongs into what is shown of a library.
inline bool is_control_character(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code < 0x20 || code == 0x7f;
}

// The absolute path of a file. Invalid input if there is none, or it is no plain file.
Result<std::string> library_file(const std::string& path);

// What came of loading it, once the library's process has answered: invalid input if there is no
// table, or none that this recto can use.
Status check_loaded(const KernelMailbox& mailbox);

}  // namespace recto::verify
