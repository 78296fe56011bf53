#pragma once

// Checks a kernel library before it is called; messages tell its author what to fix.

#include <string>

#include "core/status.h"
#include "verify/library/kernel_mailbox.h"

namespace recto::verify {

// The absolute path of a library file. Invalid input if it does not exist or is not a regular file.
Result<std::string> library_file(const std::string& path);

// Checks the result of loading, after the library's process has answered: invalid input if there is
// no table, or none that this recto can use.
Status check_loaded(const KernelMailbox& mailbox);

}  // namespace recto::verify
