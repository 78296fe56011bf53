#include "verify/engine/engine_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "core/contract.h"
#include "core/random_stream.h"
#include "verify/engine/copying_weights.h"

namespace recto::verify {
namespace {

using reference::Vector;

constexpr std::uint64_t kDrawsMax = 100;  // per request; more: rounding decides nearly every choice

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
  request.id = id;
  request.decoding = traffic.decoding;
  request.width = traffic.width;
  request.output_tokens = between(numbers, traffic.output_min, traffic.output_max);
  request.seed = numbers.next_u64();
  // Beams are ranked without noise; of other requests the first is greedy.
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

// Blocks of a request that runs alone: the prompt's full blocks once, the others once per sequence.
std::int64_t blocks_of(const GenerationRequest& request, std::int64_t block_size) {
  const std::int64_t prompt = std::ssize(request.prompt);
  const std::int64_t shared = prompt / block_size;
  const std::int64_t final_context = prompt + request.output_tokens - 1;
  return shared + (ceil_div(final_context, block_size) - shared) * request.width;
}

// The index of the first differing token, or the number of tokens.
std::int64_t first_difference(const std::vector<Token>& a, const std::vector<Token>& b) {
  const auto [at, other] = std::ranges::mismatch(a, b);
  static_cast<void>(other);
  return at - a.begin();
}

// The largest error of a logit, in deviations.
double departure(const Vector& logits, const LogitFlow& flow) {
  double worst = 0;
  for (std::int64_t token = 0; token < logits.size(); ++token) {
    const double error = std::abs(logits[token] - flow.value[token]);
    // NaN is beyond any bound.
    const double deviations = error == 0 ? 0 : error / flow.deviation[token];
    worst = deviations <= worst ? worst : deviations;
  }
  return worst;
}

struct Comparer {
  EngineVerdict& verdict;

  void fail(std::int64_t& count, const std::string& what) {
    if (!verdict.failed()) verdict.first = what;
    ++count;
  }

  void compare(std::int64_t request, const GeneratedText& dense, const EngineText& engine) {
    for (std::size_t member = 0; member < dense.outputs.size(); ++member) {
      const std::vector<Token>& right = dense.outputs[member];
      const std::vector<Token>& seen = engine.outputs[member];
      RECTO_CHECK_EQ(seen.size(), right.size());
      const std::int64_t same = first_difference(right, seen);
      verdict.tokens += std::ssize(right);
      for (std::size_t i = 0; i < right.size(); ++i) {
        const std::string place =
            fmt::format("request {}, sequence {}, output {}", request, member, i);
        // Logits after a different token are different.
        const bool is_behind = static_cast<std::int64_t>(i) > same;
        if (!is_behind) compare_logits(place, dense.logits[member][i], engine.logits[member][i]);
        if (seen[i] == right[i]) continue;
        fail(verdict.wrong_tokens, fmt::format("{}: token {}, not {}", place, seen[i], right[i]));
      }
    }
  }

  void compare_logits(const std::string& place, const LogitFlow& dense, const Vector& logits) {
    const double deviations = departure(logits, dense);
    verdict.worst_logit = deviations <= verdict.worst_logit ? verdict.worst_logit : deviations;
    if (deviations <= kFlowLambda) return;
    fail(verdict.wrong_logits, fmt::format("{}: a logit is {:.3g} deviations away, where {} are "
                                           "allowed",
                                           place, deviations, kFlowLambda));
  }
};

// Where plans choose, the dense run assumes their smallest splits if contexts reach a second one.
std::int64_t assumed_split_size(const EngineScenario& scenario) {
  constexpr std::int64_t kPlannedSplitMin = 256;
  const EngineTraffic& traffic = scenario.traffic;
  const bool is_split = traffic.prompt_max + traffic.output_max > kPlannedSplitMin;
  return scenario.options.split_size.value_or(is_split ? kPlannedSplitMin : 0);
}

}  // namespace

DrawnTraffic draw_traffic(const EngineScenario& scenario, const ModelWeights& weights) {
  const DenseModel model(
      weights, scenario.options.rounding,
      kernels_of(scenario.shape, scenario.options.rounding, assumed_split_size(scenario)));
  const RandomStream stream = RandomStream(scenario.seed).split("requests");
  RandomStream arrivals = RandomStream(scenario.seed).split("arrivals");
  DrawnTraffic traffic;
  std::int64_t arrival = 0;
  std::int64_t sum = 0;
  std::int64_t largest = 0;
  for (std::int64_t id = 0; id < scenario.traffic.requests; ++id) {
    arrival += between(arrivals, 0, scenario.traffic.arrival_gap);
    for (std::uint64_t attempt = 0;; ++attempt) {
      RECTO_CHECK_LT(attempt, kDrawsMax);
      GenerationRequest request =
          draw_request(scenario, id, stream.split(static_cast<std::uint64_t>(id)).split(attempt));
      request.arrival_step = arrival;
      GeneratedText text = generate_densely(model, request);
      ++traffic.drawn;
      if (!text.is_decided()) {
        ++traffic.undecided;
        continue;
      }
      const std::int64_t blocks = blocks_of(request, scenario.options.block_size);
      largest = std::max(largest, blocks);
      sum += blocks;
      traffic.requests.push_back(std::move(request));
      traffic.texts.push_back(std::move(text));
      break;
    }
  }
  traffic.num_blocks = scenario.pool == PoolSize::kTight ? largest : sum;
  return traffic;
}

ModelWeights weights_of(const EngineScenario& scenario) {
  return scenario.weights == WeightKind::kCopying
             ? copying_weights(scenario.shape, scenario.draw.seed)
             : drawn_weights(scenario.shape, scenario.draw);
}

EngineVerdict judge_engine(const EngineScenario& scenario) {
  const ModelWeights weights = weights_of(scenario);
  const DrawnTraffic traffic = draw_traffic(scenario, weights);
  EngineOptions options = scenario.options;
  options.num_blocks = traffic.num_blocks;
  // With a host pool of this size, the last request to be preempted finds no room on the host.
  if (options.preemption == sim::PreemptionRule::kSwap) options.host_blocks = traffic.num_blocks;
  const Result<EngineRun> run = run_engine(weights, traffic.requests, options);
  RECTO_CHECK_EQ(run.status(), Status::ok());
  EngineVerdict verdict;
  verdict.drawn = traffic.drawn;
  verdict.undecided = traffic.undecided;
  verdict.counts = run.value().counts;
  Comparer comparer{verdict};
  for (std::size_t i = 0; i < traffic.requests.size(); ++i) {
    const std::int64_t id = traffic.requests[i].id;
    comparer.compare(id, traffic.texts[i], run.value().texts.at(id));
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
  worst_logit = verdict.worst_logit <= worst_logit ? worst_logit : verdict.worst_logit;
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
      "{} scenarios. Tokens: {} of {} are those of the dense run. Logits: the farthest is {:.2f} "
      "deviations from it, {:.0f} are allowed. {} of {} requests were drawn again, as rounding "
      "could turn a choice: {:.1f} %, {:.0f} % are allowed\n",
      scenarios, tokens - wrong_tokens, tokens, worst_logit, kFlowLambda, undecided, drawn,
      100 * undecided_share(), 100 * kUndecidedMax);
}

double EngineReport::undecided_share() const {
  return drawn == 0 ? 0 : static_cast<double>(undecided) / static_cast<double>(drawn);
}

}  // namespace recto::verify
