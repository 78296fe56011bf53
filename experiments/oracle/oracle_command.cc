#include "experiments/support/command.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/cases/declared_numerics.h"
#include "experiments/support/output_file.h"
#include "reference/error_bound.h"
#include "verify/cases/case_files/answer.h"
#include "verify/cases/case_files/input_arrays.h"
#include "verify/saved_case.h"

namespace recto::experiments {
namespace {

using verify::NpyType;
using verify::NpzArrays;

constexpr std::int64_t kInputBytesMax = std::int64_t{1} << 34;

constexpr const char* kFooter = R"(
Reads an npz with the arrays of a case (q, k_cache, v_cache, block_table, context_length, ...; see
docs/python.md), and computes the result in fp64, with a bound for each element. If the file has
out, or also lse_ln, compares them.

Examples:
  recto oracle inputs.npz
  recto oracle inputs.npz --out expected.npz)";

struct OracleFlags {
  std::string file;
  std::string out;
  std::string bound = "probabilistic";
  reference::DeclaredNumerics numerics;
};

std::string oracle_bytes(const PagedAttentionInputs& inputs, verify::BoundKind kind,
                         const reference::DeclaredNumerics& declared) {
  const reference::BoundedResult oracle = reference::bounded_attention(
      inputs,
      with_declared(declared, reference::third_party_numerics(inputs.q.type, inputs.kv.k.type)));
  const reference::AttentionResult& bound = bound_of(oracle, kind);
  const std::vector<std::int64_t> rows = {inputs.q.num_rows, inputs.q.num_heads};
  std::vector<std::int64_t> out = rows;
  out.push_back(inputs.kv.v.head_dim);
  return verify::npz_bytes(
             {{"expected", make_npy_array(NpyType::kFloat64, out, oracle.exact.out)},
              {"bound", make_npy_array(NpyType::kFloat64, out, bound.out)},
              {"expected_lse_ln", make_npy_array(NpyType::kFloat64, rows, oracle.exact.lse_ln)},
              {"bound_lse_ln", make_npy_array(NpyType::kFloat64, rows, bound.lse_ln)}})
      .value();
}

Status run_oracle(const OracleFlags& flags, CommandContext& context) {
  const Result<std::string> bytes = read_text_file(flags.file);
  RECTO_RETURN_IF_ERROR(bytes.status());
  Result<NpzArrays> arrays = verify::parse_npz(bytes.value(), kInputBytesMax);
  RECTO_RETURN_IF_ERROR(arrays.status().in(flags.file));
  NpzArrays answer;
  for (const char* name : {verify::kAnswerOut, verify::kAnswerLseLn})
    if (auto found = arrays.value().extract(name)) answer.insert(std::move(found));
  const auto read = verify::InputArrays::read(std::move(arrays).value());
  RECTO_RETURN_IF_ERROR(read.status().in(flags.file));
  const PagedAttentionInputs& inputs = read.value()->inputs();
  const verify::BoundKind kind = verify::bound_kind_of(flags.bound);
  if (!flags.out.empty())
    RECTO_RETURN_IF_ERROR(write_file(flags.out, oracle_bytes(inputs, kind, flags.numerics)));
  if (answer.empty()) return Status::ok();
  const auto seen = attention_answer(inputs, answer);
  RECTO_RETURN_IF_ERROR(seen.status().in(flags.file));
  const verify::Comparison comparison = compare_answer(inputs, seen.value(), kind, flags.numerics);
  context.out << comparison.text() << '\n';
  if (comparison.passed()) return Status::ok();
  return Status::failed(
      fmt::format("{} of {} elements are wrong", comparison.mismatches, comparison.elements));
}

}  // namespace

Command oracle_command() {
  auto flags = std::make_shared<OracleFlags>();
  Command command("oracle", "the right result of your own inputs, and whether yours is within it");
  command.add("file FILE", nonempty_text(flags->file, "a file"), "npz with the inputs");
  command.add("--out FILE", nonempty_text(flags->out, "a file"),
              "write the expected result and its bounds here");
  command.add(
      "--bound KIND",
      one_of(flags->bound, {std::begin(verify::kBoundNames), std::end(verify::kBoundNames)}),
      "worst-case or probabilistic [probabilistic];\nhard and sharp mean the same");
  add_numerics_flag(command, flags->numerics);
  command.footer = kFooter;
  command.run = [flags](CommandContext& context) { return run_oracle(*flags, context); };
  return command;
}

}  // namespace recto::experiments
