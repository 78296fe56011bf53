#include "verify/cases/case_files/answer.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/rounding.h"
#include "verify/cases/npz/npy_format.h"
#include "verify/drawn_cases.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

// Three keys in blocks of two; heads that differ.
CaseSpec small_case(TypePair types = {}) {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 2,
                .num_kv_heads = 1,
                .head_dim_k = 4,
                .head_dim_v = 4,
                .q_type = types.q,
                .kv_type = types.kv};
  spec.sequences = {{.num_rows = 1, .context_length = 3}, {.num_rows = 1, .context_length = 0}};
  spec.q = spec.k = spec.v = FloatFamily::kUniform;
  spec.placement.block_size = 2;
  spec.placement.poison = Poison::kNaN;
  return spec;
}

const NpyArray& member(const std::vector<NpzMember>& members, const std::string& name) {
  for (const NpzMember& each : members)
    if (each.name == name) return each.array;
  FAIL("no member " << name);
  return members.front().array;
}

NpzArrays right_answer(CaseOperation operation, const CaseSpec& spec) {
  const CaseArrays arrays = case_arrays(operation, spec);
  NpzArrays answer;
  if (operation == CaseOperation::kKvWrite) {
    answer.emplace(kAnswerKPool, member(arrays.expected, "expected_k_cache"));
    answer.emplace(kAnswerVPool, member(arrays.expected, "expected_v_cache"));
    return answer;
  }
  const NpyArray& expected = member(arrays.expected, "expected");
  std::vector<float> out;
  for (std::int64_t i = 0; i < expected.count(); ++i)
    out.push_back(static_cast<float>(expected.at<double>(i)));
  answer.emplace(kAnswerOut, make_npy_array(NpyType::kFloat32, expected.shape, out));
  return answer;
}

void set_item(NpyArray& array, std::int64_t index, float value) {
  std::memcpy(array.data.data() + index * array.item_bytes, &value, sizeof value);
}

LawVerdict judge(const NpzArrays& answer, const CaseSpec& spec = small_case(),
                 CaseOperation operation = CaseOperation::kDecode) {
  return judge_answer(operation, spec, answer, BoundKind::kProbabilistic);
}

void check_refused(const NpzArrays& answer, const std::string& message,
                   const CaseSpec& spec = small_case(),
                   CaseOperation operation = CaseOperation::kDecode) {
  const LawVerdict verdict = judge(answer, spec, operation);
  CHECK(verdict.failed());
  CHECK_THAT(verdict.details(), ContainsSubstring(message));
}

TEST_CASE("the expected answer is right for every drawn type and layout of each operation") {
  for (const CaseOperation operation : kCaseOperations) {
    DrawnCases cases{.name = "answers", .count = 40};
    cases.domain.has_padding = false;
    if (operation == CaseOperation::kDecode) cases.domain.rows = {RowsKind::kDecode};
    for (std::uint64_t number = 0; number < cases.count; ++number) {
      const CaseSpec spec = drawn_spec(cases, number);
      if (!has_results(operation, spec)) continue;
      const LawVerdict verdict = judge(right_answer(operation, spec), spec, operation);
      INFO(spec << '\n' << verdict.heading() << '\n' << verdict.details());
      CHECK(!verdict.failed());
      CHECK(verdict.comparison.elements > 0);
    }
  }
}

TEST_CASE("arrays have the shapes and types of the documents") {
  const CaseSpec spec = small_case({ElementType::kBf16, ElementType::kE4m3});
  const CaseArrays arrays = case_arrays(CaseOperation::kDecode, spec);
  CHECK(npy_array_text(member(arrays.inputs, "q")) == "uint16 [2, 2, 4]");
  CHECK(npy_array_text(member(arrays.inputs, "k_cache")) == "uint8 [2, 2, 1, 4]");
  CHECK(npy_array_text(member(arrays.inputs, "block_table")) == "int32 [2, 2]");
  CHECK(npy_array_text(member(arrays.inputs, "query_start")) == "int32 [3]");
  CHECK(npy_array_text(member(arrays.inputs, "sinks")) == "float32 [2]");
  CHECK(std::isinf(member(arrays.inputs, "sinks").at<float>(0)));
  CHECK(member(arrays.inputs, "window").at<std::int64_t>(0) == 0);
  CHECK(npy_array_text(member(arrays.expected, "bound")) == "float64 [2, 2, 4]");
  CaseSpec packed = small_case({ElementType::kFp16, ElementType::kFp16});
  packed.placement.layout = KvLayout::kPacked;
  packed.shape.head_dim_k = 16;
  const CaseArrays of_packed = case_arrays(CaseOperation::kKvWrite, packed);
  CHECK(npy_array_text(member(of_packed.inputs, "k_cache")) == "float16 [2, 1, 2, 2, 8]");
  CHECK(npy_array_text(member(of_packed.inputs, "v_cache")) == "float16 [2, 1, 4, 2]");
  CHECK(npy_array_text(member(of_packed.inputs, "slot_mapping")) == "int64 [1]");
}

