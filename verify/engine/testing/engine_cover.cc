// The scenarios on which the law is tested.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/random_stream.h"
#include "verify/cases/pairwise_cover.h"
#include "verify/engine/testing/engine_law.h"

namespace recto::verify {
namespace {

// The scales keep values of a few units well inside fp8's range.
constexpr std::array kNumbers = {
    EngineNumbers{"fp32", {ElementType::kFp32, ElementType::kFp32, 1, 1}, 1.0},
    EngineNumbers{"fp16", {ElementType::kFp16, ElementType::kFp16, 1, 1}, 0.05},
    EngineNumbers{"bf16", {ElementType::kBf16, ElementType::kBf16, 1, 1}, 0.01},
    EngineNumbers{"fp16/e4m3", {ElementType::kFp16, ElementType::kE4m3, 0.02F, 0.025F}, 0.008},
    EngineNumbers{"bf16/e5m2", {ElementType::kBf16, ElementType::kE5m2, 0.01F, 0.0125F}, 0.006}};

struct Sequences {
  const char* name;
  sim::Decoding decoding;
  std::int32_t width;
  std::int64_t drafts;
};
constexpr std::array kSequences = {Sequences{"single", sim::Decoding::kSingle, 1, 0},
                                   Sequences{"drafts", sim::Decoding::kSingle, 1, 3},
                                   Sequences{"parallel", sim::Decoding::kParallel, 3, 0},
                                   Sequences{"parallel drafts", sim::Decoding::kParallel, 2, 2},
                                   Sequences{"beams", sim::Decoding::kBeam, 3, 0}};

constexpr std::array<std::int64_t, 5> kBlockSizes = {1, 2, 4, 8, 16};
constexpr std::array<std::int64_t, 3> kTokensOfStep = {6, 11, 64};

struct Model {
  std::int64_t num_q_heads;
  std::int64_t num_kv_heads;
  bool has_qk_norm;
  std::int64_t head_dim;
  std::int64_t head_dim_16_bit;  // where q and the cache are fp16 or bf16
};
// The prefill kernel supports head dim 80 only in 16 bits.
constexpr std::array kModels = {Model{2, 1, false, 64, 64}, Model{2, 1, true, 64, 64},
                                Model{4, 2, false, 64, 64}, Model{2, 1, true, 128, 128},
                                Model{3, 1, false, 128, 80}};

struct Memory {
  const char* name;
  PoolSize pool;
  sim::PreemptionRule preemption;
};
constexpr std::array kMemories = {
    Memory{"roomy", PoolSize::kRoomy, sim::PreemptionRule::kRecompute},
    Memory{"tight, recompute", PoolSize::kTight, sim::PreemptionRule::kRecompute},
    Memory{"tight, swap", PoolSize::kTight, sim::PreemptionRule::kSwap}};

constexpr std::array kLayouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked};

enum Factor { kNumber, kSequence, kBlock, kChunk, kMemory, kCache, kLayout, kCall, kModel };
constexpr std::array<int, 9> kLevels = {std::ssize(kNumbers),    std::ssize(kSequences),
                                        std::ssize(kBlockSizes), std::ssize(kTokensOfStep),
                                        std::ssize(kMemories),   2,
                                        std::ssize(kLayouts),    3,
                                        std::ssize(kModels)};

EngineScenario scenario_of(const Sequences& sequences, std::uint64_t seed) {
  EngineScenario scenario{.seed = seed, .shape = {.vocabulary = 12}};
  scenario.traffic.decoding = sequences.decoding;
  scenario.traffic.width = sequences.width;
  scenario.options.draft_tokens = sequences.drafts;
  return scenario;
}

// `row` has a level for each factor.
EngineScenario scenario_of(const std::vector<int>& row, std::uint64_t seed) {
  const auto pick = [&row](const auto& values, Factor factor) {
    return values[static_cast<std::size_t>(row[factor])];
  };
  const EngineNumbers numbers = pick(kNumbers, kNumber);
  const Sequences sequences = pick(kSequences, kSequence);
  const Memory memory = pick(kMemories, kMemory);
  const Model model = pick(kModels, kModel);
  EngineScenario scenario = scenario_of(sequences, seed);
  scenario.attention_share = numbers.attention_share;
  scenario.shape.num_q_heads = model.num_q_heads;
  scenario.shape.num_kv_heads = model.num_kv_heads;
  scenario.shape.has_qk_norm = model.has_qk_norm;
  const bool is_16_bit = element_bytes(numbers.rounding.cache) == 2;
  scenario.shape.head_dim = is_16_bit ? model.head_dim_16_bit : model.head_dim;
  scenario.pool = memory.pool;
  EngineOptions& options = scenario.options;
  options.rounding = numbers.rounding;
  options.layout = pick(kLayouts, kLayout);
  options.block_size = pick(kBlockSizes, kBlock);
  options.caching = row[kCache] == 1 ? cache::PrefixCaching::kOn : cache::PrefixCaching::kOff;
  options.max_batched_tokens = pick(kTokensOfStep, kChunk);
  options.max_sequences = 6;
  options.preemption = memory.preemption;
  options.calls = row[kCall] == 1 ? StepCalls::kTogether : StepCalls::kApart;
  if (row[kCall] == 2) options.decode_kernel = AttentionKernel::kReferenceDecode;
  scenario.name = fmt::format("{}, {}, {}, block {}, {} tokens, {}, dim {}{}", numbers.name,
                              sequences.name, memory.name, options.block_size,
                              options.max_batched_tokens, kv_layout_name(options.layout),
                              scenario.shape.head_dim, row[kCache] == 1 ? ", cache" : "");
  return scenario;
}

}  // namespace

