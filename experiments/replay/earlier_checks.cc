#include "experiments/replay/earlier_checks.h"

#include <algorithm>
#include <cstdint>
#include <functional>

#include "verify/drawn_cases.h"
#include "verify/law_runner.h"

namespace recto::experiments {
namespace {

using verify::Backend;
using verify::Law;

using Begin = std::function<void()>;

// A library's answer to whether it supports a call is the call itself, which it keeps for the one
// that follows; but not if that is on stale memory of its own.
enum class Begins : std::uint8_t { kWhenAsked, kWhenRun };

Backend begun(const Backend& backend, const Begin& begin, Begins begins) {
  Backend result = backend;
  if (begins == Begins::kWhenAsked) {
    result.why_unsupported = [begin,
                              why = backend.why_unsupported](const PagedAttentionInputs& inputs) {
      begin();
      return why(inputs);
    };
  } else {
    result.run = [begin, run = backend.run](const PagedAttentionInputs& inputs) {
      begin();
      return run(inputs);
    };
  }
  if (backend.with_stale_memory) {
    result.with_stale_memory = [begin, with = backend.with_stale_memory](std::uint32_t pattern) {
      return begun(with(pattern), begin, Begins::kWhenRun);
    };
  }
  if (backend.with_out_gaps) {
    result.with_out_gaps = [begin, begins,
                            with = backend.with_out_gaps](const verify::RowGaps& gaps) {
      return begun(with(gaps), begin, begins);
    };
  }
  return result;
}

}  // namespace

std::string function_of(const std::string& backend) {
  return backend.substr(backend.rfind(' ') + 1);
}

void begin_again(const Backend& backend, const Trial& trial, const verify::SavedCase& saved) {
  if (!backend.restart) return;
  backend.restart();
  for (const verify::EarlierCheck& check : saved.after) {
    const auto law = std::ranges::find(trial.laws, check.law, &Law::name);
    const auto on =
        std::ranges::find(trial.backends, function_of(check.backend),
                          [](const auto& listed) { return function_of(listed.backend.name); });
    if (law == trial.laws.end() || on == trial.backends.end()) continue;
    verify::verdict_of(*law, on->backend, verify::drawn_case(check.spec, "").law_case,
                       saved.bound_kind);
  }
}

Backend begun_again(const Backend& backend, const Trial& trial, const verify::SavedCase& saved) {
  if (!backend.restart) return backend;
  const Begin begin = [&backend, &trial, &saved] { begin_again(backend, trial, saved); };
  return begun(backend, begin, Begins::kWhenAsked);
}

}  // namespace recto::experiments
