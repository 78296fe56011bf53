// The table of settings, and the help on their values.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/gpu_table.h"
#include "core/model_table.h"
#include "experiments/support/request_source.h"
#include "experiments/support/run_config.h"
#include "sim/time/attention_efficiency.h"
#include "sim/workloads/builtin_workloads.h"
#include "sim/workloads/length_spec.h"
#include "sim/workloads/workload_specs.h"

namespace recto::experiments {
namespace {

constexpr std::string_view kBadRowChoices[] = {"fail", "skip"};
constexpr std::string_view kAllocatorChoices[] = {"paged", "prefix-cached", "contiguous-max",
                                                  "contiguous-pow2", "contiguous-oracle"};
constexpr std::string_view kManagerChoices[] = {"simulator", "production"};
constexpr std::string_view kPlacementChoices[] = {"buddy", "first-fit", "best-fit"};
constexpr std::string_view kBatchingChoices[] = {"continuous", "static"};
constexpr std::string_view kPrefillChoices[] = {"chunked", "whole"};
constexpr std::string_view kAdmissionChoices[] = {"whole-prompt", "first-chunk"};
constexpr std::string_view kPreemptionChoices[] = {"recompute", "swap"};
constexpr std::string_view kHostWorkChoices[] = {"overlapped", "exposed"};

constexpr std::string_view kWorkload = "Workload";
constexpr std::string_view kMemory = "Memory";
constexpr std::string_view kScheduler = "Scheduler";
constexpr std::string_view kTime = "Step time";
constexpr std::string_view kMetrics = "Metrics";

constexpr std::int64_t kMaxTokens = 1'000'000'000;
constexpr double kMaxGib = 1 << 20;
constexpr double kMaxLimitMs = 1e9;
constexpr double kTiny = 1e-6;

template <typename Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

std::string forms(std::string_view what, const std::vector<std::string>& usages) {
  std::string text;
  for (const std::string& usage : usages) {
    text += fmt::format("  {:<13}{}\n", text.empty() ? what : "", usage);
  }
  return text;
}

// In valid configurations.
bool is_continuous(const RunConfig& config) { return config.batching == "continuous"; }
bool is_paged(const RunConfig& config) { return !is_contiguous(config); }

bool has_sessions(const RunConfig& config) {
  const auto options = synthetic_options(config);
  return options.is_ok() && options.value().sharing.has_sessions();
}

constexpr std::string_view kOfPaged = "it applies to the allocators paged and prefix-cached";

constexpr RunNeed kSessions{has_sessions,
                            "it applies to workloads with sessions, such as chat; see --sharing"};
constexpr RunNeed kChance{draws_by_chance, "a trace has no random choices"};
constexpr RunNeed kContiguous{is_contiguous,
                              "it applies to the allocators contiguous-max, -pow2 and -oracle"};
constexpr RunNeed kPaged{is_paged, kOfPaged};
constexpr RunNeed kBlocks{
    [](const RunConfig& config) { return is_paged(config) || config.pool_blocks.has_value(); },
    kOfPaged};
constexpr RunNeed kNamedModel{[](const RunConfig& config) { return config.model_file.empty(); },
                              "--model-file gives the model"};
constexpr RunNeed kSizedByCard{[](const RunConfig& config) {
                                 return !config.pool_gib && !config.pool_slots &&
                                        !config.pool_blocks;
                               },
                               "the size of the pool was given"};
constexpr RunNeed kContinuous{
    is_continuous,
    "it applies to --batching continuous; static batches are filled up to --max-sequences and "
    "never preempted"};
constexpr RunNeed kChunked{[](const RunConfig& config) { return config.prefill == "chunked"; },
                           "it applies to --prefill chunked"};
constexpr RunNeed kHost{
    [](const RunConfig& config) { return config.host_gib > 0; },
    "nothing can be swapped to a host of --host-gib 0; expected --host-gib above 0"};
constexpr RunNeed kSwap{[](const RunConfig& config) { return config.preemption == "swap"; },
                        "it applies to --preemption swap"};
constexpr RunNeed kRoofline{[](const RunConfig& config) { return config.time_model == "roofline"; },
                            "it applies to --time-model roofline"};
constexpr RunNeed kHostWork{
    [](const RunConfig& config) { return !config.time_model.starts_with("linear:"); },
    "it applies to --time-model roofline and measured:GPU"};

const RunField kFields[] = {
    {"trace", kWorkload, "FILE", "replay a trace: CSV or JSON lines, plain or gzip",
     TextMember{&RunConfig::trace}},
    {"scale_rate", kWorkload, "FACTOR", "how many times faster requests arrive",
     NumberMember{&RunConfig::scale_rate, {kTiny, 1e6}}},
    {"limit", kWorkload, "N", "only the first N requests of the trace",
     OptionalCountMember{&RunConfig::limit, {1, kMaxTokens}}},
    {"on_bad_row", kWorkload, "fail|skip", "what to do with a bad row of the trace",
     TextMember{&RunConfig::on_bad_row, kBadRowChoices}},
    {"workload", kWorkload, "NAME", "sharegpt-like (default), alpaca-like, chat or agent",
     TextMember{&RunConfig::workload}},
    {"arrivals", kWorkload, "SPEC", "instead of the workload's own, e.g. poisson:2",
     TextMember{&RunConfig::arrivals}},
    {"prompts", kWorkload, "SPEC", "likewise: lognormal:mean=161,cv=1.2 or empirical:prompts@FILE",
     TextMember{&RunConfig::prompts}},
    {"follow_ups", kWorkload, "SPEC", "prompts of later turns, e.g. constant:64",
     TextMember{&RunConfig::follow_ups}, Needs{&kSessions}},
    {"outputs", kWorkload, "SPEC", "likewise: uniform:16,1024 or empirical:outputs@FILE",
     TextMember{&RunConfig::outputs}},
    {"sharing", kWorkload, "SPEC", "likewise, e.g. templates:count=32,tokens=512,s=1",
     TextMember{&RunConfig::sharing}},
    {"requests", kWorkload, "N", "how many requests the workload has",
     OptionalCountMember{&RunConfig::requests, {1, kMaxTokens}}},
    {"max_context", kWorkload, "TOKENS", "longest prompt + output that the workload asks for",
     OptionalCountMember{&RunConfig::max_context, {2, kMaxTokens}}},
    {"decoding", kWorkload, "SPEC", "single, parallel:N or beam:WIDTH; of traces too",
     TextMember{&RunConfig::decoding}},
    {"beam_switch_probability", kWorkload, "P", "that a step replaces a beam by a fork of another",
     NumberMember{&RunConfig::beam_switch_probability, {0, 1}}},
    {"seed", kWorkload, "N", "seed of all random choices", CountMember{&RunConfig::seed, {}},
     Needs{&kChance}},

    {"allocator", kMemory, "KIND", "paged, prefix-cached, contiguous-max, -pow2 or -oracle",
     TextMember{&RunConfig::allocator, kAllocatorChoices}},
    {"manager", kMemory, "KIND", "block manager: simulator's or production (cuda/cache)",
     TextMember{&RunConfig::manager, kManagerChoices}},
    {"placement", kMemory, "KIND", "of contiguous regions: buddy, first-fit or best-fit",
     TextMember{&RunConfig::placement, kPlacementChoices}, Needs{&kContiguous}},
    {"block_size", kMemory, "TOKENS", "tokens per block of paged pools",
     CountMember{&RunConfig::block_size, {1, 1 << 20}}, Needs{&kBlocks}},
    {"null_blocks", kMemory, "N", "blocks of a paged pool that are never used",
     CountMember{&RunConfig::null_blocks, {0, kMaxPoolSlots}}, Needs{&kPaged}},
    {"model", kMemory, "NAME", "language model; `recto plan --list` shows all",
     TextMember{&RunConfig::model}, Needs{&kNamedModel}},
    {"model_file", kMemory, "FILE", "a model described in JSON, instead of --model",
     TextMember{&RunConfig::model_file}},
    {"gpu", kMemory, "NAME", "graphics card; `recto plan --list` shows all",
     TextMember{&RunConfig::gpu}},
    {"tp", kMemory, "N", "tensor parallelism: number of cards",
     CountMember{&RunConfig::tp, {1, 1024}}},
    {"kv_element_bytes", kMemory, "BYTES", "size of one element of K or V",
     CountMember{&RunConfig::kv_element_bytes, {1, 8}}},
    {"utilization", kMemory, "SHARE", "share of a card's memory that may be used",
     NumberMember{&RunConfig::utilization, {kTiny, 1}}, Needs{&kSizedByCard}},
    {"pool_gib", kMemory, "GIB", "KV pool of each card, instead of what it has room for",
     OptionalNumberMember{&RunConfig::pool_gib, {kTiny, kMaxGib}}},
    {"pool_slots", kMemory, "TOKENS", "the same in slots",
     OptionalCountMember{&RunConfig::pool_slots, {1, kMaxPoolSlots}}},
    {"pool_blocks", kMemory, "BLOCKS", "the same in blocks of --block-size",
     OptionalCountMember{&RunConfig::pool_blocks, {1, kMaxPoolSlots}}},

    {"batching", kScheduler, "KIND", "continuous or static",
     TextMember{&RunConfig::batching, kBatchingChoices}},
    {"max_sequences", kScheduler, "N", "most sequences in a batch",
     CountMember{&RunConfig::max_sequences, {1, 1'000'000}}},
    {"max_batched_tokens", kScheduler, "TOKENS", "most tokens in a step",
     CountMember{&RunConfig::max_batched_tokens, {1, kMaxTokens}}, Needs{&kContinuous}},
    {"max_length", kScheduler, "TOKENS", "longest context served (default: the model's)",
     OptionalCountMember{&RunConfig::max_length, {2, kMaxTokens}}},
    {"prefill", kScheduler, "RULE", "chunked or whole prompts",
     TextMember{&RunConfig::prefill, kPrefillChoices}, Needs{&kContinuous}},
    {"admission", kScheduler, "RULE", "admit when this fits: whole-prompt or first-chunk",
     TextMember{&RunConfig::admission, kAdmissionChoices}, Needs{&kContinuous, &kChunked}},
    {"watermark", kScheduler, "SHARE", "share of the pool that an admission leaves free",
     NumberMember{&RunConfig::watermark, {0, 0.999}}},
    {"preemption", kScheduler, "RULE", "how the latest arrival is preempted: recompute or swap",
     TextMember{&RunConfig::preemption, kPreemptionChoices}, Needs{&kContinuous, &kHost}},
    {"host_gib", kScheduler, "GIB", "host memory for swapped sequences",
     NumberMember{&RunConfig::host_gib, {0, kMaxGib}}, Needs{&kContinuous, &kSwap}},
    {"host_bandwidth", kScheduler, "GB/S", "rate of swaps per card (default: the card's link)",
     OptionalNumberMember{&RunConfig::host_bandwidth, {0.001, 1e6}}, Needs{&kContinuous, &kSwap}},
    {"window", kScheduler, "TOKENS", "sliding window (default: the model's, if nothing is shared)",
     OptionalCountMember{&RunConfig::window, {0, kMaxTokens}}},

    {"time_model", kTime, "MODEL", "roofline, linear:FILE (fitted) or measured:GPU",
     TextMember{&RunConfig::time_model}},
    {"attention_curve", kTime, "NAME", "efficiency by block size, of the roofline model",
     TextMember{&RunConfig::attention_curve}, Needs{&kRoofline, &kPaged}},
    {"host_work", kTime, "KIND", "overlapped, or exposed between steps; not linear",
     TextMember{&RunConfig::host_work, kHostWorkChoices}, Needs{&kHostWork}},
    {"graph_sizes", kTime, "LIST", "pad batches: none, vllm, pow2, or 1,2,4,...",
     TextMember{&RunConfig::graph_sizes}},
    {"stream_interference", kTime, "FACTOR", "prefill beside decode; 1 (no slowdown) to 2",
     OptionalNumberMember{&RunConfig::stream_interference, {1, 2}}},

    {"series_window_s", kMetrics, "S", "time between points of a series; doubles on long runs",
     NumberMember{&RunConfig::series_window_s, {1e-3, 1e6}}},
    {"ttft_limit_ms", kMetrics, "MS", "time to first token that counts as good",
     OptionalNumberMember{&RunConfig::ttft_limit_ms, {kTiny, kMaxLimitMs}}},
    {"tpot_limit_ms", kMetrics, "MS", "time per output token that counts as good",
     OptionalNumberMember{&RunConfig::tpot_limit_ms, {kTiny, kMaxLimitMs}}},
};

}  // namespace

std::span<const RunField> run_fields() { return kFields; }

std::vector<std::string> known_values(const RunField& field) {
  if (const auto* text = std::get_if<TextMember>(&field.member); text && !text->values.empty()) {
    return {text->values.begin(), text->values.end()};
  }
  if (field.name == "model") return names_of(model_table());
  if (field.name == "gpu") return names_of(gpu_table());
  if (field.name == "workload") return names_of(sim::builtin_workloads());
  if (field.name == "attention_curve") return names_of(sim::attention_curves());
  return {};
}

std::string spec_help() {
  std::vector<std::string> lengths = sim::length_usages();
  lengths.emplace_back("empirical:prompts@TRACE, empirical:outputs@TRACE");
  return "A SPEC is one of these; values may also stand without their names, in this order.\n" +
         forms("--arrivals", sim::arrival_usages()) + forms("lengths", lengths) +
         forms("--sharing", sim::sharing_usages()) + "\nOther values:\n" +
         fmt::format("  {:<13}{}\n", "curves", fmt::join(names_of(sim::attention_curves()), ", ")) +
         R"(  linear:FILE  JSON: fixed_ns, per_prefill_token_ns, per_kv_token_ns, per_sequence_ns,
               source, and where it has one per_kv_block_ns
  measured:GPU a folder of experiments/results, or of what RECTO_GPU_RESULTS names
  --model-file JSON: num_layers, hidden_size, num_q_heads, num_kv_heads, head_dim, ffn_size,
               vocabulary_size, parameter_count, max_context; also name, source,
               architecture (llama, opt), embeddings (separate, tied),
               weight_element_bytes, sliding_window

)";
}

}  // namespace recto::experiments
