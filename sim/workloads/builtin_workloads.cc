#include "sim/workloads/builtin_workloads.h"

#include <optional>
#include <string>
#include <utility>

#include "core/contract.h"
#include "core/refusal.h"

namespace recto::sim {
namespace {

// Parameters are set so that the means *after* truncation are the published ones; the test in this
// folder checks them to 1 %.
constexpr BuiltinWorkload kBuiltinWorkloads[] = {
    {
        .name = "sharegpt-like",
        .description = "chat prompts and long answers: means 161.31 and 337.99 tokens",
        .source = "means, range and rate: Kwon et al., SOSP 2023 (arXiv 2309.06180), section 6.1; "
                  "shape of outputs: near what the reserved slots of Orca (Max) in its Fig. 2 "
                  "imply, E[o^2] / 2E[o] = 299 a request (285 here); shape of prompts: assumed",
        .arrivals = "poisson:2",
        .prompts = "gamma:mean=183.5,shape=0.5,max=1024",
        .follow_ups = "",
        .outputs = "gamma:mean=340.6,shape=1.4,max=2047",
        .sharing = "none",
        .request_count = 7200,  // one hour
        .max_context = TokenCount(2048),
    },
    {
        .name = "alpaca-like",
        .description = "short instructions and short answers: means 19.31 and 58.45 tokens",
        .source = "means and rate: Kwon et al., SOSP 2023 (arXiv 2309.06180), section 6.1; "
                  "the 40 % of prompts that come with an input: README of stanford_alpaca "
                  "(\"Around 40% of the examples have an input\"); all else is assumed",
        .arrivals = "poisson:30",
        .prompts = "mixture:max=1024,0.6xlognormal:mean=12,cv=0.2+"
                   "0.4xlognormal:mean=30.275,cv=0.7",
        .follow_ups = "",
        .outputs = "gamma:mean=58.44,shape=0.97",
        .sharing = "none",
        .request_count = 27'000,  // a quarter of an hour
        .max_context = TokenCount(2048),
    },
    {
        .name = "chat",
        .description = "multi-turn chats: each prompt repeats the conversation so far",
        .source = "turns and mean lengths per turn: LMSYS-Chat-1M, Zheng et al., ICLR 2024 (arXiv "
                  "2309.11998), table 1; variations and number of chats at a time are assumed",
        .arrivals = "poisson:4",
        .prompts = "lognormal:mean=69.5,cv=1.3,max=4095",
        .follow_ups = "",
        .outputs = "gamma:mean=214.5,shape=1.3,max=4095",
        .sharing = "sessions:turns=2,active=256",
        .request_count = 14'400,  // one hour
        .max_context = TokenCount(4096),
    },
    {
        .name = "agent",
        .description = "tool-calling agents behind one long system prompt",
        .source = "mean prompt 8,596, mean output 182: Mooncake tool-and-agent trace, Qin et al., "
                  "FAST 2025; how the prompt divides into system prompt, task and tool results "
                  "is assumed",
        .arrivals = "poisson:2",
        .prompts = "lognormal:mean=1000,cv=1,max=16384",
        .follow_ups = "lognormal:mean=707,cv=1.3,max=16384",
        .outputs = "gamma:mean=182,shape=1,max=4096",
        .sharing = "agent:tokens=4096,turns=5,active=64",
        .request_count = 7200,  // one hour
        .max_context = TokenCount(32'768),
    },
};

// The table is part of recto: an entry that does not parse is a defect, which the tests would find.
template <typename Part>
Part parsed(Result<Part> part) {
  RECTO_CHECK_EQ(part.status(), Status::ok());
  return std::move(part).value();
}

SyntheticOptions options_of(const BuiltinWorkload& workload) {
  std::optional<LengthDistribution> follow_ups;
  if (!workload.follow_ups.empty()) {
    follow_ups = parsed(LengthDistribution::parse(workload.follow_ups));
  }
  return {
      .prompts = parsed(LengthDistribution::parse(workload.prompts)),
      .outputs = parsed(LengthDistribution::parse(workload.outputs)),
      .follow_ups = std::move(follow_ups),
      .arrivals = parsed(parse_arrivals(workload.arrivals)),
      .sharing = parsed(parse_prefix_sharing(workload.sharing)),
      .decoding = {},
      .request_count = workload.request_count,
      .max_context = workload.max_context,
  };
}

}  // namespace

std::span<const BuiltinWorkload> builtin_workloads() { return kBuiltinWorkloads; }

Result<SyntheticOptions> builtin_workload(std::string_view name) {
  for (const BuiltinWorkload& workload : kBuiltinWorkloads) {
    if (workload.name == name) return options_of(workload);
  }
  return Status::invalid_input("workload '" + std::string(name) + "': expected one of " +
                               list_names(kBuiltinWorkloads, &BuiltinWorkload::name));
}

}  // namespace recto::sim
