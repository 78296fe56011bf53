#pragma once

// A call as a kernel library sees it: everything that the views of core/ refer to, copied into
// guarded buffers, and the call's struct with the addresses of those buffers.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/attention_views.h"
#include "core/status.h"
#include "verify/cases/gaps.h"
#include "verify/cases/poison.h"
#include "verify/laws/cache_operations/narrow_offsets.h"
#include "verify/library/guarded_arena.h"
#include "verify/library/kernel_mailbox.h"
#include "verify/library/recto_kernel.h"

namespace recto::verify {

// Equal keys mean that the calls are the same to a library.
struct RequestKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend auto operator<=>(const RequestKey&, const RequestKey&) = default;
};

// The layout and previous contents of a call's results.
struct ResultMemory {
  std::uint32_t stale = kStaleNaN;
  std::optional<RowGaps> gaps = {};  // of out; if not given, those of q
};

// A buffer that a call writes, as it is in the arena before the call.
struct WrittenBuffer {
  GuardedBuffer buffer = {};
  // Set for a pool so large that only its blocks are checked.
  std::optional<FarBlocks> far = {};
};

struct KernelRequest {
  KernelFunction function = KernelFunction::kDecode;
  std::vector<std::byte> call;  // RectoAttentionCall or RectoKvWriteCall
  RequestKey key;
  GuardedBuffer message;
  // Attention: out and lse_ln; KV write: K and V.
  WrittenBuffer written[2];
  std::vector<std::byte> before[2];  // kernel_result.h: contents_of()
  bool is_distant = false;           // some pool has far blocks
};

// Precondition: the inputs pass the gate of core/. Gaps of out are filled with `results.stale`,
// too. The inputs determine which end of each buffer is guarded. Exhausted if the arena has no
// room. Of pools larger than 1 GiB, only blocks are passed, far from each other. Zeros that take no
// memory fill the space between them and, as far as 32-bit offsets can reach, before pools that are
// written.
Result<KernelRequest> request_attention(KernelFunction function, const PagedAttentionInputs& inputs,
                                        const ResultMemory& results, GuardedArena& arena);
Result<KernelRequest> request_kv_write(const KvWriteInputs& inputs, GuardedArena& arena);

}  // namespace recto::verify
