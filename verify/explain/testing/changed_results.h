#pragma once

// A faulty implementation for tests: the right results, changed.

#include <functional>

#include "reference/numerics.h"
#include "verify/qa/canary.h"

namespace recto::verify {

using Change = std::function<void(const PagedAttentionInputs&, reference::AttentionResult&)>;

// Judged with the bounds of a library.
inline Backend changing(const Change& change) {
  Backend backend = canary_backend("changing", Fault::kNone);
  backend.attend = always_done([right = backend, change](const PagedAttentionInputs& inputs) {
    reference::AttentionResult result = result_of(right.call(inputs));
    change(inputs, result);
    return result;
  });
  backend.numerics_of = [](const PagedAttentionInputs& inputs, const CallOptions&) {
    return reference::third_party_numerics(inputs.q.type, inputs.kv.k.type);
  };
  return backend;
}

}  // namespace recto::verify