TEST_CASE("an element beyond its bound fails, and one within it does not") {
  const CaseArrays arrays = case_arrays(CaseOperation::kDecode, small_case());
  const double expected = member(arrays.expected, "expected").at<double>(5);
  const double bound = member(arrays.expected, "bound").at<double>(5);
  NpzArrays answer = right_answer(CaseOperation::kDecode, small_case());
  set_item(answer.at(kAnswerOut), 5, static_cast<float>(expected + 0.5 * bound));
  CHECK(!judge(answer).failed());
  set_item(answer.at(kAnswerOut), 5, static_cast<float>(expected + 1.5 * bound));
  const LawVerdict beyond = judge(answer);
  CHECK(beyond.comparison.mismatches == 1);
  CHECK(beyond.comparison.elements == 16);
  CHECK_THAT(beyond.comparison.text(), ContainsSubstring("out[sequence 0, row 0, head 1, dim 1]"));
  set_item(answer.at(kAnswerOut), 5, NAN);
  CHECK_THAT(judge(answer).comparison.text(), ContainsSubstring("seen nan"));
}

TEST_CASE("an answer's lse is judged, too") {
  const CaseArrays arrays = case_arrays(CaseOperation::kDecode, small_case());
  NpzArrays answer = right_answer(CaseOperation::kDecode, small_case());
  answer.emplace(kAnswerLseLn, member(arrays.expected, "expected_lse_ln"));
  CHECK(judge(answer).comparison.elements == 20);
  CHECK(!judge(answer).failed());
  NpyArray& lse_ln = answer.at(kAnswerLseLn);
  const double base2 = lse_ln.at<double>(1) / std::log(2.0);
  std::memcpy(lse_ln.data.data() + 8, &base2, sizeof base2);
  CHECK_THAT(judge(answer).comparison.text(),
             ContainsSubstring("lse_ln[sequence 0, row 0, head 1]"));
}

TEST_CASE("an answer in bf16 may be given as codes or in fp32") {
  const CaseSpec spec = small_case({ElementType::kBf16, ElementType::kBf16});
  NpzArrays answer = right_answer(CaseOperation::kDecode, spec);
  CHECK(!judge(answer, spec).failed());
  NpyArray& out = answer.at(kAnswerOut);
  std::vector<std::uint16_t> codes;
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const auto value = static_cast<double>(out.at<float>(i));
    codes.push_back(static_cast<std::uint16_t>(reference::encode(value, ElementType::kBf16)));
  }
  for (const NpyType type : {NpyType::kUint16, NpyType::kInt16, NpyType::kBytes2}) {
    out = make_npy_array(type, out.shape, codes);
    CHECK(!judge(answer, spec).failed());
  }
  out = make_npy_array(NpyType::kFloat16, out.shape, codes);
  check_refused(answer, "out: expected uint16 (the codes of bf16) or float32 [2, 2, 4], found",
                spec);
}

TEST_CASE("arrays with a wrong name, shape or type are refused by name") {
  check_refused({}, "out: expected, but missing");
  NpzArrays answer = right_answer(CaseOperation::kDecode, small_case());
  answer.emplace("attention", make_npy_text("x"));
  check_refused(answer, "attention: expected only the arrays lse_ln and out");
  answer.erase("attention");
  answer.at(kAnswerOut).shape = {2, 8};
  check_refused(answer, "out: expected float32 [2, 2, 4], found float32 [2, 8]");
  answer = right_answer(CaseOperation::kKvWrite, small_case());
  answer.at(kAnswerVPool) = make_npy_text("x");
  check_refused(answer,
                "v_cache: expected float32 [2, 2, 1, 4], found text of length 1 without dimensions",
                small_case(), CaseOperation::kKvWrite);
}

TEST_CASE("a code in a wrong slot is reported with that slot") {
  NpzArrays answer = right_answer(CaseOperation::kKvWrite, small_case());
  set_item(answer.at(kAnswerKPool), 6, 7.0F);
  check_refused(answer, "1 code of the pool of K is wrong, first in block 0, slot 1, head 0, dim 2",
                small_case(), CaseOperation::kKvWrite);
}

TEST_CASE("an answer is an npy of out, or an npz of named arrays") {
  const NpzArrays answer = right_answer(CaseOperation::kDecode, small_case());
  const std::string npy = npy_bytes(answer.at(kAnswerOut));
  CHECK(parse_answer("a.out.npy", npy).value() == answer);
  const std::string npz = npz_bytes({{kAnswerOut, answer.at(kAnswerOut)}}).value();
  CHECK(parse_answer("a.out.npz", npz).value() == answer);
  CHECK(!parse_answer("a.out.npz", npy).is_ok());
}

}  // namespace
}  // namespace recto::verify
