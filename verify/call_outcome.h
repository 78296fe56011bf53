#pragma once

// What one call of a backend comes to, as a value: a failed call is an outcome like any other.

#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "reference/paged_attention.h"

namespace recto::verify {

// Kinds of failure, beside those that a kernel library has ("SIGSEGV", "exit", "wrong memory",
// ...).
inline constexpr const char* kWrongNumbers = "wrong numbers";
inline constexpr const char* kTimeOut = "time-out";
inline constexpr const char* kThrown = "thrown";  // a broken contract, or another exception

// The backend does not take such a call, and computed nothing.
struct Unsupported {
  std::string reason;  // one line
};

// The backend takes the call, and gave no result.
struct Failed {
  std::string kind;
  std::string message;  // what happened; several lines
  // It ran into its time limit where the machine had much else to do: it counts if it does so
  // again.
  bool may_be_machine = false;
};

struct Done {
  reference::AttentionResult result = {};  // empty after an operation on the KV cache
  std::string printed = {};                // to standard output and standard error, if known
};

using CallOutcome = std::variant<Unsupported, Failed, Done>;

// The call's outcome. An exception that it throws is a failure of the kind kThrown: kernels on the
// executor break a contract where a check finds something.
CallOutcome guarded(const std::function<CallOutcome()>& call);

// The result of a call that must not fail: requires Done.
reference::AttentionResult result_of(CallOutcome outcome);

// `act` as a call that never fails and has no result.
template <typename Act>
auto done_after(Act act) {
  return [act = std::move(act)](const auto&... arguments) -> CallOutcome {
    act(arguments...);
    return Done{};
  };
}

// "it printed", and the lines, in which control characters but newlines and tabs are escaped; empty
// if there are none.
std::string printed_text(const std::string& printed);

}  // namespace recto::verify
