#pragma once

// Status reports bad input and failures of the outside world. A message names the file, line and
// field, and what was expected there; none of these is ever an exception.

#include <ostream>
#include <string>
#include <utility>
#include <variant>

#include "core/contract.h"

namespace recto {

enum class StatusCode {
  kOk,
  kInvalidInput,  // a flag, file or field is wrong: the caller can mend it (exit code 2)
  kExhausted,     // a bounded resource, such as a pool of blocks, is too small
  kFailed,        // the run failed: disk full, device lost (exit code 1)
};

class [[nodiscard]] Status {
 public:
  Status() = default;

  static Status ok() { return {}; }
  static Status invalid_input(std::string message) {
    return Status(StatusCode::kInvalidInput, std::move(message));
  }
  static Status exhausted(std::string message) {
    return Status(StatusCode::kExhausted, std::move(message));
  }
  static Status failed(std::string message) {
    return Status(StatusCode::kFailed, std::move(message));
  }

  bool is_ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // Returns the same failure with `context` (a file name, a flag) prepended to the message.
  Status in(const std::string& context) const {
    return is_ok() ? Status() : Status(code_, context + ": " + message_);
  }

  friend bool operator==(const Status&, const Status&) = default;

 private:
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline std::ostream& operator<<(std::ostream& out, const Status& status) {
  return out << (status.is_ok() ? std::string("ok") : status.message());
}

// A value, or the reason why there is no value.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(const T& value) : held_(value) {}
  Result(T&& value) : held_(std::move(value)) {}
  Result(Status failure) : held_(std::move(failure)) {
    RECTO_CHECK(!std::get<Status>(held_).is_ok());
  }

  bool is_ok() const { return std::holds_alternative<T>(held_); }
  Status status() const { return is_ok() ? Status() : std::get<Status>(held_); }

  const T& value() const& {
    if (!is_ok()) fail();
    return std::get<T>(held_);
  }
  T& value() & {
    if (!is_ok()) fail();
    return std::get<T>(held_);
  }
  T&& value() && {
    if (!is_ok()) fail();
    return std::get<T>(std::move(held_));
  }

 private:
  [[noreturn]] void fail() const {
    internal::fail_condition(__FILE__, __LINE__, "Result holds a value", status().message());
  }

  std::variant<T, Status> held_;
};

}  // namespace recto

// Returns a failure to the caller.
#define RECTO_RETURN_IF_ERROR(expression)           \
  do {                                              \
    ::recto::Status recto_status = (expression);    \
    if (!recto_status.is_ok()) return recto_status; \
  } while (false)
