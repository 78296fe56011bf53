#pragma once

// What a library wrote, read back.

#include <cstddef>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "reference/paged_attention.h"
#include "verify/kernel_abi/kernel_request.h"

namespace recto::verify {

// Of request_attention(..., inputs, ...); `out` and `lse_ln` are the buffers after the call. An
// element that nobody wrote is NaN.
reference::AttentionResult attention_result(const PagedAttentionInputs& inputs,
                                            const KernelRequest& request,
                                            const std::vector<std::byte>& out,
                                            const std::vector<std::byte>& lse_ln);

// What it holds: all of it, or of far blocks one after the other.
std::vector<std::byte> contents_of(const WrittenBuffer& written);
// The same to where the caller's pool lies.
void put_back(const WrittenBuffer& written, const std::vector<std::byte>& contents, void* pool);

// The first write between far blocks, or before them, in words, or nothing.
std::string stray_text(const KernelRequest& request, const GuardedArena& arena);

// The first byte between the rows of out that is not as it was, in words, or nothing.
std::string gap_text(const KernelRequest& request, const std::vector<std::byte>& out);

}  // namespace recto::verify
