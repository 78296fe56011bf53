#include "experiments/support/length_source.h"

#include <memory>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "sim/request.h"
#include "sim/traces/trace_reader.h"

namespace recto::experiments {
namespace {

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
