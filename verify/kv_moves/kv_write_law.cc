#include "verify/kv_moves/kv_write_law.h"

#include <utility>

#include "verify/kv_moves/kv_write_case.h"
#include "verify/kv_moves/long_write.h"
#include "verify/kv_moves/single_backend_law.h"
#include "verify/kv_moves/tried_pools.h"

namespace recto::verify {
namespace {

// Distant pools keep what they have: each block takes pages of its own there.
LongWrite write_of(const LawCase& law_case, PoolDistance distance) {
  return distance == PoolDistance::kNear ? with_long_write(law_case)
                                         : LongWrite{.law_case = law_case};
}

LawVerdict check(const KvWriter& writer, const LawCase& law_case, PoolDistance distance) {
  const LongWrite made = write_of(law_case, distance);
  const KvWriteCase write_case(made.law_case);
  Result<TriedPools> pools = TriedPools::create(distance, write_case.kv(), write_case.before());
  LawVerdict verdict;
  if (!pools.is_ok()) verdict.skipped = pools.status().message();
  if (verdict.skipped) return verdict;
  const KvWriteInputs write = write_case.inputs(pools.value().kv());
  verdict.skipped = writer.why_unsupported(write);
  if (verdict.skipped) return verdict;
  writer.write(write);
  verdict.comparison.elements = verdict.comparison.by_bits = write_case.num_codes();
  return with_findings(
      std::move(verdict),
      "against the reference's write" + (made.text.empty() ? "" : ", with " + made.text),
      write_case.differences(pools.value().contents()) + pools.value().stray_writes());
}

}  // namespace

Law kv_write_law(const KvWriter& writer) {
  return single_backend_law(
      {.name = "kv_write",
       .statement = "tokens go to their slots, and not a byte of the pools changes otherwise",
       .why_not_applicable = why_no_token,
       .check = {}},
      writer.backend, "it writes no K and V", [writer](const LawCase& law_case) {
        return near_and_distant(law_case, [&](const LawCase& tried, PoolDistance distance) {
          return check(writer, tried, distance);
        });
      });
}

}  // namespace recto::verify
