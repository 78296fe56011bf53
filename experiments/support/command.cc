#include "experiments/support/command.h"

namespace recto::experiments {

int exit_code(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kInvalidInput:
      return 2;
    case StatusCode::kExhausted:
    case StatusCode::kFailed:
      return 1;
  }
  return 1;
}

}  // namespace recto::experiments
