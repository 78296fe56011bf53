#pragma once

// Checks that manager and model answer alike: the same code, and a message where there is no value.

#include <ostream>
#include <string>

#include "core/contract.h"
#include "core/status.h"

namespace recto::verify {

// A status as comparisons print it.
struct Answer {
  StatusCode code = StatusCode::kOk;
  std::string message = {};

  explicit Answer(const Status& status) : code(status.code()), message(status.message()) {}

  friend bool operator==(const Answer& a, const Answer& b) { return a.code == b.code; }
  friend std::ostream& operator<<(std::ostream& out, const Answer& answer) {
    switch (answer.code) {
      case StatusCode::kOk:
        return out << "ok";
      case StatusCode::kInvalidInput:
        return out << "invalid input (" << answer.message << ")";
      case StatusCode::kExhausted:
        return out << "exhausted (" << answer.message << ")";
      case StatusCode::kFailed:
        return out << "failed (" << answer.message << ")";
    }
    return out;
  }
};

// `manager` is the manager's answer, and `model` the expected one.
inline StatusCode same_answer(const Status& manager, const Status& model) {
  RECTO_CHECK_EQ(Answer(manager), Answer(model));
  if (!manager.is_ok()) RECTO_CHECK(!manager.message().empty());
  if (manager.code() == StatusCode::kExhausted) {
    // The message says in numbers what was needed and what there was.
    RECTO_CHECK_NE(manager.message().find_first_of("0123456789"), std::string::npos);
  }
  return manager.code();
}

}  // namespace recto::verify
