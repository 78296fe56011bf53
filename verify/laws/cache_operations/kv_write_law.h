#pragma once

// A law for writing K and V. It compares whole pools with the reference's write: the right slots
// are written, and nothing else is.

#include <functional>
#include <string>

#include "core/attention_views.h"
#include "verify/law.h"

namespace recto::verify {

struct KvWriter {
  std::string backend;  // the only backend to which the law applies, by name
  std::function<CallOutcome(const KvWriteInputs&)> write;
};

// "kv_write", on the tokens of verify/laws/cache_operations/kv_write_case.h, in near and distant
// pools (verify/laws/cache_operations/tried_pools.h), and after another write of equal sizes.
Law kv_write_law(const KvWriter& writer);

}  // namespace recto::verify
