#include "verify/laws/cache_operations/gather_law.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "reference/kv_cache_ops.h"
#include "verify/laws/cache_operations/single_backend_law.h"
#include "verify/laws/cache_operations/slot_contents.h"
#include "verify/laws/cache_operations/tried_pools.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kRowGap = 16;  // elements
constexpr std::byte kUntouched{0x55};

// The rows into which contexts are gathered.
struct GatheredRows {
  MutableRowsView shape = {};
  std::vector<std::byte> memory = {};

  GatheredRows(const KvTensorView& cache, std::int64_t num_rows)
      : shape{.type = cache.type,
              .num_rows = num_rows,
              .num_heads = cache.num_kv_heads,
              .head_dim = cache.head_dim,
              .row_stride = cache.num_kv_heads * cache.head_dim + kRowGap,
              .head_stride = cache.head_dim},
        memory(static_cast<std::size_t>(num_rows * shape.row_stride * element_bytes(cache.type)),
               kUntouched) {}

  MutableRowsView view() {
    MutableRowsView rows = shape;
    rows.data = memory.data();
    return rows;
  }
  std::int64_t num_codes() const { return shape.num_rows * shape.row_stride; }
};

// Views the rows as the slots of one block.
KvTensorView as_slots(const MutableRowsView& rows) {
  return {.type = rows.type,
          .layout = KvLayout::kTokenMajor,
          .num_blocks = 1,
          .block_size = rows.num_rows,
          .num_kv_heads = rows.num_heads,
          .head_dim = rows.head_dim,
          .block_stride = rows.num_rows * rows.row_stride,
          .head_stride = rows.head_stride,
          .slot_stride = rows.row_stride};
}

std::string row_text(const SlotPlace& place) {
  return fmt::format("row {}, head {}", place.slot, place.head);
}

std::string differences(const char* what, const GatheredRows& seen, const GatheredRows& expected) {
  for (std::size_t byte = 0; byte < seen.memory.size(); ++byte) {
    if (seen.memory[byte] == expected.memory[byte]) continue;
    const std::vector<std::byte> before(seen.memory.size(), kUntouched);
    const KvTensorView slots = as_slots(seen.shape);
    const std::int64_t element = static_cast<std::int64_t>(byte) / element_bytes(seen.shape.type);
    return fmt::format(
        "{}: wrong, first in {} of {} rows\n  {}\n", what, element_text(slots, element, row_text),
        seen.shape.num_rows,
        found_instead({before, expected.memory, seen.memory}, slots, element, row_text));
  }
  return {};
}

// The last sequence's rows come first. Returns the number of rows.
std::int64_t place_contexts(std::span<const std::int32_t> lengths,
                            std::vector<std::int64_t>& starts) {
  starts.resize(lengths.size());
  std::int64_t rows = 0;
  for (std::size_t s = lengths.size(); s-- > 0;) {
    starts[s] = rows;
    rows += lengths[s] + 1;
  }
  return rows;
}

LawVerdict check(const KvGatherer& gatherer, const LawCase& law_case, PoolDistance distance) {
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  std::vector<std::int64_t> starts;
  const std::int64_t num_rows = place_contexts(inputs.context_length, starts);
  GatheredRows k(inputs.kv.k, num_rows);
  GatheredRows v(inputs.kv.v, num_rows);
  GatheredRows expected_k = k;
  GatheredRows expected_v = v;
  GatherInputs gathered{.kv = inputs.kv,
                        .block_table = inputs.block_table,
                        .context_length = inputs.context_length,
                        .context_start = starts,
                        .k = expected_k.view(),
                        .v = expected_v.view()};
  reference::gather_kv(gathered);
  gathered.k = k.view();
  gathered.v = v.view();
  LawVerdict verdict;
  Result<TriedPools> pools = TriedPools::create(distance, inputs.kv, copied_pools(inputs.kv));
  if (!pools.is_ok()) verdict.skipped = pools.status().message();
  if (verdict.skipped) return verdict;
  gathered.kv = as_const(pools.value().kv());
  const CallOutcome outcome = guarded([&] { return gatherer.gather(gathered); });
  if (done_or_verdict(outcome, verdict) == nullptr) return verdict;
  verdict.comparison.elements = verdict.comparison.by_bits = k.num_codes() + v.num_codes();
  return with_findings(std::move(verdict), "against the reference's gather",
                       differences("k", k, expected_k) + differences("v", v, expected_v));
}

}  // namespace

Law gather_law(const KvGatherer& gatherer) {
  return single_backend_law(
      {.name = "gather",
       .statement = "contexts are gathered unchanged, and no other byte changes",
       .why_not_applicable = [](const LawCase&) { return std::optional<std::string>(); },
       .check = {}},
      gatherer.backend, "it gathers no contexts", [gatherer](const LawCase& law_case) {
        return near_and_distant(law_case, [&](const LawCase& tried, PoolDistance distance) {
          return check(gatherer, tried, distance);
        });
      });
}

}  // namespace recto::verify
