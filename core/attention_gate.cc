#include "core/attention_gate.h"

#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "core/refusal.h"

namespace recto {
namespace {

// Rows and cache have the same type; or 16-bit rows meet an fp8 cache; or fp32 rows are written,
// into a cache of any type.
bool may_meet(ElementType rows, ElementType cache, Access access) {
  if (is_fp8(rows)) return false;
  if (rows == ElementType::kFp32) return cache == rows || access == Access::kWrite;
  return cache == rows || is_fp8(cache);
}

using NamedType = Named<ElementType>;

Status check_types(const NamedType& rows, const NamedType& cache, Access access) {
  if (may_meet(rows.value, cache.value, access)) return Status::ok();
  std::string partners;
  for (const ElementType type : kElementTypes) {
    if (!may_meet(rows.value, type, access)) continue;
    partners += std::string(partners.empty() ? "" : ", ") + element_type_name(type);
  }
  if (partners.empty()) return refusal(rows.name(), "fp32, fp16 or bf16", rows.text());
  return refusal(cache.name(), "one of " + partners + " as " + rows.name() + " is " + rows.text(),
                 cache.text());
}

Status check_finite(const char* field, float value) {
  if (std::isfinite(value)) return Status::ok();
  return refusal(field, "a finite number", internal::describe(value));
}

std::int64_t kind_of(const KvScale& scale) { return static_cast<std::int64_t>(scale.kind); }

template <typename T>
NamedSize size_of(const char* name, std::span<T> values) {
  return {name, "size", static_cast<std::int64_t>(values.size())};
}

Status check_options(ViewGate& gate, const AttentionOptions& options, const NamedSize& num_heads) {
  RECTO_RETURN_IF_ERROR(check_finite("options.scale", options.scale));
  RECTO_RETURN_IF_ERROR(check_finite("options.softcap", options.softcap));
  if (options.softcap < 0) {
    return refusal("options.softcap", "at least 0", internal::describe(options.softcap));
  }
  if (options.window) {
    RECTO_RETURN_IF_ERROR(expect_at_least({"options", "window", *options.window}, 1));
  }
  if (!options.alibi_slopes.empty()) {
    RECTO_RETURN_IF_ERROR(
        expect_equal(size_of("options.alibi_slopes", options.alibi_slopes), num_heads));
  }
  if (!options.sinks.empty()) {
    RECTO_RETURN_IF_ERROR(expect_equal(size_of("options.sinks", options.sinks), num_heads));
  }
  RECTO_RETURN_IF_ERROR(gate.array("options.alibi_slopes", options.alibi_slopes));
  return gate.array("options.sinks", options.sinks);
}

// The results need memory in fp64: views may repeat rows with a stride of 0, results cannot.
Status check_result_size(const RowsView& q, std::int64_t head_dim) {
  std::int64_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(q.num_rows, q.num_heads, &bytes) ||
                         __builtin_mul_overflow(bytes, head_dim, &bytes) ||
                         __builtin_mul_overflow(bytes, std::int64_t{sizeof(double)}, &bytes);
  if (!overflows) return Status::ok();
  return refusal("q.num_rows", "below 2^63 bytes in q.num_rows x q.num_heads x kv.v.head_dim x 8",
                 std::to_string(q.num_rows) + " x " + std::to_string(q.num_heads) + " x " +
                     std::to_string(head_dim) + " x 8");
}

// Checks what both kinds of attention call share: queries, cache, table, options.
template <typename Inputs>
Status check_queries(ViewGate& gate, const Inputs& inputs, Access cache) {
  const RowsView& q = inputs.q;
  const KvTensorView& k = inputs.kv.k;
  RECTO_RETURN_IF_ERROR(gate.rows("q", q));
  RECTO_RETURN_IF_ERROR(gate.kv({}, inputs.kv, cache));
  RECTO_RETURN_IF_ERROR(
      check_types({"q", "type", q.type}, {"kv.k", "type", k.type}, Access::kRead));
  RECTO_RETURN_IF_ERROR(expect_equal(NamedSize("q", "head_dim", q.head_dim),
                                     NamedSize("kv.k", "head_dim", k.head_dim)));
  RECTO_RETURN_IF_ERROR(
      expect_multiple({"q", "num_heads", q.num_heads}, {"kv.k", "num_kv_heads", k.num_kv_heads}));
  RECTO_RETURN_IF_ERROR(gate.block_table(inputs.block_table));
  RECTO_RETURN_IF_ERROR(check_result_size(q, inputs.kv.v.head_dim));
  return check_options(gate, inputs.options, {"q", "num_heads", q.num_heads});
}

Status check_inputs(ViewGate& gate, const PagedAttentionInputs& inputs,
                    const GateOptions& /*options*/) {
  RECTO_RETURN_IF_ERROR(check_queries(gate, inputs, Access::kRead));
  const std::int64_t num_seqs = inputs.block_table.num_seqs;
  RECTO_RETURN_IF_ERROR(expect_equal(size_of("context_length", inputs.context_length),
                                     {"block_table", "num_seqs", num_seqs}));
  if (inputs.query_start.empty()) {
    RECTO_RETURN_IF_ERROR(expect_equal(NamedSize("q", "num_rows", inputs.q.num_rows),
                                       {"block_table", "num_seqs", num_seqs}));
    return gate.array("context_length", inputs.context_length);
  }
  // num_seqs has passed a size check, so adding one cannot overflow.
  RECTO_RETURN_IF_ERROR(expect_equal(size_of("query_start", inputs.query_start),
                                     {"block_table", "num_seqs + 1", num_seqs + 1}));
  RECTO_RETURN_IF_ERROR(gate.array("context_length", inputs.context_length));
  return gate.array("query_start", inputs.query_start);
}

// Checks rows of K or V against the cache tensor that they belong to.
Status check_row_sizes(const char* name, const RowsView& rows,
                       const Named<const KvTensorView*>& cache) {
  RECTO_RETURN_IF_ERROR(expect_equal(NamedSize(name, "num_heads", rows.num_heads),
                                     {cache.view, "num_kv_heads", cache.value->num_kv_heads}));
  return expect_equal(NamedSize(name, "head_dim", rows.head_dim),
                      {cache.view, "head_dim", cache.value->head_dim});
}

Status check_new_rows(ViewGate& gate, const char* name, const RowsView& rows,
                      const Named<const KvTensorView*>& cache) {
  RECTO_RETURN_IF_ERROR(gate.rows(name, rows));
  return check_row_sizes(name, rows, cache);
}

// Checks the rows that a cache tensor is gathered into; they hold the cache's own codes.
Status check_gathered_rows(ViewGate& gate, const char* name, const MutableRowsView& rows,
                           const Named<const KvTensorView*>& cache) {
  RECTO_RETURN_IF_ERROR(gate.written_rows(name, rows));
  RECTO_RETURN_IF_ERROR(
      expect_equal(NamedType(name, "type", rows.type), {cache.view, "type", cache.value->type}));
  return check_row_sizes(name, as_const(rows), cache);
}

Status check_inputs(ViewGate& gate, const DecodeStepInputs& inputs, const GateOptions& options) {
  RECTO_RETURN_IF_ERROR(check_queries(gate, inputs, options.step_cache));
  RECTO_RETURN_IF_ERROR(check_new_rows(gate, "new_k", inputs.new_k, {"kv.k", "", &inputs.kv.k}));
  RECTO_RETURN_IF_ERROR(check_new_rows(gate, "new_v", inputs.new_v, {"kv.v", "", &inputs.kv.v}));
  const NamedType type("q", "type", inputs.q.type);
  RECTO_RETURN_IF_ERROR(expect_equal(NamedType("new_k", "type", inputs.new_k.type), type));
  RECTO_RETURN_IF_ERROR(expect_equal(NamedType("new_v", "type", inputs.new_v.type), type));
  const NamedSize num_seqs("block_table", "num_seqs", inputs.block_table.num_seqs);
  RECTO_RETURN_IF_ERROR(expect_equal({"q", "num_rows", inputs.q.num_rows}, num_seqs));
  RECTO_RETURN_IF_ERROR(expect_equal({"new_k", "num_rows", inputs.new_k.num_rows}, num_seqs));
  RECTO_RETURN_IF_ERROR(expect_equal({"new_v", "num_rows", inputs.new_v.num_rows}, num_seqs));
  RECTO_RETURN_IF_ERROR(expect_equal(size_of("cached_length", inputs.cached_length), num_seqs));
  return gate.array("cached_length", inputs.cached_length);
}

template <typename Inputs>
Status check_call(const Inputs& inputs, const AttentionOutputs& outputs,
                  const GateOptions& options) {
  ViewGate gate(options);
  RECTO_RETURN_IF_ERROR(check_inputs(gate, inputs, options));
  const RowsView& q = inputs.q;
  const MutableRowsView& out = outputs.out;
  RECTO_RETURN_IF_ERROR(expect_equal(NamedType("out", "type", out.type), {"q", "type", q.type}));
  RECTO_RETURN_IF_ERROR(
      expect_equal(NamedSize("out", "num_rows", out.num_rows), {"q", "num_rows", q.num_rows}));
  RECTO_RETURN_IF_ERROR(
      expect_equal(NamedSize("out", "num_heads", out.num_heads), {"q", "num_heads", q.num_heads}));
  RECTO_RETURN_IF_ERROR(expect_equal(NamedSize("out", "head_dim", out.head_dim),
                                     {"kv.v", "head_dim", inputs.kv.v.head_dim}));
  RECTO_RETURN_IF_ERROR(gate.written_rows("out", out));
  if (outputs.lse_ln.empty()) return gate.check_extra_memory();
  std::int64_t size = 0;
  const bool overflows = __builtin_mul_overflow(q.num_rows, q.num_heads, &size);
  if (overflows || std::cmp_not_equal(outputs.lse_ln.size(), size)) {
    return refusal("lse_ln.size",
                   "0 or q.num_rows x q.num_heads = " + std::to_string(q.num_rows) + " x " +
                       std::to_string(q.num_heads),
                   std::to_string(outputs.lse_ln.size()));
  }
  RECTO_RETURN_IF_ERROR(gate.written_array("lse_ln", outputs.lse_ln));
  return gate.check_extra_memory();
}

template <typename Inputs>
Status check_call(const Inputs& inputs, const GateOptions& options) {
  ViewGate gate(options);
  RECTO_RETURN_IF_ERROR(check_inputs(gate, inputs, options));
  return gate.check_extra_memory();
}

}  // namespace

Status check_shapes(const PagedAttentionInputs& inputs, const GateOptions& options) {
  return check_call(inputs, options);
}

Status check_shapes(const PagedAttentionInputs& inputs, const AttentionOutputs& outputs,
                    const GateOptions& options) {
  return check_call(inputs, outputs, options);
}

Status check_shapes(const DecodeStepInputs& inputs, const GateOptions& options) {
  return check_call(inputs, options);
}

Status check_shapes(const DecodeStepInputs& inputs, const AttentionOutputs& outputs,
                    const GateOptions& options) {
  return check_call(inputs, outputs, options);
}

Status check_shapes(const KvWriteInputs& inputs, const GateOptions& options) {
  ViewGate gate(options);
  const PagedKvView kv = as_const(inputs.kv);
  RECTO_RETURN_IF_ERROR(gate.kv({}, kv, Access::kWrite));
  RECTO_RETURN_IF_ERROR(check_new_rows(gate, "k", inputs.k, {"kv.k", "", &kv.k}));
  RECTO_RETURN_IF_ERROR(check_new_rows(gate, "v", inputs.v, {"kv.v", "", &kv.v}));
  const NamedType type("k", "type", inputs.k.type);
  RECTO_RETURN_IF_ERROR(check_types(type, {"kv.k", "type", kv.k.type}, Access::kWrite));
  RECTO_RETURN_IF_ERROR(expect_equal(NamedType("v", "type", inputs.v.type), type));
  const NamedSize num_tokens = size_of("slot_mapping", inputs.slot_mapping);
  RECTO_RETURN_IF_ERROR(expect_equal({"k", "num_rows", inputs.k.num_rows}, num_tokens));
  RECTO_RETURN_IF_ERROR(expect_equal({"v", "num_rows", inputs.v.num_rows}, num_tokens));
  RECTO_RETURN_IF_ERROR(gate.array("slot_mapping", inputs.slot_mapping));
  return gate.check_extra_memory();
}

Status check_shapes(const GatherInputs& inputs, const GateOptions& options) {
  ViewGate gate(options);
  RECTO_RETURN_IF_ERROR(gate.kv({}, inputs.kv, Access::kRead));
  RECTO_RETURN_IF_ERROR(gate.block_table(inputs.block_table));
  const NamedSize num_seqs("block_table", "num_seqs", inputs.block_table.num_seqs);
  RECTO_RETURN_IF_ERROR(expect_equal(size_of("context_length", inputs.context_length), num_seqs));
  RECTO_RETURN_IF_ERROR(expect_equal(size_of("context_start", inputs.context_start), num_seqs));
  RECTO_RETURN_IF_ERROR(gate.array("context_length", inputs.context_length));
  RECTO_RETURN_IF_ERROR(gate.array("context_start", inputs.context_start));
  RECTO_RETURN_IF_ERROR(check_gathered_rows(gate, "k", inputs.k, {"kv.k", "", &inputs.kv.k}));
  RECTO_RETURN_IF_ERROR(check_gathered_rows(gate, "v", inputs.v, {"kv.v", "", &inputs.kv.v}));
  RECTO_RETURN_IF_ERROR(expect_equal(NamedSize("v", "num_rows", inputs.v.num_rows),
                                     {"k", "num_rows", inputs.k.num_rows}));
  return gate.check_extra_memory();
}

Status check_shapes(const MutablePagedKvView& kv, std::span<const BlockPair> copies,
                    const GateOptions& options) {
  ViewGate gate(options);
  RECTO_RETURN_IF_ERROR(gate.kv({}, as_const(kv), Access::kWrite));
  RECTO_RETURN_IF_ERROR(gate.block_pairs("copies", copies));
  return gate.check_extra_memory();
}

Status check_shapes(const PagedKvView& from, const MutablePagedKvView& to,
                    std::span<const BlockPair> copies, const GateOptions& options) {
  ViewGate gate(options);
  RECTO_RETURN_IF_ERROR(
      gate.kv({"from.k", "from.k.scale", "from.v", "from.v.scale"}, from, Access::kRead));
  RECTO_RETURN_IF_ERROR(
      gate.kv({"to.k", "to.k.scale", "to.v", "to.v.scale"}, as_const(to), Access::kWrite));
  const auto expect_same = [](const char* field, const auto& of_to, const auto& of_from) {
    return expect_equal(Named("to", field, of_to), Named("from", field, of_from));
  };
  RECTO_RETURN_IF_ERROR(expect_same("k.type", to.k.type, from.k.type));
  RECTO_RETURN_IF_ERROR(expect_same("k.block_size", to.k.block_size, from.k.block_size));
  RECTO_RETURN_IF_ERROR(expect_same("k.num_kv_heads", to.k.num_kv_heads, from.k.num_kv_heads));
  RECTO_RETURN_IF_ERROR(expect_same("k.head_dim", to.k.head_dim, from.k.head_dim));
  RECTO_RETURN_IF_ERROR(expect_same("v.head_dim", to.v.head_dim, from.v.head_dim));
  RECTO_RETURN_IF_ERROR(expect_same("k.scale.kind", kind_of(to.k.scale), kind_of(from.k.scale)));
  RECTO_RETURN_IF_ERROR(expect_same("v.scale.kind", kind_of(to.v.scale), kind_of(from.v.scale)));
  RECTO_RETURN_IF_ERROR(gate.block_pairs("copies", copies));
  return gate.check_extra_memory();
}

}  // namespace recto
