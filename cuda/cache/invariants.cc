#include "cuda/cache/invariants.h"

#include "cuda/cache/cache_core.h"
#include "cuda/cache/invariant_parts.h"

namespace recto::cache {

Status check_invariants(const BlockManager& manager) {
  const CacheCore& core = manager.core();
  RECTO_RETURN_IF_ERROR(check_sequences(core));
  RECTO_RETURN_IF_ERROR(check_holdings(core, core.device, "device"));
  RECTO_RETURN_IF_ERROR(check_holdings(core, core.host, "host"));
  return check_index(core);
}

}  // namespace recto::cache
