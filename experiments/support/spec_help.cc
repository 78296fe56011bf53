#include "experiments/support/spec_help.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "sim/time/attention_efficiency.h"
#include "sim/workloads/arrivals.h"
#include "sim/workloads/length_spec.h"
#include "sim/workloads/prefix_sharing.h"

namespace recto::experiments {
namespace {

std::string forms(std::string_view what, const std::vector<std::string>& usages) {
  std::string text;
  for (const std::string& usage : usages) {
    text += fmt::format("  {:<13}{}\n", text.empty() ? what : "", usage);
  }
  return text;
}

std::vector<std::string> curve_names() {
  std::string names;
  for (const sim::AttentionCurve& curve : sim::attention_curves()) {
    names += (names.empty() ? "" : ", ") + curve.name;
  }
  return {names};
}

}  // namespace

std::string spec_help() {
  std::vector<std::string> lengths = sim::length_usages();
  lengths.emplace_back("empirical:prompts@TRACE, empirical:outputs@TRACE");
  return "A SPEC is one of these; values may also stand without their names, in this order.\n" +
         forms("--arrivals", sim::arrival_usages()) + forms("lengths", lengths) +
         forms("--sharing", sim::sharing_usages()) + "\nOther values:\n" +
         forms("curves", curve_names()) +
         forms("linear:FILE", {"JSON: fixed_ns, per_prefill_token_ns, per_kv_token_ns, "
                               "per_sequence_ns,",
                               "source, and where it has one per_kv_block_ns"}) +
         forms("measured:GPU", {"a folder of experiments/results, or of what RECTO_GPU_RESULTS "
                                "names"}) +
         forms("--model-file", {"JSON: num_layers, hidden_size, num_q_heads, num_kv_heads, "
                                "head_dim, ffn_size,",
                                "vocabulary_size, parameter_count, max_context; also name, "
                                "source,",
                                "architecture (llama, opt), embeddings (separate, tied),",
                                "weight_element_bytes, sliding_window"}) +
         "\n";
}

}  // namespace recto::experiments
