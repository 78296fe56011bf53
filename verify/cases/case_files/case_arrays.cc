#include "verify/cases/case_files/case_arrays.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>

#include "core/contract.h"
#include "reference/error_bound.h"
#include "verify/laws/cache_operations/kv_write_case.h"

namespace recto::verify {
namespace {

using Shape = std::vector<std::int64_t>;

std::int64_t count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

NpyArray codes(ElementType type, Shape shape, const void* data) {
  NpyArray array{
      .type = npy_type_of(type), .item_bytes = element_bytes(type), .shape = std::move(shape)};
  const auto* const first = static_cast<const std::byte*>(data);
  array.data.assign(first, first + count(array.shape) * array.item_bytes);
  return array;
}

NpyArray rows_array(const RowsView& rows) {
  RECTO_CHECK_EQ(rows.head_stride, rows.head_dim);
  RECTO_CHECK_EQ(rows.row_stride, rows.num_heads * rows.head_dim);
  return codes(rows.type, {rows.num_rows, rows.num_heads, rows.head_dim}, rows.data);
}

NpyArray pool_array(const KvTensorView& cache, const void* data) {
  RECTO_CHECK_EQ(cache.block_stride, cache.block_size * cache.num_kv_heads * cache.head_dim);
  return codes(cache.type, pool_shape(cache), data);
}

NpyArray table_array(const BlockTableView& table) {
  std::vector<std::int32_t> ids;
  for (std::int64_t s = 0; s < table.num_seqs; ++s) {
    const std::int32_t* const row = table.data + s * table.row_stride;
    ids.insert(ids.end(), row, row + table.max_blocks);
  }
  return make_npy_array(NpyType::kInt32, {table.num_seqs, table.max_blocks}, ids);
}

template <typename T>
NpyArray list(NpyType type, std::span<const T> values) {
  return make_npy_array(type, {std::ssize(values)}, std::vector<T>(values.begin(), values.end()));
}

// One value per head; if there are none, `neutral`.
NpyArray head_array(std::span<const float> values, std::int64_t heads, float neutral) {
  if (!values.empty()) return list(NpyType::kFloat32, values);
  return make_npy_array(NpyType::kFloat32, {heads},
                        std::vector<float>(static_cast<std::size_t>(heads), neutral));
}

NpyArray scale_array(const KvTensorView& cache) {
  const float one = 1.0F;
  if (cache.scale.kind == ScaleKind::kNone) return list(NpyType::kFloat32, std::span(&one, 1));
  const bool is_single = cache.scale.kind == ScaleKind::kPerTensor;
  const std::span values(cache.scale.data,
                         is_single ? 1 : static_cast<std::size_t>(cache.num_kv_heads));
  return list(NpyType::kFloat32, values);
}

// The arrays with which every operation begins.
std::vector<NpzMember> common_members(CaseOperation operation, const PagedKvView& kv,
                                      ElementType type) {
  return {{"op", make_npy_text(case_operation_name(operation))},
          {"q_type", make_npy_text(element_type_name(type))},
          {"kv_type", make_npy_text(element_type_name(kv.k.type))},
          {"layout", make_npy_text(kv_layout_name(kv.k.layout))},
          {"block_size", make_npy_scalar<std::int64_t>(NpyType::kInt64, kv.k.block_size)},
          {"k_scale", scale_array(kv.k)},
          {"v_scale", scale_array(kv.v)}};
}

CaseArrays attention_arrays(CaseOperation operation, const LawCase& law_case) {
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  const AttentionOptions& options = inputs.options;
  const std::int64_t heads = inputs.q.num_heads;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CaseArrays arrays{.inputs = common_members(operation, inputs.kv, inputs.q.type)};
  const auto add = [&arrays](const char* name, NpyArray array) {
    arrays.inputs.push_back({name, std::move(array)});
  };
  add("q", rows_array(inputs.q));
  add("k_cache", pool_array(inputs.kv.k, inputs.kv.k.data));
  add("v_cache", pool_array(inputs.kv.v, inputs.kv.v.data));
  add("block_table", table_array(inputs.block_table));
  add("context_length", list(NpyType::kInt32, inputs.context_length));
  add("query_start", list(NpyType::kInt32, inputs.query_start));
  add("scale", make_npy_scalar(NpyType::kFloat32, options.scale));
  add("softcap", make_npy_scalar(NpyType::kFloat32, options.softcap));
  add("causal", make_npy_scalar<std::uint8_t>(NpyType::kBool, options.causal ? 1 : 0));
  add("window", make_npy_scalar(NpyType::kInt64, options.window.value_or(0)));
  add("alibi_slopes", head_array(options.alibi_slopes, heads, 0.0F));
  add("sinks", head_array(options.sinks, heads, -kInfinity));
  const reference::BoundedResult oracle = reference::bounded_attention(
      inputs, reference::third_party_numerics(inputs.q.type, inputs.kv.k.type));
  const Shape out = {inputs.q.num_rows, heads, inputs.kv.v.head_dim};
  const Shape lse_ln = {inputs.q.num_rows, heads};
  arrays.expected = {
      {"expected", make_npy_array(NpyType::kFloat64, out, oracle.exact.out)},
      {"bound", make_npy_array(NpyType::kFloat64, out, oracle.probabilistic.out)},
      {"expected_lse_ln", make_npy_array(NpyType::kFloat64, lse_ln, oracle.exact.lse_ln)},
      {"bound_lse_ln", make_npy_array(NpyType::kFloat64, lse_ln, oracle.probabilistic.lse_ln)}};
  return arrays;
}

CaseArrays write_arrays(const LawCase& law_case) {
  const KvWriteCase write_case(law_case);
  KvPools pools = write_case.before();
  const KvWriteInputs inputs = write_case.inputs(pools.over(write_case.kv()));
  const PagedKvView& kv = write_case.kv();
  const KvPools& expected = write_case.expected();
  CaseArrays arrays{.inputs = common_members(CaseOperation::kKvWrite, kv, inputs.k.type)};
  arrays.inputs.push_back({"k_cache", pool_array(kv.k, pools.k.data())});
  arrays.inputs.push_back({"v_cache", pool_array(kv.v, pools.v.data())});
  arrays.inputs.push_back({"new_k", rows_array(inputs.k)});
  arrays.inputs.push_back({"new_v", rows_array(inputs.v)});
  arrays.inputs.push_back({"slot_mapping", list(NpyType::kInt64, inputs.slot_mapping)});
  arrays.expected = {{"expected_k_cache", pool_array(kv.k, expected.k.data())},
                     {"expected_v_cache", pool_array(kv.v, expected.v.data())}};
  return arrays;
}

}  // namespace

bool has_results(CaseOperation operation, const CaseSpec& spec) {
  if (operation != CaseOperation::kKvWrite) return spec.num_rows() > 0;
  return spec.longest_context() > 0;
}

CaseArrays case_arrays(CaseOperation operation, const CaseSpec& spec) {
  const LawCase law_case{make_problem(spec), spec.placement};
  if (operation == CaseOperation::kKvWrite) return write_arrays(law_case);
  return attention_arrays(operation, law_case);
}

NpyType npy_type_of(ElementType type) {
  switch (type) {
    case ElementType::kFp32:
      return NpyType::kFloat32;
    case ElementType::kFp16:
      return NpyType::kFloat16;
    case ElementType::kBf16:
      return NpyType::kUint16;
    case ElementType::kE4m3:
    case ElementType::kE5m2:
      return NpyType::kUint8;
  }
  RECTO_UNREACHABLE("an element type");
}

std::vector<std::int64_t> pool_shape(const KvTensorView& cache) {
  switch (cache.layout) {
    case KvLayout::kTokenMajor:
      return {cache.num_blocks, cache.block_size, cache.num_kv_heads, cache.head_dim};
    case KvLayout::kHeadMajor:
      return {cache.num_blocks, cache.num_kv_heads, cache.block_size, cache.head_dim};
    case KvLayout::kPacked:
      if (cache.pack_width == 1) {
        return {cache.num_blocks, cache.num_kv_heads, cache.head_dim, cache.block_size};
      }
      return {cache.num_blocks, cache.num_kv_heads, cache.head_dim / cache.pack_width,
              cache.block_size, cache.pack_width};
  }
  RECTO_UNREACHABLE("a layout");
}

}  // namespace recto::verify
