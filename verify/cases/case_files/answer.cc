#include "verify/cases/case_files/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "reference/error_bound.h"
#include "reference/rounding.h"
#include "verify/cases/npz/npy_format.h"
#include "verify/laws/cache_operations/kv_write_case.h"

namespace recto::verify {
namespace {

// Far larger than any case that is written.
constexpr std::int64_t kAnswerBytesMax = std::int64_t{1} << 32;

using Types = std::vector<NpyType>;
using Shape = std::vector<std::int64_t>;

struct ExpectedArray {
  const char* name;
  Shape shape;
  Types types;
  std::string type_text = {};
};

Result<const NpyArray*> find_array(const NpzArrays& arrays, const ExpectedArray& expected) {
  const auto found = arrays.find(expected.name);
  if (found == arrays.end()) {
    return Status::invalid_input(fmt::format("{}: expected, but missing", expected.name));
  }
  const NpyArray& array = found->second;
  const bool has_type = std::ranges::find(expected.types, array.type) != expected.types.end();
  if (array.shape != expected.shape || !has_type) {
    return Status::invalid_input(fmt::format("{}: expected {} [{}], found {}", expected.name,
                                             expected.type_text, fmt::join(expected.shape, ", "),
                                             npy_array_text(array)));
  }
  return &array;
}

Status check_names(const NpzArrays& arrays, const std::set<std::string>& known) {
  for (const auto& [name, array] : arrays) {
    if (known.contains(name)) continue;
    return Status::invalid_input(
        fmt::format("{}: expected only the arrays {}", name, fmt::join(known, " and ")));
  }
  return Status::ok();
}

// Decodes items that are fp64, fp32 or codes of `type`.
std::vector<double> values_of(const NpyArray& array, ElementType type) {
  std::vector<double> values(static_cast<std::size_t>(array.count()));
  if (array.type == NpyType::kFloat64) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = array.at<double>(static_cast<std::int64_t>(i));
    return values;
  }
  const ElementType stored = array.type == NpyType::kFloat32 ? ElementType::kFp32 : type;
  reference::decode_row(array.data.data(), stored, values);
  return values;
}

// The array types in which values of `type` may be returned.
Types types_for(ElementType type) {
  if (type == ElementType::kFp16) return {NpyType::kFloat16, NpyType::kFloat32};
  if (type == ElementType::kFp32) return {NpyType::kFloat32};
  return {NpyType::kUint16, NpyType::kInt16, NpyType::kBytes2, NpyType::kFloat32};
}

const char* types_text(ElementType type) {
  if (type == ElementType::kFp16) return "float16 or float32";
  return type == ElementType::kFp32 ? "float32" : "uint16 (the codes of bf16) or float32";
}

ExpectedArray expected_out(const PagedAttentionInputs& inputs) {
  return {.name = kAnswerOut,
          .shape = {inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim},
          .types = types_for(inputs.q.type),
          .type_text = types_text(inputs.q.type)};
}

ExpectedArray expected_pool(const char* name, const KvTensorView& cache) {
  const NpyType type = npy_type_of(cache.type);
  ExpectedArray expected{.name = name, .shape = pool_shape(cache), .types = {type}};
  expected.type_text = npy_type_name({.type = type, .item_bytes = element_bytes(cache.type)});
  if (type == NpyType::kUint16) expected.types = {type, NpyType::kInt16, NpyType::kBytes2};
  if (type == NpyType::kUint8) expected.types = {type, NpyType::kBytes1};
  return expected;
}

LawVerdict judge_write(const LawCase& law_case, const NpzArrays& arrays) {
  const KvWriteCase write_case(law_case);
  LawVerdict verdict;
  const auto k = find_array(arrays, expected_pool(kAnswerKPool, write_case.kv().k));
  const auto v = find_array(arrays, expected_pool(kAnswerVPool, write_case.kv().v));
  for (const Status& status :
       {check_names(arrays, {kAnswerKPool, kAnswerVPool}), k.status(), v.status()}) {
    if (verdict.call_failure || status.is_ok()) continue;
    verdict.call_failure = {kThrown, status.message()};
  }
  if (verdict.call_failure) return verdict;
  verdict.comparison.elements = write_case.num_codes();
  return with_findings(std::move(verdict), "against the reference's write",
                       write_case.differences({k.value()->data, v.value()->data}));
}

}  // namespace

Result<NpzArrays> parse_answer(const std::string& path, const std::string& bytes) {
  if (path.ends_with(".npz")) return parse_npz(bytes, kAnswerBytesMax);
  Result<NpyArray> out = parse_npy(bytes);
  RECTO_RETURN_IF_ERROR(out.status());
  NpzArrays arrays;
  arrays.emplace(kAnswerOut, std::move(out).value());
  return arrays;
}

Result<reference::AttentionResult> attention_answer(const PagedAttentionInputs& inputs,
                                                    const NpzArrays& arrays) {
  RECTO_RETURN_IF_ERROR(check_names(arrays, {kAnswerOut, kAnswerLseLn}));
  const auto out = find_array(arrays, expected_out(inputs));
  RECTO_RETURN_IF_ERROR(out.status());
  reference::AttentionResult result(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  result.out = values_of(*out.value(), inputs.q.type);
  result.lse_ln.clear();
  if (!arrays.contains(kAnswerLseLn)) return result;
  const auto lse_ln = find_array(arrays, {.name = kAnswerLseLn,
                                          .shape = {inputs.q.num_rows, inputs.q.num_heads},
                                          .types = {NpyType::kFloat32, NpyType::kFloat64},
                                          .type_text = "float32 or float64"});
  RECTO_RETURN_IF_ERROR(lse_ln.status());
  result.lse_ln = values_of(*lse_ln.value(), ElementType::kFp32);
  return result;
}

Comparison compare_answer(const PagedAttentionInputs& inputs,
                          const reference::AttentionResult& seen, BoundKind bound_kind,
                          const reference::DeclaredNumerics& declared) {
  const reference::BoundedResult oracle = reference::bounded_attention(
      inputs,
      with_declared(declared, reference::third_party_numerics(inputs.q.type, inputs.kv.k.type)));
  return compare(inputs, seen, oracle.exact, bound_of(oracle, bound_kind));
}

LawVerdict judge_answer(CaseOperation operation, const CaseSpec& spec, const NpzArrays& arrays,
                        BoundKind bound_kind, const reference::DeclaredNumerics& declared) {
  const LawCase law_case{make_problem(spec), spec.placement};
  if (operation == CaseOperation::kKvWrite) return judge_write(law_case, arrays);
  const PlacedProblem placed(law_case.problem, law_case.placement);
  LawVerdict verdict;
  const auto seen = attention_answer(placed.inputs(), arrays);
  if (!seen.is_ok()) {
    verdict.call_failure = {kThrown, seen.status().message()};
    return verdict;
  }
  verdict.comparison = compare_answer(placed.inputs(), seen.value(), bound_kind, declared);
  if (!verdict.comparison.passed()) verdict.what = "against the oracle";
  return verdict;
}

}  // namespace recto::verify
