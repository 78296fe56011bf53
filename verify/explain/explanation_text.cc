#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "verify/explain/explanation.h"
#include "verify/indented.h"

namespace recto::verify {
namespace {

constexpr std::size_t kKeysShown = 12;

// Where a key lies in the cache.
struct KeyPlace {
  std::int64_t block = 0;
  std::int64_t slot = 0;
};

KeyPlace place_of(const PagedAttentionInputs& inputs, std::int64_t sequence, std::int64_t key) {
  const std::int64_t block_size = inputs.kv.k.block_size;
  const std::int32_t* row = inputs.block_table.data + sequence * inputs.block_table.row_stride;
  return {.block = row[key / block_size], .slot = key % block_size};
}

// Of keys whose weights are wrong, that of the diagnosis and others that depart before the rest.
Keys shown_keys(const Explanation& explanation, Keys wrong) {
  if (wrong.size() <= kKeysShown) return wrong;
  // A wrong weight may be so only because of others, with which it shares the sum.
  std::ranges::stable_partition(wrong, [&](std::int64_t key) {
    const std::optional<double> error = explanation.probe->score_error(key);
    return !error || std::abs(*error) > explanation.probe->score_tolerance(key);
  });
  std::ranges::stable_partition(wrong,
                                [&](std::int64_t key) { return key == explanation.diagnosis.key; });
  wrong.resize(kKeysShown);
  std::ranges::sort(wrong);
  return wrong;
}

std::string keys_text(const Explanation& explanation, const PagedAttentionInputs& inputs) {
  const WeightProbe& probe = *explanation.probe;
  const Keys wrong = probe.wrong_keys();
  if (wrong.empty()) return "";
  const Keys keys = shown_keys(explanation, wrong);
  std::string text =
      fmt::format("  {:>6} {:>6} {:>5} {:>13} {:>13} {:>10} {:>12}\n", "key", "block", "slot",
                  "weight seen", "expected", "bound", "score off by");
  for (const std::int64_t key : keys) {
    const KeyPlace place = place_of(inputs, explanation.place.sequence, key);
    const std::optional<double> error = probe.score_error(key);
    text += fmt::format("  {:>6} {:>6} {:>5} {:>13.6g} {:>13.6g} {:>10.2g} {:>12}\n", key,
                        place.block, place.slot, probe.seen[key], probe.expected[key],
                        probe.bound[key], error ? fmt::format("{:+.4g}", *error) : "not told");
  }
  if (const std::size_t others = wrong.size() - keys.size(); others > 0) {
    text += fmt::format("  not shown: {} whose weight{} wrong, too\n", others_text(others),
                        others == 1 ? " is" : "s are");
  }
  return text;
}

std::string probe_text(const Explanation& explanation, const PagedAttentionInputs& inputs) {
  if (!explanation.probe && explanation.is_empty_row)
    return "weights    none: the row has no key to attend to\n";
  if (!explanation.probe) {
    return fmt::format("weights    not seen: {}\n", explanation.why_no_probe);
  }
  const WeightProbe& probe = *explanation.probe;
  const HeadRow& place = explanation.place;
  std::string text = fmt::format(
      "weights    of sequence {}, row {}, head {}, as V of ones and zeros shows them in {} {}\n",
      place.sequence, place.row, place.head, probe.runs, probe.runs == 1 ? "run" : "runs");
  text += fmt::format("  lse_ln seen {:.9g}, expected {:.9g}, bound {:.2g}\n", probe.lse_ln_seen,
                      probe.lse_ln_expected, probe.lse_ln_bound);
  return text + keys_text(explanation, inputs);
}

std::string diagnosis_text(const Explanation& explanation, const PagedAttentionInputs& inputs) {
  const Diagnosis& diagnosis = explanation.diagnosis;
  std::string text = fmt::format("departs    {}: {}\n", step_name(diagnosis.step), diagnosis.why);
  if (diagnosis.key) {
    const KeyPlace place = place_of(inputs, explanation.place.sequence, *diagnosis.key);
    text += fmt::format("  first at key {}: block {}, slot {}\n", *diagnosis.key, place.block,
                        place.slot);
  }
  if (diagnosis.step == Step::kMax || diagnosis.names_max || explanation.is_empty_row) return text;
  return text + "  not told: the running maximum, which cancels from out and lse\n";
}

}  // namespace

std::string faults_text(const FaultReport& report) {
  const std::size_t fitting = report.fitting.size();
  std::string text = fmt::format("faults     {} tried that would change this case; {} {}",
                                 report.tried, fitting, fitting == 1 ? "fits" : "fit");
  text += fitting > 1 ? ", which it does not tell apart\n" : "\n";
  for (const std::string& what : report.fitting) text += "  " + what + "\n";
  if (report.weak) {
    text +=
        fmt::format("  weak: {}, so that other faults would give the same numbers\n", *report.weak);
  }
  for (const std::string& what : report.left_out) text += "  not tried: " + what + "\n";
  return text;
}

std::string explanation_text(const Explanation& explanation, const LawCase& law_case) {
  if (explanation.not_run) {
    return fmt::format("nothing to look at\n{}\n", indented(*explanation.not_run));
  }
  const std::string compared =
      fmt::format("oracle     {}\n", indented(explanation.comparison.text()).substr(2));
  if (explanation.comparison.passed()) return compared;
  const PlacedProblem placed(law_case.problem, law_case.placement);
  return compared + probe_text(explanation, placed.inputs()) +
         diagnosis_text(explanation, placed.inputs()) + faults_text(explanation.faults);
}

}  // namespace recto::verify
