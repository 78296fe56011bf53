// For plain mode and for sanitizers that work by themselves; with MemorySanitizer, uses its shadow.

#include "verify/simt/canaries/memory_watch.h"

#if defined(RECTO_SIMT_TAINT)
#include <sanitizer/msan_interface.h>

// Only memory tainted on purpose is tainted: code that MemorySanitizer does not instrument writes
// memory of the C++ library.
extern "C" const char* __msan_default_options() {
  return "poison_in_malloc=0:poison_in_free=0:poison_in_dtor=0";
}
#endif

namespace recto::simt {

struct MemoryWatch::Watcher {};

MemoryWatch::MemoryWatch(Executor&) : watcher_(nullptr) {}
MemoryWatch::~MemoryWatch() = default;
void MemoryWatch::add(Buffer) {}
const DeviceMemory* MemoryWatch::memory() const { return nullptr; }
void MemoryWatch::divide(const void*, std::size_t, unsigned) {}

void MemoryWatch::taint([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(RECTO_SIMT_TAINT)
  __msan_poison(data, bytes);
#endif
}

std::optional<std::size_t> MemoryWatch::first_tainted([[maybe_unused]] const void* data,
                                                      [[maybe_unused]] std::size_t bytes) const {
#if defined(RECTO_SIMT_TAINT)
  const auto first = __msan_test_shadow(data, bytes);
  if (first >= 0) return static_cast<std::size_t>(first);
#endif
  return std::nullopt;
}

bool MemoryWatch::observes_accesses() { return false; }

}  // namespace recto::simt