std::span<const EngineNumbers> engine_numbers() { return kNumbers; }

std::vector<EngineScenario> engine_cover(unsigned number) {
  std::vector<EngineScenario> scenarios;
  for (const std::vector<int>& row : pairwise_cover(kLevels, 2026 + number)) {
    scenarios.push_back(scenario_of(row, 1000 * std::uint64_t{number} + scenarios.size()));
  }
  return scenarios;
}

std::vector<EngineScenario> engine_product() {
  constexpr std::array kCrossed = {kSequence, kBlock, kChunk, kMemory, kCache};
  int size = 1;
  for (const Factor factor : kCrossed) size *= kLevels[factor];
  RandomStream drawn = RandomStream(2026).split("the other factors");
  std::vector<EngineScenario> scenarios;
  for (int number = 0; number < size; ++number) {
    std::vector<int> row;
    for (const int count : kLevels) {
      row.push_back(static_cast<int>(drawn.next_below(static_cast<std::uint64_t>(count))));
    }
    int rest = number;
    for (const Factor factor : kCrossed) {
      row[factor] = rest % kLevels[factor];
      rest /= kLevels[factor];
    }
    scenarios.push_back(scenario_of(row, 100'000 + scenarios.size()));
  }
  return scenarios;
}

std::vector<EngineScenario> split_contexts(Splits splits) {
  const bool is_planned = splits == Splits::kPlanned;
  std::vector<EngineScenario> scenarios;
  for (const Sequences& sequences : kSequences) {
    for (const StepGraphs graphs : {StepGraphs::kOff, StepGraphs::kReplayed}) {
      // Graphs have one split by default, so their contexts would not be split.
      if (is_planned && graphs == StepGraphs::kReplayed) continue;
      const std::uint64_t number = scenarios.size();
      EngineScenario scenario = scenario_of(sequences, 300'000 + number);
      scenario.shape.layers = is_planned ? 1 : 2;
      EngineTraffic& traffic = scenario.traffic;
      traffic.requests = is_planned ? 1 : 3;
      traffic.prompt_min = is_planned ? 520 : 20;
      traffic.prompt_max = is_planned ? 600 : 40;
      traffic.arrival_gap = 1;
      traffic.width = std::min(traffic.width, 2);
      EngineOptions& options = scenario.options;
      options.max_length = is_planned ? 1024 : 256;
      if (!is_planned) options.split_size = 8;
      options.layout = kLayouts[number % kLayouts.size()];
      options.graphs = graphs;
      // Every second pair of scenarios uses the reference kernel instead of the plan's choice.
      if (number % 4 >= 2) options.decode_kernel = AttentionKernel::kReferenceDecode;
      scenario.name = fmt::format("{}, splits of {}, {}{}", sequences.name, is_planned ? 256 : 8,
                                  kv_layout_name(options.layout),
                                  graphs == StepGraphs::kReplayed ? ", graphs" : "");
      scenarios.push_back(scenario);
    }
  }
  return scenarios;
}

std::vector<EngineScenario> tiny_pools() {
  std::vector<EngineScenario> scenarios;
  for (const std::int64_t block_size : {1, 2, 4}) {
    for (const Sequences& sequences : kSequences) {
      for (const sim::PreemptionRule rule :
           {sim::PreemptionRule::kRecompute, sim::PreemptionRule::kSwap}) {
        const std::uint64_t number = scenarios.size();
        EngineScenario scenario = scenario_of(sequences, 200'000 + number);
        scenario.shape.layers = 1;
        // Texts begin short and grow long, so that all requests are admitted and few fit to their
        // end.
        scenario.traffic = {.requests = 8,
                            .prompt_min = 1,
                            .prompt_max = 6,
                            .shared_prompt = 2,
                            .output_min = 16,
                            .output_max = 24,
                            .arrival_gap = 1,
                            .decoding = sequences.decoding,
                            .width = std::min(sequences.width, 2)};
        scenario.pool = PoolSize::kTight;
        scenario.options.block_size = block_size;
        scenario.options.max_sequences = 16;
        scenario.options.caching =
            number % 3 == 0 ? cache::PrefixCaching::kOn : cache::PrefixCaching::kOff;
        scenario.options.preemption = rule;
        scenario.name =
            fmt::format("tiny pool, {}, {}, block {}", sequences.name,
                        rule == sim::PreemptionRule::kSwap ? "swap" : "recompute", block_size);
        scenarios.push_back(scenario);
      }
    }
  }
  return scenarios;
}

std::vector<EngineScenario> replayed_steps() {
  std::vector<EngineScenario> scenarios = tiny_pools();
  for (EngineScenario& scenario : engine_cover(7)) {
    // Prefills get a call of their own, so that the decoding sequences can be replayed.
    scenario.options.calls = StepCalls::kApart;
    scenarios.push_back(std::move(scenario));
  }
  for (EngineScenario& scenario : scenarios) {
    scenario.options.graphs = StepGraphs::kReplayed;
    scenario.name += ", graphs";
  }
  return scenarios;
}

}  // namespace recto::verify
