#include "verify/engine/testing/engine_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "core/contract.h"
#include "core/random_stream.h"
#include "core/units.h"
#include "verify/kernels/kernel_numerics.h"

namespace recto::verify {
namespace {

using reference::Vector;

constexpr std::uint64_t kDrawsMax = 100;  // per request; beyond it rounding decides nearly all

std::int64_t between(RandomStream& stream, std::int64_t min, std::int64_t max) {
  return min +
         static_cast<std::int64_t>(stream.next_below(static_cast<std::uint64_t>(max - min + 1)));
}

GenerationRequest draw_request(const EngineScenario& scenario, std::int64_t id,
                               const RandomStream& stream) {
  const EngineTraffic& traffic = scenario.traffic;
  const auto vocabulary = static_cast<std::uint64_t>(scenario.shape.vocabulary);
  RandomStream numbers = stream.split("numbers");
  GenerationRequest request;
  request.decoding = traffic.decoding;
  request.width = traffic.width;
  request.output_tokens = between(numbers, traffic.output_min, traffic.output_max);
  request.seed = numbers.next_u64();
  // Beams are ranked without noise. In other traffic only the first request is greedy.
  if (traffic.decoding != sim::Decoding::kBeam && id > 0) request.temperature = 1.0;
  RandomStream shared = RandomStream(scenario.seed).split("shared prompt");
  RandomStream own = stream.split("prompt");
  const std::int64_t length = between(numbers, traffic.prompt_min, traffic.prompt_max);
  for (std::int64_t i = 0; i < length; ++i) {
    const bool is_shared = id % 3 != 2 && i < traffic.shared_prompt && i + 1 < length;
    RandomStream& from = is_shared ? shared : own;
    request.prompt.push_back(static_cast<Token>(from.next_below(vocabulary)));
  }
  return request;
}

// Blocks of a request that runs alone: the full blocks of the prompt count once, all others once
// per sequence.
std::int64_t blocks_of(const GenerationRequest& request, std::int64_t block_size) {
  const std::int64_t prompt = std::ssize(request.prompt);
  const std::int64_t shared = prompt / block_size;
  const std::int64_t final_context = prompt + request.output_tokens - 1;
  return shared + (ceil_div(final_context, block_size) - shared) * request.width;
}

// The kernels that the host API's rule may choose. Where plans choose the splits, a single one and
// the smallest planned ones are assumed.
std::vector<reference::KernelNumerics> kernels_of(const EngineScenario& scenario) {
  const ElementType type = scenario.options.rounding.type;
  const ElementType cache = scenario.options.rounding.cache;
  const std::int64_t split_size = scenario.options.split_size.value_or(0);
  std::vector<reference::KernelNumerics> kernels = {
      decode_kernel_numerics(type, cache, split_size), gqa_decode_numerics(type, cache, split_size),
      prefill_numerics(type, cache, scenario.shape.head_dim)};
  if (!scenario.options.split_size) {
    kernels.push_back(decode_kernel_numerics(type, cache, 256));
    kernels.push_back(gqa_decode_numerics(type, cache, 64));
  }
  return kernels;
}

// NaN counts as larger than any number.
double larger(double a, double b) { return b <= a ? a : b; }

// The largest error of a logit, in deviations.
double departure(const Vector& logits, const Flow& right) {
  double worst = 0;
  for (std::int64_t token = 0; token < logits.size(); ++token) {
    const double error = std::abs(logits[token] - right.value(0, token));
    worst = larger(worst, error == 0 ? 0 : error / right.deviation(0, token));
  }
  return worst;
}

struct Comparer {
  EngineVerdict& verdict;

  void fail(std::int64_t& count, const std::string& what) const {
    if (!verdict.failed()) verdict.first = what;
    ++count;
  }

  void compare_logits(const std::string& place, const Vector& logits, const Flow& right) const {
    const double deviations = departure(logits, right);
    verdict.worst_logit = larger(verdict.worst_logit, deviations);
    if (deviations <= kFlowLambda) return;
    fail(verdict.wrong_logits, fmt::format("{}: a logit is {:.3g} deviations off; {} are allowed",
                                           place, deviations, kFlowLambda));
  }

