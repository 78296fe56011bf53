#pragma once

// What a kernel library must be before it is called, in words that tell its author what to mend.

#include <string>

#include "core/status.h"
#include "verify/kernel_abi/kernel_mailbox.h"

namespace recto::verify {

// The absolute path of a file. Invalid input if there is none, or it is no plain file.
Result<std::string> library_file(const std::string& path);

// What came of loading it, once the library's process has answered: invalid input if there is no
// table, or none that this recto can use.
Status check_loaded(const KernelMailbox& mailbox);

}  // namespace recto::verify
