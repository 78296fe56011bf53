#pragma once

// One simulated configuration as users write it in flags and sweep files, and as manifests and
// results store it; and the table of its settings, from which flags, their help and completion,
// JSON, sweep axes and the refusal of settings without effect follow. support/resolved_run.h
// converts a configuration to a run.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/status.h"
#include "experiments/support/command.h"
#include "experiments/support/numbers.h"

namespace recto::experiments {

// The help of a flag explains empty texts and absent numbers. Names of kinds are checked against
// run_fields() whenever they are set.
struct RunConfig {
  // Workload: a trace, or a named workload whose parts may be replaced.
  std::string trace;
  std::string workload;
  std::string arrivals;
  std::string prompts;
  std::string follow_ups;
  std::string outputs;
  std::string sharing;
  std::optional<std::int64_t> requests;
  std::optional<std::int64_t> max_context;
  double scale_rate = 1;
  std::optional<std::int64_t> limit;
  std::string on_bad_row = "fail";
  std::string decoding = "single";
  double beam_switch_probability = 0;
  std::int64_t seed = 1;

  // Memory.
  std::string allocator = "paged";
  std::string manager = "simulator";
  std::string placement = "buddy";
  std::int64_t block_size = 16;
  std::int64_t null_blocks = 0;
  std::string model = "OPT-13B";
  std::string model_file;
  std::string gpu = "A100-40";
  std::int64_t tp = 1;
  std::int64_t kv_element_bytes = 2;
  double utilization = 0.9;
  std::optional<double> pool_gib;
  std::optional<std::int64_t> pool_slots;
  std::optional<std::int64_t> pool_blocks;

  // Scheduler.
  std::string batching = "continuous";
  std::int64_t max_sequences = 256;
  std::int64_t max_batched_tokens = 2048;
  std::optional<std::int64_t> max_length;
  std::string prefill = "chunked";
  std::string admission = "whole-prompt";
  double watermark = 0;
  std::string preemption = "recompute";
  double host_gib = 0;
  std::optional<double> host_bandwidth;
  std::optional<std::int64_t> window;

  // Time.
  std::string time_model = "roofline";
  std::string attention_curve = "flashinfer";
  std::string host_work = "overlapped";
  std::string graph_sizes = "none";
  std::optional<double> stream_interference;

  // Metrics.
  double series_window_s = 1;
  std::optional<double> ttft_limit_ms;
  std::optional<double> tpot_limit_ms;

  friend bool operator==(const RunConfig&, const RunConfig&) = default;
};

// More than any card holds, in any unit of pools; block managers of this size still fit into a
// workstation's memory.
inline constexpr std::int64_t kMaxPoolSlots = std::int64_t{1} << 27;

// A member of RunConfig, and the values that it takes.
template <typename Value, typename Values>
struct RunMember {
  Value RunConfig::*member;
  Values values = {};
};
using TextMember = RunMember<std::string, std::span<const std::string_view>>;  // none: any text
using CountMember = RunMember<std::int64_t, CountRange>;
using OptionalCountMember = RunMember<std::optional<std::int64_t>, CountRange>;
using NumberMember = RunMember<double, NumberRange>;
using OptionalNumberMember = RunMember<std::optional<double>, NumberRange>;

// A condition under which a setting has an effect, in valid configurations.
struct RunNeed {
  bool (*is_met)(const RunConfig& config);
  std::string_view text;  // "it applies to --preemption swap"
};
using Needs = std::array<const RunNeed*, 2>;  // all of them, null if there are fewer

struct RunField {
  std::string_view name;   // JSON key; the flag is --name with hyphens
  std::string_view group;  // of the help
  std::string_view value_name;
  std::string_view help;  // one line; the default, if any, is appended
  std::variant<TextMember, CountMember, OptionalCountMember, NumberMember, OptionalNumberMember>
      member;
  Needs needs = {};
};

// In the order of the help.
std::span<const RunField> run_fields();

// The field of a JSON key or a flag, with or without leading hyphens; nullptr if there is none.
const RunField* find_run_field(std::string_view name);

// "--block-size"
std::string flag_of(const RunField& field);

// Parses and stores one value. The message says what was found and expected; callers add the flag
// or the key with Status::in.
Status set_field(RunConfig& config, const RunField& field, std::string_view text);

// The value as `set_field` takes it; empty if there is none.
std::string field_text(const RunConfig& config, const RunField& field);

// "an integer from 1 to 1048576", "paged, prefix-cached", ...
std::string expected_value(const RunField& field);

// The names that a field takes; empty if it takes numbers or free text.
std::vector<std::string> known_values(const RunField& field);

// Every field by its name; null where it is empty or absent.
Json to_json(const RunConfig& config);

// The reverse. Missing fields are as in RunConfig(). Invalid input for an unknown or wrongly typed
// field; `resolve` checks combinations of fields.
Result<RunConfig> run_config_from_json(const Json& json);

// The field of a JSON key; invalid input for an unknown key, with what was expected.
Result<const RunField*> field_of_key(std::string_view key);

// The flag of one field, in the help's groups. The help shows the field's value in `defaults`;
// `value` gets the known names.
Option& add_run_flag(Command& command, const RunField& field, const RunConfig& defaults,
                     OptionValue value);

// One flag per field, which writes into `config`; the help shows the present values of `config` as
// defaults. Fields named in `except` get no flag, for commands that take lists of them.
void add_run_flags(Command& command, RunConfig& config,
                   std::span<const std::string_view> except = {});

// The syntax of texts and files that run flags take: for the end of --help, followed by a blank
// line, in at most 100 columns.
std::string spec_help();

// Invalid input, naming the flag and why it has no effect, if a setting differs from its default in
// some of `configs` and has no effect in any of these, because a user who gives a setting expects
// an effect. All of `configs` must be valid.
Status refuse_unused(std::span<const RunConfig> configs);

// The settings of a valid configuration as flags of recto simulate: " --block-size 32". Those that
// have their default or no effect are left out.
std::string used_flags(const RunConfig& config);

// Invalid input for several seeds if no run of `configs` would differ under another seed: means
// over equal runs look more certain than they are.
Status refuse_idle_seeds(std::span<const RunConfig> configs, std::int64_t seeds);

// False if a run is the same under every seed.
bool draws_by_chance(const RunConfig& config);

// True for the contiguous-* allocators, which have no blocks.
bool is_contiguous(const RunConfig& config);

// "paged 16", or "contiguous-max": the name of a study's row.
std::string label_of(const RunConfig& config);

}  // namespace recto::experiments
