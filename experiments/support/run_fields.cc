#include "experiments/support/run_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

// More than any card holds; block managers of this size still fit in a workstation's memory.
constexpr std::int64_t kMaxPoolSlots = std::int64_t{1} << 27;
constexpr std::int64_t kMaxTokens = 1'000'000'000;
constexpr double kMaxGib = 1 << 20;
constexpr double kMaxLimitMs = 1e9;
constexpr double kTiny = 1e-6;

const RunField kFields[] = {
    {"trace", kWorkload, "FILE", "replay a trace: CSV or JSON lines, plain or gzip",
     TextMember{&RunConfig::trace}},
    {"scale_rate", kWorkload, "FACTOR", "arrivals come so many times as fast",
     NumberMember{&RunConfig::scale_rate, {kTiny, 1e6}}},
    {"limit", kWorkload, "N", "only the first N requests of the trace",
     OptionalCountMember{&RunConfig::limit, {1, kMaxTokens}}},
    {"on_bad_row", kWorkload, "fail|skip", "what to do with a bad row of the trace",
     ChoiceMember{&RunConfig::on_bad_row, kBadRowChoices}},
    {"workload", kWorkload, "NAME", "sharegpt-like (default), alpaca-like, chat or agent",
     TextMember{&RunConfig::workload}},
    {"arrivals", kWorkload, "SPEC", "instead of the workload's own, e.g. poisson:2",
     TextMember{&RunConfig::arrivals}},
    {"prompts", kWorkload, "SPEC", "likewise: lognormal:mean=161,cv=1.2 or empirical:prompts@FILE",
     TextMember{&RunConfig::prompts}},
    {"follow_ups", kWorkload, "SPEC", "prompts of later turns, e.g. constant:64",
     TextMember{&RunConfig::follow_ups}},
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
    {"seed", kWorkload, "N", "of everything that is drawn by chance",
     CountMember{&RunConfig::seed, {}}},

    {"allocator", kMemory, "KIND", "paged, prefix-cached, contiguous-max, -pow2 or -oracle",
     ChoiceMember{&RunConfig::allocator, kAllocatorChoices}},
    {"manager", kMemory, "KIND", "of blocks: the simulator's or production (cuda/cache)",
     ChoiceMember{&RunConfig::manager, kManagerChoices}},
    {"placement", kMemory, "KIND", "of contiguous regions: buddy, first-fit or best-fit",
     ChoiceMember{&RunConfig::placement, kPlacementChoices}},
    {"block_size", kMemory, "TOKENS", "of paged pools",
     CountMember{&RunConfig::block_size, {1, 1 << 20}}},
    {"null_blocks", kMemory, "N", "blocks of a paged pool that are never used",
     CountMember{&RunConfig::null_blocks, {0, kMaxPoolSlots}}},
    {"model", kMemory, "NAME", "language model; `recto plan --list` shows all",
     TextMember{&RunConfig::model}},
    {"model_file", kMemory, "FILE", "a model described in JSON, instead of --model",
     TextMember{&RunConfig::model_file}},
    {"gpu", kMemory, "NAME", "graphics card; `recto plan --list` shows all",
     TextMember{&RunConfig::gpu}},
    {"tp", kMemory, "N", "tensor parallelism: so many cards",
     CountMember{&RunConfig::tp, {1, 1024}}},
    {"kv_element_bytes", kMemory, "BYTES", "of one element of K or V",
     CountMember{&RunConfig::kv_element_bytes, {1, 8}}},
    {"utilization", kMemory, "SHARE", "of a card's memory that may be used",
     NumberMember{&RunConfig::utilization, {kTiny, 1}}},
    {"pool_gib", kMemory, "GIB", "KV pool of each card, instead of what it has room for",
     OptionalNumberMember{&RunConfig::pool_gib, {kTiny, kMaxGib}}},
    {"pool_slots", kMemory, "TOKENS", "the same in slots",
     OptionalCountMember{&RunConfig::pool_slots, {1, kMaxPoolSlots}}},
    {"pool_blocks", kMemory, "BLOCKS", "the same in blocks of --block-size",
     OptionalCountMember{&RunConfig::pool_blocks, {1, kMaxPoolSlots}}},

    {"batching", kScheduler, "KIND", "continuous or static",
     ChoiceMember{&RunConfig::batching, kBatchingChoices}},
    {"max_sequences", kScheduler, "N", "in a batch at most",
     CountMember{&RunConfig::max_sequences, {1, 1'000'000}}},
    {"max_batched_tokens", kScheduler, "TOKENS", "in a step at most",
     CountMember{&RunConfig::max_batched_tokens, {1, kMaxTokens}}},
    {"max_length", kScheduler, "TOKENS", "longest context served (default: the model's)",
     OptionalCountMember{&RunConfig::max_length, {2, kMaxTokens}}},
    {"prefill", kScheduler, "RULE", "chunked or whole prompts",
     ChoiceMember{&RunConfig::prefill, kPrefillChoices}},
    {"admission", kScheduler, "RULE", "when this fits: whole-prompt or first-chunk",
     ChoiceMember{&RunConfig::admission, kAdmissionChoices}},
    {"watermark", kScheduler, "SHARE", "of the pool that an admission leaves free",
     NumberMember{&RunConfig::watermark, {0, 0.999}}},
    {"preemption", kScheduler, "RULE", "of the latest arrival: recompute or swap",
     ChoiceMember{&RunConfig::preemption, kPreemptionChoices}},
    {"host_gib", kScheduler, "GIB", "host memory for swapped sequences",
     NumberMember{&RunConfig::host_gib, {0, kMaxGib}}},
    {"host_bandwidth", kScheduler, "GB/S", "of swaps, each card (default: the card's link)",
     OptionalNumberMember{&RunConfig::host_bandwidth, {0.001, 1e6}}},
    {"window", kScheduler, "TOKENS", "sliding window (default: the model's, if nothing is shared)",
     OptionalCountMember{&RunConfig::window, {0, kMaxTokens}}},

    {"time_model", kTime, "MODEL", "roofline, linear:FILE (fitted) or measured:GPU",
     TextMember{&RunConfig::time_model}},
    {"attention_curve", kTime, "NAME", "efficiency by block size, of the roofline model",
     TextMember{&RunConfig::attention_curve}},
    {"host_work", kTime, "KIND", "overlapped, or exposed between steps; not linear",
     ChoiceMember{&RunConfig::host_work, kHostWorkChoices}},
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

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

std::span<const RunField> run_fields() { return kFields; }

const RunField* find_run_field(std::string_view name) {
  std::string key(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  std::ranges::replace(key, '-', '_');
  const auto found = std::ranges::find(kFields, key, &RunField::name);
  return found == std::end(kFields) ? nullptr : found;
}

Status no_such_setting(std::string_view key) {
  const RunField* const meant = find_run_field(key);
  return Status::invalid_input(fmt::format(
      "'{}' is no setting; expected {}", key,
      meant != nullptr ? fmt::format("'{}'", meant->name)
                       : "a flag of recto simulate that sets a run, such as 'block_size'"));
}

std::string flag_of(const RunField& field) {
  std::string flag = "--" + std::string(field.name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::string expected_value(const RunField& field) {
  return std::visit(Overloaded{[](const TextMember&) { return std::string("a text"); },
                               [](const ChoiceMember& m) {
                                 return fmt::format("{}", fmt::join(m.choices, ", "));
                               },
                               [](const auto& m) { return range_text(m.range); }},
                    field.member);
}

Status set_field(RunConfig& config, const RunField& field, std::string_view text) {
  const auto choose = [&](const ChoiceMember& m) {
    if (std::ranges::find(m.choices, text) == m.choices.end()) {
      return found_other(text, fmt::format("one of {}", fmt::join(m.choices, ", ")));
    }
    config.*m.member = text;
    return Status::ok();
  };
  return std::visit(Overloaded{[&](const TextMember& m) {
                                 if (text.empty())
                                   return Status::invalid_input("found nothing; expected a text");
                                 config.*m.member = text;
                                 return Status::ok();
                               },
                               choose,
                               [&](const auto& m) {
                                 return store(parse_number(text, m.range), config.*m.member);
                               }},
                    field.member);
}

std::string field_text(const RunConfig& config, const RunField& field) {
  const auto text_of = [&](const auto& m) {
    using Value = std::decay_t<decltype(config.*m.member)>;
    if constexpr (std::is_same_v<Value, std::optional<double>> ||
                  std::is_same_v<Value, std::optional<std::int64_t>>) {
      return config.*m.member ? fmt::format("{}", *(config.*m.member)) : std::string();
    } else {
      return fmt::format("{}", config.*m.member);
    }
  };
  return std::visit(text_of, field.member);
}

}  // namespace recto::experiments
