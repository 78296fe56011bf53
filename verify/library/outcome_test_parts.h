#pragma once

// The parts of a call's outcome, for tests.

#include <string>
#include <variant>

#include "verify/backend.h"

namespace recto::verify {

inline bool is_done(const CallOutcome& outcome) { return std::holds_alternative<Done>(outcome); }
inline bool is_failed(const CallOutcome& outcome) {
  return std::holds_alternative<Failed>(outcome);
}
inline bool is_unsupported(const CallOutcome& outcome) {
  return std::holds_alternative<Unsupported>(outcome);
}

// The reason, or the message; empty if the call was done.
inline std::string text_of(const CallOutcome& outcome) {
  if (const auto* refused = std::get_if<Unsupported>(&outcome)) return refused->reason;
  const auto* failed = std::get_if<Failed>(&outcome);
  return failed == nullptr ? "" : failed->message;
}

// The kind of a failure.
inline std::string kind_of(const CallOutcome& outcome) { return std::get<Failed>(outcome).kind; }
inline bool may_be_machine(const CallOutcome& outcome) {
  return std::get<Failed>(outcome).may_be_machine;
}

}  // namespace recto::verify
