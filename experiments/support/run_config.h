#pragma once

// One simulated configuration as a user says it: what flags, manifests, sweep files and saved
// results hold; and the table of its settings, from which flags, their help and completion, JSON,
// sweep axes and the refusal of settings without effect follow. support/resolved_run.h works out
// what a configuration means.

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

// Empty texts and absent numbers stand for what the help says about their flag. Names of kinds
// are checked against run_fields() whenever they are set.
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

// More than any card holds, in whatever unit a pool is given; block managers of this size still fit
// in a workstation's memory.
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

// Where a setting has an effect, in configurations that are valid.
struct RunNeed {
  bool (*is_met)(const RunConfig& config);
  std::string_view text;  // "it applies to --preemption swap"
};

struct RunField {
  std::string_view name;   // JSON key; the flag is --name with hyphens
  std::string_view group;  // of the help
  std::string_view value_name;
  std::string_view help;  // one line; the default is added where there is one
  std::variant<TextMember, CountMember, OptionalCountMember, NumberMember, OptionalNumberMember>
      member;
  std::array<const RunNeed*, 2> needs = {};  // all of them, null if there are fewer
};

// In the order of the help.
std::span<const RunField> run_fields();

// By its JSON key or its flag, with or without hyphens in front; nullptr if there is none.
const RunField* find_run_field(std::string_view name);

// "--block-size"
std::string flag_of(const RunField& field);

// Parses and stores one value. The message says what was found and expected, not where: add the
// flag or the key with Status::in.
Status set_field(RunConfig& config, const RunField& field, std::string_view text);

// The value as `set_field` takes it; empty where there is none.
std::string field_text(const RunConfig& config, const RunField& field);

// "an integer from 1 to 1048576", "paged, prefix-cached", ...
std::string expected_value(const RunField& field);

// The names that a field takes; empty if it takes numbers or free text.
std::vector<std::string> known_values(const RunField& field);

// Every field by its name; null where it is empty or absent.
Json to_json(const RunConfig& config);

// The reverse. Fields may be missing and then are as in RunConfig(). Invalid input for an unknown
// or wrongly typed field; `resolve` checks whether fields go together.
Result<RunConfig> run_config_from_json(const Json& json);

// The field of a JSON key; invalid input for a key that is none, with what it should have been.
Result<const RunField*> field_of_key(std::string_view key);

// The flag of one field, in the help's groups. What the field has in `defaults` is shown; `value`
// gets the known names.
Option& add_run_flag(Command& command, const RunField& field, const RunConfig& defaults,
                     OptionValue value);

// One flag per field, which writes into `config`; the values that `config` has now are shown as
// defaults. Fields named in `except` get no flag, for commands that take lists of them.
void add_run_flags(Command& command, RunConfig& config,
                   std::span<const std::string_view> except = {});

// How to write the texts and files that run flags take: for the end of --help, with a blank line
// after it, in at most 100 columns.
std::string spec_help();

// Invalid input, naming the flag and why it has no effect, if a setting differs from its default in
// some of `configs` and has no effect in any of these: whoever gives a setting expects it to do
// something. All of `configs` must be valid.
Status refuse_unused(std::span<const RunConfig> configs);

// The settings of a valid configuration as flags of recto simulate: " --block-size 32". Those that
// have their default or no effect are left out.
std::string used_flags(const RunConfig& config);

// Invalid input for several seeds if none of `configs` would differ under another seed: means over
// equal runs look more certain than they are.
Status refuse_idle_seeds(std::span<const RunConfig> configs, std::int64_t seeds);

// False where a run is the same under every seed.
bool draws_by_chance(const RunConfig& config);

// True for the contiguous-* allocators, which have no blocks.
bool is_contiguous(const RunConfig& config);

}  // namespace recto::experiments
