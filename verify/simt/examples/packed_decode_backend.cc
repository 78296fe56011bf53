#include "verify/simt/examples/packed_decode_backend.h"

#include <simt_foreign.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "reference/rounding.h"
#include "verify/simt/examples/testdata/packed_decode.h"

namespace recto::verify {
namespace {

at::ScalarType scalar_type(ElementType type) {
  return type == ElementType::kFp16 ? at::ScalarType::Half : at::ScalarType::Float;
}

std::optional<std::string> why_unsupported(const PagedAttentionInputs& inputs,
                                           const CallOptions& /*options*/) {
  const AttentionOptions& options = inputs.options;
  const KvTensorView& k = inputs.kv.k;
  if (k.layout != KvLayout::kPacked) return "not packed";
  if (k.type != inputs.q.type || (k.type != ElementType::kFp16 && k.type != ElementType::kFp32)) {
    return "neither half nor float";
  }
  if (k.head_dim != inputs.kv.v.head_dim || (k.head_dim != 64 && k.head_dim != 128)) {
    return "head size neither 64 nor 128";
  }
  if (k.block_size != 8 && k.block_size != 16 && k.block_size != 32) return "block size";
  if (options.softcap > 0 || options.window || !options.alibi_slopes.empty() ||
      !options.sinks.empty()) {
    return "an option";
  }
  if (inputs.q.num_rows != inputs.block_table.num_seqs)
    return "not exactly one query row per sequence";
  return std::nullopt;
}

// Memory for a result, NaN until it is written.
struct Result {
  Result(ElementType of, std::vector<std::int64_t> with_sizes)
      : type(of), sizes(std::move(with_sizes)) {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    bytes.assign(static_cast<std::size_t>(count * element_bytes(type)), std::byte{0xff});
  }
  torch::Tensor tensor() { return {bytes.data(), scalar_type(type), sizes}; }

  ElementType type;
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> bytes;
};

torch::Tensor pool_of(const KvTensorView& view) {
  return {const_cast<void*>(view.data),
          scalar_type(view.type),
          {view.num_blocks, view.num_kv_heads, view.head_dim, view.block_size}};
}

// The extension's grids are (heads, sequences, partitions).
BlockOwners sequences_of_grid(std::int64_t heads, std::int64_t sequences, std::int64_t parts) {
  BlockOwners owners;
  for (std::int64_t part = 0; part < parts; ++part) {
    const BlockOwners plane = owners_in_runs(heads, sequences);
    owners.insert(owners.end(), plane.begin(), plane.end());
  }
  return owners;
}

reference::AttentionResult run(simt::Executor& executor, const PackedDecodeHow& how,
                               const PagedAttentionInputs& inputs) {
  const std::int64_t seqs = inputs.q.num_rows;
  const std::int64_t heads = inputs.q.num_heads;
  const std::int64_t dim = inputs.q.head_dim;
  const std::int64_t longest =
      std::max<std::int64_t>(1, *std::ranges::max_element(inputs.context_length));
  const std::int64_t parts =
      how.partition_size > 0 ? (longest + how.partition_size - 1) / how.partition_size : 1;
  Result out(inputs.q.type, {seqs, heads, dim});
  Result exp_sums(ElementType::kFp32, {seqs, heads, parts});
  Result max_logits(ElementType::kFp32, {seqs, heads, parts});
  Result partial(ElementType::kFp32, {seqs, heads, parts, dim});
  torch::Tensor query(const_cast<void*>(inputs.q.data), scalar_type(inputs.q.type),
                      {seqs, heads, dim});
  torch::Tensor keys = pool_of(inputs.kv.k);
  torch::Tensor values = pool_of(inputs.kv.v);
  torch::Tensor tables(const_cast<std::int32_t*>(inputs.block_table.data), at::ScalarType::Int,
                       {seqs, inputs.block_table.row_stride});
  torch::Tensor lengths(const_cast<std::int32_t*>(inputs.context_length.data()),
                        at::ScalarType::Int, {seqs});
  torch::Tensor tensors[] = {out.tensor(), exp_sums.tensor(), max_logits.tensor(),
                             partial.tensor()};
  DeviceCall call(executor);
  call.add_read("query", inputs.q);
  call.add_contexts(inputs.kv, inputs.block_table, inputs.context_length,
                    sequences_of_grid(heads, seqs, parts));
  call.add_write("out", std::span(out.bytes));
  call.add_write("exp_sums", std::span(exp_sums.bytes));
  call.add_write("max_logits", std::span(max_logits.bytes));
  call.add_write("tmp_out", std::span(partial.bytes));
  call.run(how.observer, [&](simt::Stream& stream) {
    const simt_foreign::StreamScope scope(stream);
    packed_decode(tensors[0], tensors[1], tensors[2], tensors[3], query, keys, values,
                  inputs.options.scale, tables, lengths, inputs.kv.k.block_size, longest,
                  how.partition_size, how.half_sums);
    return Status::ok();
  });
  if (how.look) how.look(out.bytes);
  reference::AttentionResult result(seqs, heads, dim);
  reference::decode_row(out.bytes.data(), out.type, result.out);
  return result;
}

}  // namespace

Backend packed_decode_backend(simt::Executor& executor, const PackedDecodeHow& how) {
  Backend backend;
  backend.name = how.partition_size > 0 ? "packed-decode-partitioned" : "packed-decode";
  if (how.half_sums) backend.name += "-half-sums";
  backend.refusal = why_unsupported;
  backend.attend = always_done(
      [&executor, how](const PagedAttentionInputs& inputs) { return run(executor, how, inputs); });
  // All third-party kernels are judged by one profile.
  backend.numerics_of = [](const PagedAttentionInputs& inputs, const CallOptions&) {
    return reference::third_party_numerics(inputs.q.type, inputs.kv.k.type);
  };
  return backend;
}

}  // namespace recto::verify
