#pragma once

// Writing K and V, judged by the reference's write over whole pools, in the shape of a law: what is
// written, and that nothing else is.

#include <functional>
#include <optional>
#include <string>

#include "core/attention_views.h"
#include "verify/law.h"

namespace recto::verify {

struct KvWriter {
  std::string backend;  // whose name the law is put to; it skips all others
  std::function<std::optional<std::string>(const KvWriteInputs&)> why_unsupported;
  std::function<void(const KvWriteInputs&)> write;
};

// "kv_write", on the tokens of verify/kv_moves/kv_write_case.h, in pools near and distant
// (verify/kv_moves/tried_pools.h).
Law kv_write_law(const KvWriter& writer);

}  // namespace recto::verify
