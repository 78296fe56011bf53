#pragma once

// The law, in two parts, of an engine that schedules, pages, shares, copies, preempts, guesses and
// takes back:
//
//   tokens  are those of the dense run, one and all;
//   logits  that a token was chosen by are within kFlowLambda deviations of the dense run's: it
//           shows what turns no token. Beyond a token that is another one, no logit is compared.
//
// Requests whose choices rounding could turn are drawn again. That is judged from the dense run
// alone, before the engine starts, and how many there were is part of the verdict.

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "verify/engine/dense_generation.h"
#include "verify/engine/engine_run.h"

namespace recto::verify {

// Of all requests that are drawn, those that may be undecided.
inline constexpr double kUndecidedMax = 0.05;

enum class PoolSize : std::uint8_t {
  kTight,  // the largest request alone fills it: all others give way to it again and again
  kRoomy,  // all requests at once
};

struct EngineTraffic {
  std::int64_t requests = 4;
  std::int64_t prompt_min = 5;
  std::int64_t prompt_max = 24;
  std::int64_t shared_prompt = 12;  // tokens that all prompts but every third begin with, at most
  std::int64_t output_min = 4;
  std::int64_t output_max = 9;
  std::int64_t arrival_gap = 2;  // steps, at most
  sim::Decoding decoding = sim::Decoding::kSingle;
  std::int32_t width = 1;
};

// What a model is that computes in these numbers.
struct EngineNumbers {
  const char* name;
  KvRounding rounding;
  // Of mixing weights. The coarser the numbers, the less may hang on what attention makes of them:
  // else rounding decides too many tokens.
  double attention_share;

  bool is_fp32() const { return rounding.cache == ElementType::kFp32; }
};
std::span<const EngineNumbers> engine_numbers();

enum class WeightKind : std::uint8_t {
  kMixing,   // drawn_weights: attention mixes what it reads
  kCopying,  // copying_weights: tokens hang on single keys. Not for fp32
};

struct EngineScenario {
  std::string name;
  ModelShape shape;
  WeightKind weights = WeightKind::kMixing;
  WeightDraw draw;  // kCopying: its seed alone
  EngineTraffic traffic;
  PoolSize pool = PoolSize::kRoomy;
  EngineOptions options;  // but for num_blocks and host_blocks
  std::uint64_t seed = 0;
};

// What a scenario draws: requests that are decided, and their dense runs.
struct DrawnTraffic {
  std::vector<GenerationRequest> requests;
  std::vector<GeneratedText> texts;  // [requests]
  std::int64_t drawn = 0;
  std::int64_t undecided = 0;  // of these
  std::int64_t num_blocks = 0;
};
DrawnTraffic draw_traffic(const EngineScenario& scenario, const ModelWeights& weights);

ModelWeights weights_of(const EngineScenario& scenario);

struct EngineVerdict {
  std::int64_t drawn = 0;
  std::int64_t undecided = 0;
  std::int64_t tokens = 0;  // compared
  std::int64_t wrong_tokens = 0;
  std::int64_t wrong_logits = 0;  // tokens whose logits are beyond the bound
  double worst_logit = 0;         // of right texts: in deviations
  EngineCounts counts;
  std::string first;  // difference

  bool failed() const { return wrong_tokens + wrong_logits > 0; }
};

// Aborts where the scenario can't be served.
EngineVerdict judge_engine(const EngineScenario& scenario);

// Scenarios in which any two settings meet in any two of their values. Each number has others, with
// other weights and requests.
std::vector<EngineScenario> engine_cover(unsigned number);

// Every block size with every chunk, with and without prefix caching, every memory (roomy, or tight
// with either preemption) and every way to decode, drafts and beams among them; what is not crossed
// is drawn.
std::vector<EngineScenario> engine_product();

// Pools that one request fills, and eight that want to grow in them, in each way to decode and to
// preempt.
std::vector<EngineScenario> tiny_pools();

// Steps as graphs that are replayed: tiny pools, and a cover of settings.
std::vector<EngineScenario> replayed_steps();

// A row of a table for each verdict; sums, and the share of undecided requests.
struct EngineReport {
  std::int64_t scenarios = 0;
  std::int64_t drawn = 0;
  std::int64_t undecided = 0;
  std::int64_t tokens = 0;
  std::int64_t wrong_tokens = 0;
  double worst_logit = 0;  // in deviations

  void add(const EngineScenario& scenario, const EngineVerdict& verdict, std::ostream& out);
  // Both parts of the law, and what was drawn again.
  void sum_up(std::ostream& out) const;
  double undecided_share() const;
};

}  // namespace recto::verify
