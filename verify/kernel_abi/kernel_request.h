#pragma once

// A call as a kernel library sees it: everything that the views of core/ name, copied into guarded
// buffers, and the call's struct with those buffers' addresses.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/attention_views.h"
#include "core/status.h"
#include "verify/kernel_abi/guarded_arena.h"
#include "verify/kernel_abi/kernel_mailbox.h"
#include "verify/kernel_abi/recto_kernel.h"
#include "verify/kv_moves/narrow_offsets.h"

namespace recto::verify {

// What two calls have in common that are the same to a library.
struct RequestKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend auto operator<=>(const RequestKey&, const RequestKey&) = default;
};

// What a call writes, as the arena has it before the call.
struct WrittenBuffer {
  GuardedBuffer buffer = {};
  // Of a pool so large that its blocks alone are looked at.
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
  bool is_distant = false;           // some pool is one of far blocks
};

// The inputs have passed the gate of core/. Rows of out have the gap between them that rows of q
// have; both hold `stale` (verify/problems/stale_memory.h). Which end of a buffer is guarded
// follows from the inputs. Exhausted where the arena has no room for it. Of pools of more than a
// GiB only blocks are handed over, far from each other: zeros that take no memory lie between them,
// and before pools that are written, as far as offsets of 32 bits lead.
Result<KernelRequest> request_attention(KernelFunction function, const PagedAttentionInputs& inputs,
                                        std::uint32_t stale, GuardedArena& arena);
Result<KernelRequest> request_kv_write(const KvWriteInputs& inputs, GuardedArena& arena);

}  // namespace recto::verify
