#pragma once

// What a library's call came to: its answer, or what ended its process, in words.

#include <cstdint>
#include <string>

#include "verify/kernel_abi/kernel_process.h"
#include "verify/kernel_abi/kernel_request.h"

namespace recto::verify {

struct CallOutcome {
  enum class Kind : std::uint8_t { kDone, kUnsupported, kWrong };

  Kind kind = Kind::kDone;
  std::string text = {};     // the library's reason, or what went wrong; several lines
  std::string failure = {};  // of a wrong one, the kind: "SIGSEGV", "time-out", "wrong memory", ...
  // Of a wrong one: it ran into its limit, and that may be the machine's fault. It is wrong only if
  // it does so again, after the same calls.
  bool is_perhaps_machine = false;
  std::string printed = {};  // of one that is done; `text` of a wrong one has it
};

// "it printed", and the lines, in which control characters but newlines and tabs are escaped; empty
// if there are none.
std::string printed_text(const std::string& printed);

// The outcome of the process's last call.
CallOutcome outcome_of(const KernelRequest& request, const KernelAnswer& answer,
                       KernelProcess& process);

// Of loading, too: what ended the process instead of an answer.
CallOutcome outcome_of_end(const KernelAnswer& answer, KernelProcess& process);

}  // namespace recto::verify
