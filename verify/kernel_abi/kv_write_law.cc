#include "verify/kernel_abi/kv_write_law.h"

#include "verify/kv_write_case.h"

namespace recto::verify {
namespace {

LawVerdict check(const KvWriter& writer, const LawCase& law_case) {
  const KvWriteCase write_case(law_case);
  KvPools pools = write_case.before();
  const KvWriteInputs write = write_case.inputs(pools);
  LawVerdict verdict;
  verdict.skipped = writer.why_unsupported(write);
  if (verdict.skipped) return verdict;
  writer.write(write);
  verdict.comparison.elements = verdict.comparison.by_bits = write_case.num_codes();
  const std::string found = write_case.differences(pools);
  if (!found.empty()) verdict.thrown = found + "against the reference's write";
  return verdict;
}

std::optional<std::string> why_no_token(const LawCase& law_case) {
  for (const SequenceProblem& sequence : law_case.problem.sequences)
    if (sequence.context_length > 0) return std::nullopt;
  return "no token to be written";
}

}  // namespace

Law kv_write_law(const KvWriter& writer) {
  const auto why_never = [writer](const Backend& backend) -> std::optional<std::string> {
    if (backend.name == writer.backend) return std::nullopt;
    return "it writes no K and V";
  };
  return {.name = "kv_write",
          .statement = "tokens go to their slots, and not a byte of the pools changes otherwise",
          .why_not_applicable = why_no_token,
          .check =
              [writer, why_never](const Backend& backend, const LawCase& law_case, BoundKind) {
                LawVerdict verdict;
                verdict.skipped = why_never(backend);
                return verdict.skipped ? verdict : check(writer, law_case);
              },
          .why_never = why_never};
}

}  // namespace recto::verify
