// Tensor-core scores under memory checks and counters: accesses are in bounds, in order, and after
// the data arrived; ldmatrix has no bank conflicts; K is read once. The checks, or the bounds,
// detect each fault in testdata/.

#include <bit>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/random_stream.h"
#include "cuda/kernels/row_tile.cuh"
#include "verify/cases/case_generator.h"
#include "verify/cases/placed_problem.h"
#include "verify/kernels/group_scores.h"
#include "verify/kernels/testdata/faulty_scores.h"
#include "verify/simt/checks/access_checker.h"
#include "verify/simt/counters/access_counter.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

CaseSpec scored_case(std::int64_t head_dim, std::int64_t group,
                     std::vector<std::int64_t> context_lengths) {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 2 * group,
                .num_kv_heads = 2,
                .head_dim_k = head_dim,
                .head_dim_v = 16,
                .q_type = ElementType::kBf16,
                .kv_type = ElementType::kBf16};
  spec.sequences.clear();
  for (const std::int64_t length : context_lengths) {
    spec.sequences.push_back(
        {.context_length = length, .id = static_cast<std::uint64_t>(spec.sequences.size())});
  }
  spec.options.scale = 0.125F;
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  return spec;
}

ScoreResults watched_scores(const PagedAttentionInputs& inputs, const simt::Schedule& schedule,
                            ScoreLaunch launch, const ObserverMaker& observer) {
  simt::Executor executor({.schedule = schedule});
  ScoreResults results(inputs);
  call_group_scores(executor, observer, launch, inputs, results);
  return results;
}

// The scores of a case by an observed kernel.
Comparison watched(const CaseSpec& spec, const simt::Schedule& schedule, ScoreLaunch launch,
                   const ObserverMaker& observer) {
  const PlacedProblem placed(make_problem(spec), spec.placement);
  return compare_scores(placed.inputs(),
                        watched_scores(placed.inputs(), schedule, launch, observer), {});
}

std::vector<std::uint32_t> bits_of(const ScoreResults& results) {
  std::vector<std::uint32_t> bits;
  for (const float score : results.scores) bits.push_back(std::bit_cast<std::uint32_t>(score));
  return bits;
}

TEST_CASE("the kernel accesses only its own memory, without races, after its copies have arrived") {
  CaseDomain domain;
  domain.types = {{ElementType::kFp16, ElementType::kFp16},
                  {ElementType::kBf16, ElementType::kBf16}};
  domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  domain.rows = {RowsKind::kDecode};
  domain.head_dims = {16, 48, 80, 128};
  domain.groups = {1, 3, 8, 16};
  domain.tile_sizes = {16, 64};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.context_max = 150;
  domain.has_softcap = domain.has_window = domain.has_alibi = domain.has_sinks = false;
  for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
    for (std::uint64_t number = 0; number < 12; ++number) {
      RandomStream stream = RandomStream(2026).split("score checks").split(number);
      const CaseSpec spec = draw_case(stream, domain);
      INFO(simt::schedule_policy_name(policy) << "\n" << spec.text());
      std::uint64_t accesses = 0;
      const PlacedProblem placed(make_problem(spec), spec.placement);
      const ScoreResults results = watched_scores(
          placed.inputs(), {.policy = policy, .seed = number, .preemption_period = 50},
          kernels::launch_group_scores, [&accesses](const simt::DeviceMemory& memory) {
            return std::shared_ptr<simt::AccessChecker>(new simt::AccessChecker(memory, {}),
                                                        [&accesses](simt::AccessChecker* checker) {
                                                          accesses += checker->accesses();
                                                          delete checker;
                                                        });
          });
      const Comparison comparison = compare_scores(placed.inputs(), results, {});
      INFO(comparison.text());
      CHECK(comparison.passed());
      // Equal bits, wherever threads were preempted.
      CHECK(bits_of(results) ==
            bits_of(watched_scores(placed.inputs(), {}, kernels::launch_group_scores, {})));
      // At least ldmatrix of each query, and each score.
      CHECK(accesses > static_cast<std::uint64_t>(comparison.elements));
    }
  }
}

