// The attention kernels under memory checks: every access is within its buffer and its sequence's
// blocks, aligned, ordered, and reads only written memory; any finding fails the call. A cover of
// types, layouts and accesses, under several schedules. (K and V moved: cache_checks_test.cc.)

#include <bit>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/cases/case_generator.h"
#include "verify/cases/placed_problem.h"
#include "verify/comparison.h"
#include "verify/kernels/checked_kernel_run.h"
#include "verify/kernels/kernel_backends.h"
#include "verify/law.h"

namespace recto::verify {
namespace {

using enum ElementType;

// More keys than the warps of a thread block process in one round, or stage at once.
constexpr std::int64_t kSplitSize = 140;
constexpr int kRuns = static_cast<int>(kCheckedSchedules.size());

// The domain of one configuration.
CaseDomain domain_of(TypePair types, KvLayout layout, std::vector<std::int64_t> head_dims) {
  CaseDomain domain;
  domain.types = {types};
  domain.layouts = {layout};
  domain.head_dims = std::move(head_dims);
  domain.rows = {RowsKind::kDecode};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.groups = {1, 2};
  domain.context_max = 200;
  domain.num_rows_max = 6;
  return domain;
}

// The first case of the domain in which some row may attend to several splits.
CaseSpec first_long_case(const std::string& name, const CaseDomain& domain) {
  for (std::uint64_t number = 0;; ++number) {
    REQUIRE(number < 100);
    RandomStream stream = RandomStream(2026).split(name).split(number);
    const CaseSpec spec = draw_case(stream, domain);
    if (spec.longest_context() > kSplitSize && spec.num_rows() > 0) return spec;
  }
}

std::string text_of(TypePair types, KvLayout layout) {
  std::ostringstream text;
  text << types.q << "/" << types.kv << " " << layout;
  return text.str();
}

// Runs under each schedule, within the bound, and adds the runs to the cover.
template <typename MakeBackend>
void check_case(const CaseSpec& spec, const std::string& configuration,
                const MakeBackend& make_backend, RunCover& cover) {
  const AttentionProblem problem = make_problem(spec);
  for (const simt::Schedule& schedule : kCheckedSchedules) {
    std::uint64_t accesses = 0;
    const Backend backend = make_backend(checked_run(schedule, accesses));
    const LawVerdict verdict =
        oracle_comparison().check(backend, {problem, spec.placement}, BoundKind::kProbabilistic);
    INFO(backend.name << ", " << simt::schedule_policy_name(schedule.policy) << "\n"
                      << spec.text() << "\n"
                      << verdict.details());
    CHECK_FALSE(verdict.skipped);
    CHECK_FALSE(verdict.failed());
    CHECK(accesses > 0);
    cover.add(backend.name, configuration, accesses);
  }
}

Backend split_decode(const KernelRun& how) { return split_decode_backend(how, kSplitSize); }
Backend gqa_decode(const KernelRun& how) { return gqa_decode_backend(how, kSplitSize); }
Backend tma_decode(const KernelRun& how) { return tma_decode_backend(how, kSplitSize); }

TEST_CASE("decode accesses only its own memory, without races, in every type and layout") {
  RunCover cover;
  for (const TypePair types : kTypePairs) {
    for (const KvLayout layout : kCheckedLayouts) {
      // Whole vectors, or none; packs have both.
      for (const std::vector<std::int64_t>& head_dims :
           {std::vector<std::int64_t>{8, 20, 64}, {3, 7, 33}}) {
        const std::string name = text_of(types, layout);
        const CaseSpec spec = first_long_case(name, domain_of(types, layout, head_dims));
        const PlacedProblem placed(make_problem(spec), spec.placement);
        const std::string access = access_name(placed.inputs().kv.k, placed.inputs().kv.v);
        const bool is_packed = layout == KvLayout::kPacked;
        CHECK(access == (is_packed ? "packs" : head_dims[0] == 8 ? "fours" : "singles"));
        const std::string configuration = name + " " + access;
        check_case(spec, configuration, reference_decode_backend, cover);
        check_case(spec, configuration, split_decode, cover);
      }
    }
  }
  cover.print();
  // For packed caches, each pair of types has two cases.
  for (const std::string kernel : {"reference-decode", "split-decode-140"}) {
    CHECK(cover.complete(kernel, kRuns) == kTypePairs.size() * 4);
    CHECK(cover.complete(kernel, 2 * kRuns) == kTypePairs.size());
  }
}

struct Instance {
  TypePair types;
  std::int64_t head_dim;
};

// Some instances of each way to multiply and to read a cache.
std::vector<Instance> instances(std::int64_t fp32_dim, std::int64_t other_dim) {
  return {{{kFp32, kFp32}, 64},        {{kFp32, kFp32}, fp32_dim}, {{kFp16, kFp16}, 64},
          {{kFp16, kFp16}, other_dim}, {{kBf16, kBf16}, 64},       {{kBf16, kBf16}, other_dim},
          {{kFp16, kE4m3}, 64},        {{kFp16, kE4m3}, 128},      {{kBf16, kE5m2}, 64},
          {{kBf16, kE5m2}, 128}};
}

// Dims that are read 16 bytes at a time.
CaseDomain streamed_domain(const Instance& instance, KvLayout layout) {
  CaseDomain domain = domain_of(instance.types, layout, {instance.head_dim});
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  domain.num_seqs_max = 2;
  domain.groups = {1, 3};
  return domain;
}

std::string text_of(const Instance& instance, KvLayout layout) {
  return text_of(instance.types, layout) + " " + std::to_string(instance.head_dim);
}

TEST_CASE("group-packed decode accesses only its own memory, without races, after copies arrive") {
  RunCover cover;
  for (const Instance& instance : instances(80, 80)) {
    for (const KvLayout layout : kCheckedLayouts) {
      const std::string name = text_of(instance, layout);
      check_case(first_long_case(name, streamed_domain(instance, layout)), name, gqa_decode, cover);
    }
  }
  cover.print();
  CHECK(cover.complete("gqa-decode-140", kRuns) == 10 * kCheckedLayouts.size());
}

// A cache whose blocks are fetched whole: the first thread of each block in a tile issues the copy.
struct BlockCache {
  KvLayout layout;
  std::int64_t block_size;
};
constexpr BlockCache kBlockCaches[] = {{KvLayout::kTokenMajor, 1},
                                       {KvLayout::kHeadMajor, 1},
                                       {KvLayout::kHeadMajor, 4},
                                       {KvLayout::kHeadMajor, 48},
                                       {KvLayout::kHeadMajor, 256}};

CaseDomain block_domain(const Instance& instance, const BlockCache& cache) {
  CaseDomain domain = streamed_domain(instance, cache.layout);
  domain.block_sizes = {cache.block_size};
  for (const Gap slots : {&Gaps::k_slots, &Gaps::v_slots}) std::erase(domain.gaps, slots);
  return domain;
}

std::string text_of(const Instance& instance, const BlockCache& cache) {
  return text_of(instance, cache.layout) + " blocks of " + std::to_string(cache.block_size);
}

constexpr Instance kIn16Bits[] = {
    {{kFp16, kFp16}, 64}, {{kFp16, kFp16}, 128}, {{kBf16, kBf16}, 64}, {{kBf16, kBf16}, 128}};

TEST_CASE("TMA decode accesses only its own memory, without races, after copies arrive") {
  RunCover cover;
  for (const Instance& instance : kIn16Bits) {
    for (const BlockCache& cache : kBlockCaches) {
      const std::string name = text_of(instance, cache);
      check_case(first_long_case(name, block_domain(instance, cache)), name, tma_decode, cover);
    }
  }
  cover.print();
  CHECK(cover.complete("tma-decode-140", kRuns) == std::size(kIn16Bits) * std::size(kBlockCaches));
}

TEST_CASE("prefill accesses only its own memory, without races, after copies arrive") {
  RunCover cover;
  for (const Instance& instance : instances(128, 96)) {
    for (const KvLayout layout : kCheckedLayouts) {
      const std::string name = text_of(instance, layout);
      CaseDomain domain = streamed_domain(instance, layout);
      domain.rows = {RowsKind::kChunk, RowsKind::kMixed};
      check_case(first_long_case(name, domain), name, paged_prefill_backend, cover);
    }
  }
  cover.print();
  CHECK(cover.complete("paged-prefill", kRuns) == 10 * kCheckedLayouts.size());
}

TEST_CASE("decode of whole tiles and wide prefill access only their own memory, without races") {
  RunCover cover;
  for (const Instance& instance : kIn16Bits) {
    for (const KvLayout layout : kCheckedLayouts) {
      const std::string name = text_of(instance, layout) + " wide";
      CaseDomain domain = streamed_domain(instance, layout);
      domain.block_sizes = {16, 48, 256};
      domain.gaps = {};
      domain.has_softcap = domain.has_alibi = domain.has_negative_scale = false;
      check_case(first_long_case(name, domain), name, gqa_decode, cover);
      if (layout == KvLayout::kPacked) continue;
      domain.rows = {RowsKind::kChunk};
      check_case(first_long_case(name, domain), name, paged_prefill_backend, cover);
    }
  }
  CHECK(cover.complete("gqa-decode-140", kRuns) == 3 * std::size(kIn16Bits));
  CHECK(cover.complete("paged-prefill", kRuns) == 2 * std::size(kIn16Bits));
}

// Two tiles of a group's heads, and rows that exceed a tile of 128.
TEST_CASE("groups above 16 and head dims above 128 access only their own memory, without races") {
  const Instance all[] = {{{kFp32, kFp32}, 256},
                          {{kFp16, kFp16}, 192},
                          {{kBf16, kBf16}, 256},
                          {{kFp16, kE4m3}, 192},
                          {{kBf16, kE5m2}, 256}};
  RunCover cover;
  for (std::size_t i = 0; i < std::size(all); ++i) {
    const KvLayout layout = kCheckedLayouts[i % 3];
    const std::string name = text_of(all[i], layout) + ", group 17";
    CaseDomain domain = streamed_domain(all[i], layout);
    domain.num_kv_heads_max = 1;
    domain.groups = {17};
    check_case(first_long_case(name, domain), name, gqa_decode, cover);
    if (all[i].types.q != all[i].types.kv || all[i].types.q == kFp32) continue;
    domain.rows = {RowsKind::kChunk};
    check_case(first_long_case(name, domain), name, paged_prefill_backend, cover);
  }
  cover.print();
  CHECK(cover.complete("gqa-decode-140", kRuns) == std::size(all));
  CHECK(cover.complete("paged-prefill", kRuns) == 2);
}

std::vector<std::uint64_t> result_bits(const Backend& backend, const PagedAttentionInputs& inputs) {
  std::vector<std::uint64_t> bits;
  const reference::AttentionResult result = result_of(backend.call(inputs));
  for (const double value : result.out) bits.push_back(std::bit_cast<std::uint64_t>(value));
  for (const double value : result.lse_ln) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

template <typename MakeBackend>
void check_preempted(const CaseSpec& spec, const MakeBackend& make_backend) {
  const PlacedProblem placed(make_problem(spec), spec.placement);
  const auto expected = result_bits(make_backend(KernelRun{}), placed.inputs());
  CHECK(expected.size() > 1);
  for (std::uint64_t seed = 0; seed < kPreemptingSeeds; ++seed) {
    INFO("seed " << seed << "\n" << spec.text());
    std::uint64_t accesses = 0;
    const Backend backend = make_backend(checked_run(preempting_schedule(seed), accesses));
    CHECK(result_bits(backend, placed.inputs()) == expected);
    CHECK(accesses > 0);
  }
}

TEST_CASE("no bit of decode's results depends on where threads are preempted") {
  const TypePair pairs[] = {{kFp32, kFp32}, {kBf16, kBf16}, {kFp16, kE4m3}};
  for (const TypePair types : pairs) {
    for (const KvLayout layout : kCheckedLayouts) {
      const std::string name = text_of(types, layout) + " preempted";
      const CaseSpec spec = first_long_case(name, domain_of(types, layout, {7, 8, 20, 64}));
      check_preempted(spec, reference_decode_backend);
      check_preempted(spec, split_decode);
    }
  }
}

TEST_CASE("no bit of group-packed decode and prefill depends on where threads are preempted") {
  const Instance some[] = {{{kFp32, kFp32}, 64}, {{kBf16, kBf16}, 64}, {{kFp16, kE4m3}, 64}};
  for (std::size_t i = 0; i < std::size(some); ++i) {
    const KvLayout layout = kCheckedLayouts[i];
    const std::string name = text_of(some[i], layout) + " preempted";
    CaseDomain domain = streamed_domain(some[i], layout);
    check_preempted(first_long_case(name, domain), gqa_decode);
    domain.rows = {RowsKind::kChunk};
    check_preempted(first_long_case(name, domain), paged_prefill_backend);
  }
}

TEST_CASE("no bit of TMA decode depends on where threads are preempted") {
  const Instance some[] = {{{kFp16, kFp16}, 128}, {{kBf16, kBf16}, 64}};
  for (const Instance& instance : some) {
    for (const BlockCache& cache : kBlockCaches) {
      const std::string name = text_of(instance, cache) + " preempted";
      check_preempted(first_long_case(name, block_domain(instance, cache)), tma_decode);
    }
  }
}

}  // namespace
}  // namespace recto::verify
