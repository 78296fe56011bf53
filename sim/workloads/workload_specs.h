#pragma once

// The parts of a workload other than lengths, as data and as text.
//
// When requests arrive; arrival_process.h generates the times:
//
//   poisson:2                      exponential gaps, 2 requests/s
//   gamma:rate=2,cv=3              gamma gaps: cv > 1 is burstier than Poisson, cv < 1 smoother
//   onoff:rate=10,on_s=5,off_s=20  Poisson at 10/s while on, silent while off; both periods
//                                  exponential with these means
//   constant:4                     equal gaps
//   closed:clients=32,think_s=1    32 clients, each of which thinks (exponential, mean 1 s) after
//                                  its request was answered, then sends the next
//
// Which requests begin with the same tokens; synthetic_workload.h generates the content. One model
// with two ingredients covers the usual kinds:
//
//   none
//   templates:count=32,tokens=512,s=1    few-shot prompts: each request begins with one of 32
//                                        templates of 512 tokens, chosen by Zipf's law
//   sessions:turns=5,active=64           chats of 5 turns on average (geometric), 64 at a time;
//                                        each prompt repeats all that was said before
//   agent:tokens=4096,turns=8,active=64  both: sessions of tool calls behind one system prompt
//
// `tokens_max=M` spreads the lengths of templates uniformly from `tokens` to M.
//
// How many sequences a request decodes into: `single`, `parallel:4` (four
// samples of one prompt), `beam:6` (beam search of width six).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "sim/request.h"

namespace recto::sim {

struct PoissonArrivals {
  double rate_per_s = 1;
  friend bool operator==(const PoissonArrivals&, const PoissonArrivals&) = default;
};
struct GammaArrivals {
  double rate_per_s = 1;
  double cv = 1;  // of the gaps: standard deviation over mean
  friend bool operator==(const GammaArrivals&, const GammaArrivals&) = default;
};
struct OnOffArrivals {
  double rate_per_s = 1;  // while on
  double on_s = 1;
  double off_s = 1;
  friend bool operator==(const OnOffArrivals&, const OnOffArrivals&) = default;
};
struct ConstantArrivals {
  double rate_per_s = 1;
  friend bool operator==(const ConstantArrivals&, const ConstantArrivals&) = default;
};
struct ClosedLoopArrivals {
  std::int64_t clients = 1;
  double think_s = 0;
  friend bool operator==(const ClosedLoopArrivals&, const ClosedLoopArrivals&) = default;
};

using ArrivalSpec = std::variant<PoissonArrivals, GammaArrivals, OnOffArrivals, ConstantArrivals,
                                 ClosedLoopArrivals>;

// An error names the invalid field and its allowed values.
Status check_arrivals(const ArrivalSpec& spec);

// Parses and checks `text`.
Result<ArrivalSpec> parse_arrivals(std::string_view text);
// The syntax of each kind.
std::vector<std::string> arrival_usages();

// Returns the text form, which parses back to an equal spec.
std::string describe(const ArrivalSpec& spec);

// Mean requests per second in the long run; nullopt for a closed loop, whose rate depends on the
// answers.
std::optional<double> mean_rate_per_s(const ArrivalSpec& spec);

// Compresses all arrival times by `factor` > 0, including bursts and their periods, so that the
// same seed gives the same pattern. An error for a closed loop, which has no rate to scale.
Result<ArrivalSpec> scale_rate(const ArrivalSpec& spec, double factor);

struct PrefixSharing {
  std::int64_t template_count = 0;  // 0: requests begin with tokens of their own
  TokenCount template_tokens_min;
  TokenCount template_tokens_max;  // inclusive
  double template_s = 1;           // Zipf exponent of their popularity; 0 is uniform

  double turns_mean = 1;             // per session, geometric; 1: every request stands alone
  std::int64_t active_sessions = 1;  // in a closed loop each client has one session instead

  bool shares_nothing() const { return template_count == 0 && turns_mean == 1; }
  bool has_sessions() const { return turns_mean > 1; }

  friend bool operator==(const PrefixSharing&, const PrefixSharing&) = default;
};

// An error names the invalid field and its allowed values.
Status check_prefix_sharing(const PrefixSharing& sharing);

// Parses and checks `text`.
Result<PrefixSharing> parse_prefix_sharing(std::string_view text);
// The syntax of each kind.
std::vector<std::string> sharing_usages();

// Returns the text form, which parses back to a value that behaves the same.
std::string describe(const PrefixSharing& sharing);

struct DecodingSpec {
  Decoding kind = Decoding::kSingle;
  std::int32_t width = 1;
  friend bool operator==(const DecodingSpec&, const DecodingSpec&) = default;
};

// `single` has width 1, the others 1 to 1024.
Status check_decoding(const DecodingSpec& spec);
Result<DecodingSpec> parse_decoding(std::string_view text);
std::string describe(const DecodingSpec& spec);

}  // namespace recto::sim
