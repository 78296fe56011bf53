#pragma once

// The law of an engine that schedules, pages, shares, copies, preempts, drafts and rolls back. It
// has two parts:
//
//   tokens  are all equal to those of the dense run;
//   logits  from which a token was chosen are within kFlowLambda deviations of the dense run's.
//   This
//           part finds errors that change no token. After a wrong token, no logit is compared.
//
// Requests whose choices rounding could change are drawn again. The dense run alone decides that,
// before the engine starts. The verdict contains their number.

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "verify/engine/engine.h"
#include "verify/engine/testing/dense_model.h"

namespace recto::verify {

// The largest share of drawn requests that may be undecided.
inline constexpr double kUndecidedMax = 0.05;

enum class PoolSize : std::uint8_t {
  kTight,  // the largest request fills it, so all others are preempted again and again
  kRoomy,  // has room for all requests at once
};

struct EngineTraffic {
  std::int64_t requests = 4;
  std::int64_t prompt_min = 5;
  std::int64_t prompt_max = 24;
  std::int64_t shared_prompt = 12;  // at most; tokens with which two thirds of the prompts begin
  std::int64_t output_min = 4;
  std::int64_t output_max = 9;
  std::int64_t arrival_gap = 2;  // steps, at most
  sim::Decoding decoding = sim::Decoding::kSingle;
  std::int32_t width = 1;
};

// The number formats of a model, and how much attention may contribute in them (WeightDraw). In
// coarser formats it must contribute less, or rounding would decide too many tokens.
struct EngineNumbers {
  const char* name;
  KvRounding rounding;
  double attention_share;
};
std::span<const EngineNumbers> engine_numbers();

struct EngineScenario {
  std::string name = {};
  std::uint64_t seed = 0;  // of weights and requests
  ModelShape shape = {};
  double attention_share = 1.0;
  EngineTraffic traffic = {};
  PoolSize pool = PoolSize::kRoomy;
  EngineOptions options = {};  // except num_blocks, host_blocks and fault
};

// What a scenario draws: weights, decided requests, and their dense runs.
struct DrawnScenario {
  EngineScenario scenario;
  ModelWeights weights;
  std::vector<GenerationRequest> requests = {};
  std::vector<GeneratedText> texts = {};  // [requests]
  std::int64_t drawn = 0;                 // requests, including undecided ones
};
DrawnScenario draw_scenario(const EngineScenario& scenario);

struct EngineVerdict {
  std::int64_t drawn = 0;      // requests
  std::int64_t undecided = 0;  // requests that were drawn again
  std::int64_t tokens = 0;     // compared
  std::int64_t wrong_tokens = 0;
  std::int64_t wrong_logits = 0;  // tokens with logits beyond the bound
  double worst_logit = 0;         // over right texts, in deviations
  EngineCounts counts = {};
  std::string first = {};  // the first difference

  bool failed() const { return wrong_tokens + wrong_logits > 0; }
};

// Aborts if the scenario cannot be served.
EngineVerdict judge_engine(const DrawnScenario& drawn, EngineFault fault = EngineFault::kNone);

// Scenarios that cover all pairs of values of any two settings. Each `number` gives different
// scenarios, with different weights and requests.
std::vector<EngineScenario> engine_cover(unsigned number);

// All combinations of block size, chunk, prefix caching on or off, memory (roomy, or tight with
// either preemption) and decoding, including drafts and beams; other settings are drawn.
std::vector<EngineScenario> engine_product();

// Pools that one request fills, with eight requests that grow in them, for each kind of decoding
// and preemption.
std::vector<EngineScenario> tiny_pools();

// How large splits of decode are. Contexts have more than two splits from the first token on:
// splits of 8 keys or, with kPlanned, of the 256 or more keys that plans choose.
enum class Splits : std::uint8_t { kSmall, kPlanned };
std::vector<EngineScenario> split_contexts(Splits splits);

// Scenarios with replayed graphs: tiny pools, and a cover of settings.
std::vector<EngineScenario> replayed_steps();

// Prints a table row for each verdict; keeps sums, and the share of undecided requests.
struct EngineReport {
  std::int64_t scenarios = 0;
  std::int64_t drawn = 0;
  std::int64_t undecided = 0;
  std::int64_t tokens = 0;
  std::int64_t wrong_tokens = 0;
  double worst_logit = 0;  // in deviations

  void add(const EngineScenario& scenario, const EngineVerdict& verdict, std::ostream& out);
  // Prints both parts of the law, and how many requests were drawn again.
  void sum_up(std::ostream& out) const;
  double undecided_share() const;
};

}  // namespace recto::verify
