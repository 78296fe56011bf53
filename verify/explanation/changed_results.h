#pragma once

// A wrong implementation for tests: the right results, changed.

#include <functional>

#include "reference/numerics.h"
#include "verify/qa/canary.h"

namespace recto::verify {

using Change = std::function<void(const PagedAttentionInputs&, reference::AttentionResult&)>;

// Judged as a library is.
inline Backend changing(const Change& change) {
  Backend backend = canary_backend("changing", Fault::kNone);
  backend.run = [run = backend.run, change](const PagedAttentionInputs& inputs) {
    reference::AttentionResult result = run(inputs);
    change(inputs, result);
    return result;
  };
  backend.numerics = [](const PagedAttentionInputs& inputs) {
    return reference::third_party_numerics(inputs.q.type, inputs.kv.k.type);
  };
  return backend;
}

}  // namespace recto::verify
