#pragma once

// Faults that writes of K and V have had before, each as the pools that the reference's write would
// leave with it: known of a wrong write are those that leave just what was seen.

#include <cstdint>
#include <span>
#include <string>

#include "core/attention_views.h"
#include "verify/explain/fault_report.h"
#include "verify/laws/cache_operations/kv_pools.h"

namespace recto::verify {

// "slots", and where the tokens go: runs as "4 to 9", and of many parts the first ones. A line.
std::string slots_text(std::span<const std::int64_t> slot_mapping);

// `write` is the call, on pools of any contents with the shape of `kv`. Larger pools than
// kFaultModelCodesMax are left out.
FaultReport try_write_fault_models(const KvWriteInputs& write, const PagedKvView& kv,
                                   const WrittenPools& pools);

inline constexpr std::int64_t kFaultModelCodesMax = 1 << 20;

}  // namespace recto::verify
