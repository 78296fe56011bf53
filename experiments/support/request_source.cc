#include "experiments/support/request_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/contract.h"
#include "core/units.h"
#include "experiments/support/run_config.h"
#include "sim/request.h"
#include "sim/traces/trace_reader.h"
#include "sim/workloads/builtin_workloads.h"
#include "sim/workloads/workload_specs.h"

namespace recto::experiments {
namespace {

// Traces have no parallel samples and beams: every request gets the same decoding.
class WidenedSource final : public sim::RequestSource {
 public:
  WidenedSource(std::unique_ptr<sim::RequestSource> inner, sim::DecodingSpec decoding)
      : inner_(std::move(inner)), decoding_(decoding) {}

  Result<std::optional<SimTime>> next_arrival() override { return inner_->next_arrival(); }
  Result<std::optional<sim::Request>> next() override {
    Result<std::optional<sim::Request>> request = inner_->next();
    if (request.is_ok() && request.value()) {
      request.value()->decoding = decoding_.kind;
      request.value()->width = decoding_.width;
    }
    return request;
  }
  bool exhausted() const override { return inner_->exhausted(); }
  void finish(std::int64_t request_id, SimTime now) override { inner_->finish(request_id, now); }

 private:
  std::unique_ptr<sim::RequestSource> inner_;
  sim::DecodingSpec decoding_;
};

// Refuses flags of one kind of source that were given with the other.
Status refuse_given(const RunConfig& config, std::span<const std::string_view> names,
                    std::string_view why) {
  const RunConfig defaults;
  for (const std::string_view name : names) {
    const RunField* field = find_run_field(name);
    RECTO_CHECK(field != nullptr);
    if (field_text(config, *field) != field_text(defaults, *field)) {
      return Status::invalid_input(fmt::format("{}: {}", flag_of(*field), why));
    }
  }
  return Status::ok();
}

Status check_kinds(const RunConfig& config) {
  static constexpr std::string_view kOfWorkloads[] = {"workload",   "arrivals",   "prompts",
                                                      "follow_ups", "outputs",    "sharing",
                                                      "requests",   "max_context"};
  static constexpr std::string_view kOfTraces[] = {"limit", "on_bad_row"};
  if (std::error_code unknown; std::filesystem::is_fifo(config.trace, unknown)) {
    return Status::invalid_input("--trace: " + config.trace +
                                 ": is a pipe, which is read once; expected a file");
  }
  if (!config.trace.empty()) {
    return refuse_given(config, kOfWorkloads,
                        "applies to synthetic workloads; give either this or --trace");
  }
  return refuse_given(config, kOfTraces, "applies to --trace; workloads have --requests");
}

// Replaces `part` with the parsed `text`, unless that is empty.
template <typename Part, typename Parse>
Status replace_part(Part& part, const std::string& text, const Parse& parse,
                    const std::string& flag) {
  if (text.empty()) return Status::ok();
  auto parsed = parse(text);
  RECTO_RETURN_IF_ERROR(parsed.status().in(flag));
  part = std::move(parsed).value();
  return Status::ok();
}

Result<OpenedSource> open_trace_source(const RunConfig& config, const sim::DecodingSpec& decoding) {
  const sim::TraceOptions options{
      .scale_rate = config.scale_rate,
      .limit = config.limit,
      .on_bad_row = config.on_bad_row == "skip" ? sim::OnBadRow::kSkip : sim::OnBadRow::kFail};
  Result<std::unique_ptr<sim::TraceReader>> trace = sim::open_trace(config.trace, options);
  RECTO_RETURN_IF_ERROR(trace.status());
  OpenedSource source;
  source.trace = trace.value().get();
  source.requests = std::move(trace).value();
  if (decoding.width > 1) {
    source.requests = std::make_unique<WidenedSource>(std::move(source.requests), decoding);
  }
  return source;
}

constexpr std::string_view kPrompts = "empirical:prompts@";
constexpr std::string_view kOutputs = "empirical:outputs@";

Result<sim::LengthDistribution> lengths_of_trace(const std::string& path,
                                                 TokenCount sim::Request::*length) {
  const Result<std::unique_ptr<sim::TraceReader>> trace = sim::open_trace(path);
  RECTO_RETURN_IF_ERROR(trace.status());
  std::vector<TokenCount> lengths;
  while (true) {
    const Result<std::optional<sim::Request>> request = trace.value()->next();
    RECTO_RETURN_IF_ERROR(request.status());
    if (!request.value()) break;
    lengths.push_back((*request.value()).*length);
  }
  const auto distribution = sim::LengthDistribution::from_lengths(lengths);
  RECTO_RETURN_IF_ERROR(distribution.status().in(path));
  return distribution;
}

}  // namespace

Result<sim::SyntheticOptions> synthetic_options(const RunConfig& config) {
  RECTO_RETURN_IF_ERROR(check_kinds(config));
  if (!config.trace.empty()) return Status::invalid_input("--trace: expected a synthetic workload");
  const auto named =
      sim::builtin_workload(config.workload.empty() ? kDefaultWorkload : config.workload);
  RECTO_RETURN_IF_ERROR(named.status().in("--workload"));
  sim::SyntheticOptions options = named.value();
  RECTO_RETURN_IF_ERROR(
      replace_part(options.arrivals, config.arrivals, sim::parse_arrivals, "--arrivals"));
  RECTO_RETURN_IF_ERROR(replace_part(options.prompts, config.prompts, parse_lengths, "--prompts"));
  RECTO_RETURN_IF_ERROR(
      replace_part(options.follow_ups, config.follow_ups, parse_lengths, "--follow-ups"));
  RECTO_RETURN_IF_ERROR(replace_part(options.outputs, config.outputs, parse_lengths, "--outputs"));
  RECTO_RETURN_IF_ERROR(
      replace_part(options.sharing, config.sharing, sim::parse_prefix_sharing, "--sharing"));
  RECTO_RETURN_IF_ERROR(
      replace_part(options.decoding, config.decoding, sim::parse_decoding, "--decoding"));
  if (config.scale_rate != 1) {
    const auto scaled = sim::scale_rate(options.arrivals, config.scale_rate);
    RECTO_RETURN_IF_ERROR(scaled.status().in("--scale-rate"));
    options.arrivals = scaled.value();
  }
  if (config.requests) options.request_count = *config.requests;
  if (config.max_context) options.max_context = TokenCount(*config.max_context);
  options.seed = static_cast<std::uint64_t>(config.seed);
  return options;
}

Result<OpenedSource> open_source(const RunConfig& config) {
  RECTO_RETURN_IF_ERROR(check_kinds(config));
  const auto decoding = sim::parse_decoding(config.decoding);
  RECTO_RETURN_IF_ERROR(decoding.status().in("--decoding"));
  if (!config.trace.empty()) return open_trace_source(config, decoding.value());
  auto options = synthetic_options(config);
  RECTO_RETURN_IF_ERROR(options.status());
  auto workload = sim::SyntheticWorkload::create(std::move(options).value());
  RECTO_RETURN_IF_ERROR(workload.status().in("workload " + workload_name(config)));
  return OpenedSource{.requests = std::move(workload).value()};
}

std::string workload_name(const RunConfig& config) {
  if (!config.trace.empty()) return config.trace.substr(config.trace.find_last_of('/') + 1);
  return config.workload.empty() ? kDefaultWorkload : config.workload;
}

std::optional<std::string> lengths_file(const std::string& text) {
  for (const std::string_view form : {kPrompts, kOutputs}) {
    if (text.starts_with(form)) return text.substr(form.size());
  }
  return std::nullopt;
}

Result<sim::LengthDistribution> parse_lengths(const std::string& text) {
  const std::optional<std::string> file = lengths_file(text);
  if (!file) return sim::LengthDistribution::parse(text);
  if (file->empty()) {
    return Status::invalid_input("found '" + text + "'; expected a trace behind the @");
  }
  return lengths_of_trace(*file, text.starts_with(kPrompts) ? &sim::Request::prompt_tokens
                                                            : &sim::Request::output_tokens);
}

}  // namespace recto::experiments
