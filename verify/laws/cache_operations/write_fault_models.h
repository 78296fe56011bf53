#pragma once

// Fault models of KV writes: known faults, each as the pools that the reference's write would leave
// with it. A report names the faults that give exactly the observed pools.

#include <cstdint>
#include <span>
#include <string>

#include "core/attention_views.h"
#include "verify/explain/fault_report.h"
#include "verify/laws/cache_operations/kv_pools.h"

namespace recto::verify {

// One line: "slots" and the tokens' slots, with runs as "4 to 9"; of many runs, only the first
// ones.
std::string slots_text(std::span<const std::int64_t> slot_mapping);

// `write` is the call, on pools of any contents with the shape of `kv`. Pools with more than
// kFaultModelCodesMax codes are not tried.
FaultReport try_write_fault_models(const KvWriteInputs& write, const PagedKvView& kv,
                                   const WrittenPools& pools);

inline constexpr std::int64_t kFaultModelCodesMax = 1 << 20;

}  // namespace recto::verify
