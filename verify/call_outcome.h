#pragma once

// The outcome of one call of a backend, as a value: a failed call is an outcome like any other.

#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "reference/paged_attention.h"

namespace recto::verify {

// Kinds of failure, beside those of a kernel library ("SIGSEGV", "exit", "wrong memory", ...).
inline constexpr const char* kWrongNumbers = "wrong numbers";
inline constexpr const char* kTimeOut = "time-out";
inline constexpr const char* kThrown = "thrown";  // a broken contract, or another exception

// The backend does not support such a call, and computed nothing.
struct Unsupported {
  std::string reason;  // one line
};

// The backend supports the call, but gave no result.
struct Failed {
  std::string kind;
  std::string message;  // what happened; several lines
  // The call exceeded its time limit on a busy machine: it counts only if that happens again.
  bool may_be_machine = false;
};

struct Done {
  // Empty after an operation on the KV cache; its lse_ln alone, if the backend gives none.
  reference::AttentionResult result = {};
  std::string printed = {};  // to standard output and standard error, if known
};

using CallOutcome = std::variant<Unsupported, Failed, Done>;

// Makes the call and returns its outcome. An exception is a failure of the kind kThrown: on the
// executor, a kernel breaks a contract where a check finds something.
CallOutcome guarded(const std::function<CallOutcome()>& call);

// The result of a call that must not fail: requires Done.
reference::AttentionResult result_of(CallOutcome outcome);

// Wraps `act` as a call that never fails and has no result.
template <typename Act>
auto done_after(Act act) {
  return [act = std::move(act)](const auto&... arguments) -> CallOutcome {
    act(arguments...);
    return Done{};
  };
}

// "it printed" and the printed lines, with control characters other than newlines and tabs escaped;
// empty if nothing was printed.
std::string printed_text(const std::string& printed);

}  // namespace recto::verify
