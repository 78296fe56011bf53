#pragma once

// Reads back what a library wrote.

#include <cstddef>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "reference/paged_attention.h"
#include "verify/library/kernel_request.h"

namespace recto::verify {

// The result of request_attention(..., inputs, ...); `out` and `lse_ln` are the buffers after the
// call. Elements that were not written are NaN.
reference::AttentionResult attention_result(const PagedAttentionInputs& inputs,
                                            const KernelRequest& request,
                                            const std::vector<std::byte>& out,
                                            const std::vector<std::byte>& lse_ln);

// The contents of the buffer: all of it or, with far blocks, only the blocks, concatenated.
std::vector<std::byte> contents_of(const WrittenBuffer& written);
// Copies these contents back to the caller's pool.
void put_back(const WrittenBuffer& written, const std::vector<std::byte>& contents, void* pool);

// Restores the buffers that the call writes to their contents before it.
void put_back_before(const KernelRequest& request);

// Describes the first write between or before far blocks; empty if there is none.
std::string stray_text(const KernelRequest& request, const GuardedArena& arena);

// Describes the first changed byte between the rows or heads of out; empty if there is none.
std::string gap_text(const KernelRequest& request, const std::vector<std::byte>& out);

}  // namespace recto::verify