  void compare(std::size_t request, const GeneratedText& dense, const EngineText& engine) const {
    for (std::size_t member = 0; member < dense.outputs.size(); ++member) {
      const std::vector<Token>& right = dense.outputs[member];
      const std::vector<Token>& seen = engine.outputs[member];
      RECTO_CHECK_EQ(seen.size(), right.size());
      verdict.tokens += std::ssize(right);
      bool is_behind_wrong = false;  // logits after a wrong token belong to another text
      for (std::size_t i = 0; i < right.size(); ++i) {
        const std::string place =
            fmt::format("request {}, sequence {}, output {}", request, member, i);
        if (!is_behind_wrong) {
          compare_logits(place, engine.logits[member][i], dense.logits[member][i]);
        }
        if (seen[i] == right[i]) continue;
        fail(verdict.wrong_tokens, fmt::format("{}: token {}, not {}", place, seen[i], right[i]));
        is_behind_wrong = true;
      }
    }
  }
};

}  // namespace

DrawnScenario draw_scenario(const EngineScenario& scenario) {
  DrawnScenario drawn{
      .scenario = scenario,
      .weights = drawn_weights(
          scenario.shape, {.seed = scenario.seed, .attention_share = scenario.attention_share})};
  const DenseModel model(drawn.weights, scenario.options.rounding, kernels_of(scenario));
  const RandomStream stream = RandomStream(scenario.seed).split("requests");
  RandomStream arrivals = RandomStream(scenario.seed).split("arrivals");
  std::int64_t arrival = 0;
  for (std::int64_t id = 0; id < scenario.traffic.requests; ++id) {
    arrival += between(arrivals, 0, scenario.traffic.arrival_gap);
    bool is_decided = false;
    for (std::uint64_t attempt = 0; !is_decided; ++attempt) {
      RECTO_CHECK_LT(attempt, kDrawsMax);
      GenerationRequest request =
          draw_request(scenario, id, stream.split(static_cast<std::uint64_t>(id)).split(attempt));
      request.arrival_step = arrival;
      GeneratedText text = generate_densely(model, request);
      ++drawn.drawn;
      is_decided = text.is_decided();
      if (!is_decided) continue;
      drawn.requests.push_back(std::move(request));
      drawn.texts.push_back(std::move(text));
    }
  }
  return drawn;
}

EngineVerdict judge_engine(const DrawnScenario& drawn, EngineFault fault) {
  EngineOptions options = drawn.scenario.options;
  options.fault = fault;
  options.num_blocks = 0;
  for (const GenerationRequest& request : drawn.requests) {
    const std::int64_t blocks = blocks_of(request, options.block_size);
    options.num_blocks = drawn.scenario.pool == PoolSize::kTight
                             ? std::max(options.num_blocks, blocks)
                             : options.num_blocks + blocks;
  }
  // A host pool of this size has no room for the last request to be preempted.
  if (options.preemption == sim::PreemptionRule::kSwap) options.host_blocks = options.num_blocks;
  const Result<EngineRun> run = run_engine(drawn.weights, drawn.requests, options);
  RECTO_CHECK_EQ(run.status(), Status::ok());
  EngineVerdict verdict{.drawn = drawn.drawn,
                        .undecided = drawn.drawn - std::ssize(drawn.requests),
                        .counts = run.value().counts};
  for (std::size_t i = 0; i < drawn.requests.size(); ++i) {
    Comparer{verdict}.compare(i, drawn.texts[i], run.value().texts[i]);
  }
  return verdict;
}

void EngineReport::add(const EngineScenario& scenario, const EngineVerdict& verdict,
                       std::ostream& out) {
  ++scenarios;
  drawn += verdict.drawn;
  undecided += verdict.undecided;
  tokens += verdict.tokens;
  wrong_tokens += verdict.wrong_tokens;
  worst_logit = larger(worst_logit, verdict.worst_logit);
  const EngineCounts& counts = verdict.counts;
  out << fmt::format(
      "{:<78} tokens {:>3} right of {:>3}  logits within {:.2f} of {:.0f} deviations  steps {:>3}  "
      "recomputed {:>2}  swapped {:>2}  copies {:>3}  hits {:>3}  switches {:>2}  drafts "
      "{:>2}/{:<2} ({} in part)  replayed {:>3}{}\n",
      scenario.name, verdict.tokens - verdict.wrong_tokens, verdict.tokens, verdict.worst_logit,
      kFlowLambda, counts.steps, counts.recomputes, counts.swaps, counts.copied_blocks,
      counts.hit_tokens, counts.beam_switches, counts.accepted, counts.drafted,
      counts.partial_rollbacks, counts.replayed_steps,
      verdict.failed() ? "  FAILED: " + verdict.first : "");
}

void EngineReport::sum_up(std::ostream& out) const {
  out << fmt::format(
      "{} scenarios. Tokens: {} of {} match the dense run. Logits: the farthest is {:.2f} "
      "deviations from it, {:.0f} are allowed. {} of {} requests were drawn again, because "
      "rounding could change a choice: {:.1f} %, {:.0f} % are allowed\n",
      scenarios, tokens - wrong_tokens, tokens, worst_logit, kFlowLambda, undecided, drawn,
      100 * undecided_share(), 100 * kUndecidedMax);
}

double EngineReport::undecided_share() const {
  return drawn == 0 ? 0 : static_cast<double>(undecided) / static_cast<double>(drawn);
}

}  // namespace recto::verify
