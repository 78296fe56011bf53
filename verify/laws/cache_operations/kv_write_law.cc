#include "verify/laws/cache_operations/kv_write_law.h"

#include <utility>

#include "verify/laws/cache_operations/kv_write_case.h"
#include "verify/laws/cache_operations/long_write.h"
#include "verify/laws/cache_operations/single_backend_law.h"
#include "verify/laws/cache_operations/tried_pools.h"
#include "verify/laws/cache_operations/write_fault_models.h"

namespace recto::verify {
namespace {

// Distant pools get no longer write: each block there takes pages of its own.
LongWrite write_of(const LawCase& law_case, PoolDistance distance) {
  return distance == PoolDistance::kNear ? with_long_write(law_case)
                                         : LongWrite{.law_case = law_case};
}

// Writes. The message of a failure adds what the law changed in the case, as the case's own
// description does not contain it.
CallOutcome write_or_tell(const KvWriter& writer, const KvWriteInputs& write,
                          const std::string& what) {
  CallOutcome outcome = guarded([&] { return writer.write(write); });
  if (auto* const failed = std::get_if<Failed>(&outcome)) {
    failed->message += "\nin the write" + what + "\n" + slots_text(write.slot_mapping);
    failed->message.pop_back();  // the final newline
  }
  return outcome;
}

LawVerdict check(const KvWriter& writer, const KvWriteCase& write_case, PoolDistance distance,
                 const std::string& what) {
  Result<TriedPools> pools = TriedPools::create(distance, write_case.kv(), write_case.before());
  LawVerdict verdict;
  if (!pools.is_ok()) verdict.skipped = pools.status().message();
  if (verdict.skipped) return verdict;
  const KvWriteInputs write = write_case.inputs(pools.value().kv());
  const CallOutcome outcome = write_or_tell(writer, write, what);
  const Done* const done = done_or_verdict(outcome, verdict);
  if (done == nullptr) return verdict;
  verdict.comparison.elements = verdict.comparison.by_bits = write_case.num_codes();
  verdict = with_findings(
      std::move(verdict), "against the reference's write" + what,
      write_case.differences(pools.value().contents()) + pools.value().stray_writes());
  if (verdict.failed()) verdict.printed = done->printed;
  return verdict;
}

// Writes other tokens of equal sizes, then the case's: state that the writer keeps for a call's
// sizes must not change either.
LawVerdict after_another(const KvWriter& writer, const LawCase& law_case, LawVerdict verdict) {
  const std::string sizes = "one of as many tokens, with other values and slots";
  const std::pair<WrittenTokens, std::string> writes[] = {
      {WrittenTokens::kOther, ", of " + sizes}, {WrittenTokens::kOfCase, ", after " + sizes}};
  for (const auto& [written, what] : writes) {
    LawVerdict found = check(writer, KvWriteCase(law_case, written), PoolDistance::kNear, what);
    verdict.comparison.append(found.comparison);
    if (found.skipped) verdict.skipped_parts.push_back(what.substr(2) + ": " + *found.skipped);
    if (!found.skipped && !found.failed()) continue;
    verdict.what = found.what;
    verdict.found = found.found;
    verdict.call_failure = found.call_failure;
    verdict.printed = found.printed;
    break;
  }
  return verdict;
}

}  // namespace

Law kv_write_law(const KvWriter& writer) {
  return single_backend_law(
      {.name = "kv_write",
       .statement = "tokens are written to their slots, and no other byte of the pools changes, "
                    "whatever was written before",
       .why_not_applicable = why_no_token,
       .check = {}},
      writer.backend, "it writes no K and V", [writer](const LawCase& law_case) {
        LawVerdict verdict =
            near_and_distant(law_case, [&](const LawCase& tried, PoolDistance distance) {
              const LongWrite made = write_of(tried, distance);
              return check(writer, KvWriteCase(made.law_case), distance,
                           made.text.empty() ? "" : ", with " + made.text);
            });
        if (verdict.skipped || verdict.failed()) return verdict;
        return after_another(writer, law_case, std::move(verdict));
      });
}

}  // namespace recto::verify
