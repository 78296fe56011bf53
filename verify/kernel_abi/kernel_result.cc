#include "verify/kernel_abi/kernel_result.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "reference/rounding.h"

namespace recto::verify {
namespace {

// Rows of out in bytes.
struct RowBytes {
  std::size_t row = 0;     // of elements
  std::size_t stride = 0;  // from row to row
};

RowBytes row_bytes(const KernelRequest& request) {
  RectoAttentionCall call;
  std::memcpy(&call, request.call.data(), sizeof(call));
  const std::int64_t bytes = element_bytes(static_cast<ElementType>(call.out.type));
  return {.row = static_cast<std::size_t>(call.out.num_heads * call.out.head_dim * bytes),
          .stride = static_cast<std::size_t>(call.out.row_stride * bytes)};
}

}  // namespace

reference::AttentionResult attention_result(const PagedAttentionInputs& inputs,
                                            const KernelRequest& request,
                                            const std::vector<std::byte>& out,
                                            const std::vector<std::byte>& lse_ln) {
  const RowsView& q = inputs.q;
  reference::AttentionResult result(q.num_rows, q.num_heads, inputs.kv.v.head_dim);
  const RowBytes bytes = row_bytes(request);
  const auto row_elements = static_cast<std::size_t>(q.num_heads * inputs.kv.v.head_dim);
  for (std::size_t row = 0; row < static_cast<std::size_t>(q.num_rows); ++row) {
    reference::decode_row(out.data() + row * bytes.stride, q.type,
                          std::span(result.out).subspan(row * row_elements, row_elements));
  }
  for (std::size_t i = 0; i < result.lse_ln.size(); ++i) {
    float value = 0;
    std::memcpy(&value, lse_ln.data() + i * sizeof(float), sizeof(float));
    result.lse_ln[i] = value;
  }
  return result;
}

std::string gap_text(const KernelRequest& request, const std::vector<std::byte>& out) {
  const RowBytes bytes = row_bytes(request);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i % bytes.stride < bytes.row || out[i] == request.before[0][i]) continue;
    return fmt::format("a write between rows {} and {} of out, at byte {} of the gap of {}",
                       i / bytes.stride, i / bytes.stride + 1, i % bytes.stride - bytes.row,
                       bytes.stride - bytes.row);
  }
  return {};
}

}  // namespace recto::verify