// Counts of memory accesses for copying and loading tiles: "global read" or "shared read".
simt::LineCount counted(const CaseSpec& spec, const std::string& what) {
  simt::LineCount sum;
  const auto add = [&](const simt::AccessCounter& counter) {
    for (const simt::LineCount& count : counter.counts()) {
      if (count.what != what || count.place.find("row_tile.cuh") == std::string::npos) continue;
      sum.instructions += count.instructions;
      sum.bytes += count.bytes;
      sum.bank_conflicts += count.bank_conflicts;
    }
  };
  const Comparison comparison =
      watched(spec, {}, kernels::launch_group_scores, [&](const simt::DeviceMemory& memory) {
        return std::shared_ptr<simt::AccessCounter>(new simt::AccessCounter(memory),
                                                    [&](simt::AccessCounter* counter) {
                                                      add(*counter);
                                                      delete counter;
                                                    });
      });
  CHECK(comparison.passed());
  return sum;
}

TEST_CASE("ldmatrix has no bank conflicts for any head dim") {
  for (std::int64_t head_dim = 16; head_dim <= 256; head_dim += 16) {
    INFO("head dim " << head_dim);
    // Two KV heads, three tiles each; per sixteen dims, one fragment of queries and one of keys.
    const simt::LineCount loads = counted(scored_case(head_dim, 16, {40}), "shared read");
    CHECK(loads.instructions == static_cast<std::uint64_t>(2 * 3 * head_dim / 16 * 2));
    CHECK(loads.bytes == loads.instructions * 512);
    CHECK(loads.bank_conflicts == 0);
    // The hardware reads eight rows at once: their 16-byte units are in different groups of four
    // banks.
    const int stride = kernels::row_tile_stride(static_cast<int>(head_dim));
    std::set<int> fours;
    for (int row = 0; row < 8; ++row) fours.insert(row * stride / kernels::kUnitDims % 8);
    CHECK(fours.size() == 8);
  }
}

TEST_CASE("each query and key is read once for all heads of a group, and nothing else") {
  for (const std::int64_t group : {1, 5, 16}) {
    for (const std::int64_t context : {0, 1, 70}) {
      INFO("group " << group << ", context " << context);
      const simt::LineCount copies = counted(scored_case(80, group, {context}), "global read");
      CHECK(copies.bytes == static_cast<std::uint64_t>(2 * (group + context) * 80 * 2));
    }
  }
}

// Faulty kernels: the finding of each, or nothing if only the scores are wrong.
struct Fault {
  std::string name;
  ScoreLaunch launch;
  std::string finding;
};

TEST_CASE("each faulty kernel is found under every schedule") {
  const Fault faults[] = {
      {"unwaited copies", unwaited_copies::launch_group_scores, "unfinished copy"},
      {"an unwaited group", unwaited_group::launch_group_scores, "unfinished copy"},
      {"uncommitted copies", uncommitted_copies::launch_group_scores, "unfinished copy"},
      {"no block barrier", no_block_barrier::launch_group_scores, "race"},
      {"no warp barrier", no_warp_barrier::launch_group_scores, "race"},
      {"exchanged registers", exchanged_registers::launch_group_scores, ""},
      {"transposed fragments", transposed_fragments::launch_group_scores, ""},
  };
  const CaseSpec spec = scored_case(48, 3, {1, 100});
  const ObserverMaker checks = [](const simt::DeviceMemory& memory) {
    return std::make_shared<simt::AccessChecker>(memory, simt::AccessCheckerOptions{});
  };
  for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
    for (const Fault& fault : faults) {
      INFO(fault.name << ", " << simt::schedule_policy_name(policy));
      const auto run = [&](ScoreLaunch launch) {
        return watched(spec, {.policy = policy, .seed = 1}, launch, checks);
      };
      CHECK(run(kernels::launch_group_scores).passed());
      if (fault.finding.empty()) {
        CHECK_FALSE(run(fault.launch).passed());
      } else {
        CHECK_THROWS_WITH(run(fault.launch),
                          ContainsSubstring(fault.finding + " in kernel 'group_scores'"));
      }
    }
  }
}

}  // namespace
}  // namespace recto::verify
