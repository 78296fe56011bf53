#pragma once

// The same answer from both: the same code, and a reason where there is no value.

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

// `manager` is what the manager answered, and `model` what it should have.
inline StatusCode same_answer(const Status& manager, const Status& model) {
  RECTO_CHECK_EQ(Answer(manager), Answer(model));
  if (!manager.is_ok()) RECTO_CHECK(!manager.message().empty());
  if (manager.code() == StatusCode::kExhausted) {
    // What was needed and what there was are numbers.
    RECTO_CHECK_NE(manager.message().find_first_of("0123456789"), std::string::npos);
  }
  return manager.code();
}

}  // namespace recto::verify
