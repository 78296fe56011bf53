#include "experiments/verify/verify_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include "experiments/support/parallel.h"
#include "experiments/verify/kept_failures.h"
#include "experiments/verify/pair_cover.h"
#include "verify/law.h"
#include "verify/own_process.h"

namespace recto::experiments {
namespace {

using Clock = std::chrono::steady_clock;
using verify::Backend;
using verify::DescribedCase;
using verify::Law;

// For a case of serving size: the number of laws besides the oracle, their work limit, and the
// executor's, as counted by AttentionProblem::work.
constexpr std::size_t kLawsOfLarge = 2;
constexpr std::int64_t kLawsWorkMax = 12'000'000;
constexpr std::int64_t kSlowWorkMax = 20'000'000;

class VerifyRun {
 public:
  VerifyRun(const Selection& selection, const VerifyOptions& options, CommandContext& context)
      : backends_(selection.backends_here()),
        recorded_backends_(with_sizes_recorded(backends_)),
        on_executor_(names_on_executor(selection)),
        laws_(checked_in_forks(with_bias_recorded(selection.laws), on_executor_, sizes_of_forks())),
        options_(options),
        failure_files_(options, context.program.name),
        has_library_(selection.built || selection.set_write_observer),
        supply_(backends_, options.seed, options.limits, options.supply),
        pairs_(selection, backends_, options.seed, options.limits),
        begin_(Clock::now()),
        // With only a time limit, the bar counts seconds.
        progress_(context.err, context.terminal,
                  counts_cases() ? steps_of(cases_max()) : steps_of_seconds()) {}

  VerifyOutcome run() {
    verify::LawRunOptions how{.bound_kind = options_.bound_kind,
                              .failures_kept = options_.failures_kept};
    how.why_lost = options_.why_lost;
    how.begins_at_shown_cases = options_.is_of_caller;
    how.clock = [this] { return seconds_passed(); };
    how.keep = [this](const Law& law, const Backend& backend, const DescribedCase& smallest,
                      const verify::LawVerdict& verdict) {
      outcome_.kept.push_back({law.name, backend.name, verdict.kind()});
      return failure_files_.save(law, backend, smallest, outcome_);
    };
    how.is_meant_for = [this](const Law& law, const Backend& backend) {
      return !is_for_pairs_ || pairs_.is_for(law, backend);
    };
    how.before_each = [this](const Law& law, const Backend& backend) {
      if (is_for_pairs_) return;
      advance(law, backend);
      records_bias_ = has_values_by_chance_ && law.name == "oracle";
    };
    how.why_left_out = [this](const Law& law, const Backend& backend, const DescribedCase& drawn) {
      return why_left_out(law, backend, drawn);
    };
    how.after_each = [this](const Law& law, const Backend& backend, const DescribedCase& drawn,
                            const verify::LawVerdict& verdict) {
      outcome_.by_feature.add(*drawn.spec, verdict);
      if (verdict.failed() && !cases_at_failure_) cases_at_failure_ = outcome_.cases;
      met_.insert({law.name, backend.name});
      if (moves_unrecorded(backend)) sizes_[backend.name].add_pools(drawn.law_case);
      // Cases of shrinking, and cases found by a search, are not random draws.
      records_bias_ = false;
    };
    outcome_.report = run_laws(
        laws_, recorded_backends_, [this] { return next_case(); }, how);
    outcome_.sizes = std::move(sizes_);
    outcome_.passed_over = supply_.refusals();
    for (const auto& [name, bias] : biases_)
      if (const auto finding = bias.finding()) outcome_.biased.emplace(name, *finding);
    return std::move(outcome_);
  }

  // Counts a write of a library, which has one function that writes.
  void add_write(const KvWriteInputs& inputs) {
    const auto writer = std::ranges::find_if(
        backends_, [](const Backend& backend) { return !backend.computes_attention(); });
    if (writer != backends_.end()) sizes_[writer->name].add(inputs);
  }

 private:
  // The same backends, which record the sizes of their calls.
  std::vector<Backend> with_sizes_recorded(std::vector<Backend> backends) {
    for (Backend& backend : backends) {
      const auto record = [this, name = backend.name](const PagedAttentionInputs& inputs) {
        sizes_[name].add(inputs);
      };
      backend = observed(std::move(backend), record);
    }
    return backends;
  }

  // Whether it moves K and V by functions that only its laws know; a library's write is observed.
  bool moves_unrecorded(const Backend& backend) const {
    return !backend.computes_attention() && !has_library_;
  }

  // The same laws; the oracle's records outputs, for a bias that the bounds allow.
  std::vector<Law> with_bias_recorded(std::vector<Law> laws) {
    const auto record = [this](const Backend& backend, const PagedAttentionInputs& inputs,
                               const reference::AttentionResult& seen,
                               const reference::BoundedResult& oracle) {
      if (records_bias_) biases_[backend.name].add(inputs, seen, oracle);
    };
    for (Law& law : laws)
      if (law.name == "oracle") law = verify::oracle_comparison(record);
    return laws;
  }

  // Sizes of calls that were made in a fork.
  verify::ForkNotes sizes_of_forks() {
    const auto write = [this](const Backend& backend) {
      const auto tried = sizes_.find(backend.name);
      return tried == sizes_.end() ? "" : json_text(tried->second.json());
    };
    const auto read = [this](const Backend& backend, const std::string& note) {
      if (!note.empty()) sizes_[backend.name].add(parse_json(note).value());
    };
    return {write, read};
  }

  bool counts_cases() const { return options_.cases || !options_.seconds; }
  std::int64_t cases_max() const {
    if (!counts_cases()) return std::numeric_limits<std::int64_t>::max();
    return options_.cases.value_or(options_.cases_by_default);
  }
  std::size_t steps_of(std::int64_t cases) const {
    return static_cast<std::size_t>(cases) * laws_.size() * backends_.size();
  }
  std::size_t steps_of_seconds() const { return 1 + static_cast<std::size_t>(*options_.seconds); }
  double seconds_passed() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  std::optional<DescribedCase> next_case() {
    records_bias_ = false;  // a skipped law does not reset it
    const auto& after = options_.cases_after_failure;
    if (after && cases_at_failure_ && outcome_.cases - *cases_at_failure_ >= *after)
      return std::nullopt;
    const bool has_pairs = !is_time_up() && options_.supply.demands == verify::CaseDemands{};
    std::optional<DescribedCase> paired = has_pairs ? pairs_.next_of_share() : std::nullopt;
    is_for_pairs_ = paired.has_value();
    if (paired) ++outcome_.pair_cases;
    if (paired) return paired;
    if (outcome_.cases >= cases_max()) return next_unmet();
    std::optional<DescribedCase> drawn = supply_.next([this] { return is_time_up(); });
    if (!drawn) return drawn;
    const verify::FloatFamily v = drawn->spec->v;
    has_values_by_chance_ =
        drawn->spec->shared_prefix == 0 &&
        (v == verify::FloatFamily::kUniform || v == verify::FloatFamily::kNormal);
    ++outcome_.cases;
    pairs_.begin_share();
    if (supply_.is_of_serving_size()) ++outcome_.large_cases;
    return drawn;
  }

  bool is_time_up() const { return options_.seconds && seconds_passed() > *options_.seconds; }

  // A case for the next pair of law and backend without a case, if possible; only for a run of
  // default length.
  std::optional<DescribedCase> next_unmet() {
    if (options_.cases || options_.seconds) return std::nullopt;
    has_values_by_chance_ = false;
    for (; next_pair_ < laws_.size() * backends_.size(); ++next_pair_) {
      const Law& law = laws_[next_pair_ / backends_.size()];
      const Backend& backend = backends_[next_pair_ % backends_.size()];
      const Backend& recorded = recorded_backends_[next_pair_ % backends_.size()];
      if (met_.contains({law.name, backend.name}) || why_never(law, backend)) continue;
      std::optional<DescribedCase> drawn =
          supply_.find(backend, [&](const DescribedCase& candidate) {
            return !verdict_of(law, recorded, candidate.law_case, options_.bound_kind).skipped;
          });
      if (!drawn) continue;
      ++outcome_.cases;
      ++outcome_.unmet_law_cases;
      return drawn;
    }
    return std::nullopt;
  }

  // A large case goes only to the oracle and a few laws, because it takes long.
  std::optional<std::string> why_left_out(const Law& law, const Backend& backend,
                                          const DescribedCase& drawn) const {
    if (is_for_pairs_) return std::nullopt;
    if (outcome_.unmet_law_cases > 0) {
      if (!met_.contains({law.name, backend.name})) return std::nullopt;
      return "a case drawn for laws that had applied to none";
    }
    if (!supply_.is_of_serving_size()) return std::nullopt;
    const std::int64_t work = drawn.law_case.problem.work();
    if (is_slow(backend) && work > kSlowWorkMax)
      return "of serving size, too large for the executor";
    if (law.name == "oracle" || !backend.computes_attention()) return std::nullopt;
    if (work > kLawsWorkMax) return "of serving size, so large that only the oracle is run";
    const std::size_t turn = kLawsOfLarge * static_cast<std::size_t>(outcome_.large_cases);
    const auto place = static_cast<std::size_t>(&law - laws_.data());
    if ((turn + place) % laws_.size() < kLawsOfLarge) return std::nullopt;
    return "of serving size: only the oracle and a few other laws, in turn, are run";
  }

  bool is_slow(const Backend& backend) const { return on_executor_.contains(backend.name); }

  void advance(const Law& law, const Backend& backend) {
    const std::string what = fmt::format("{} on {}", law.name, backend.name);
    if (counts_cases()) return progress_.advance(what);
    for (; seconds_shown_ < seconds_passed() && seconds_shown_ < *options_.seconds;
         ++seconds_shown_) {
      progress_.advance(what);
    }
  }

  const std::vector<Backend> backends_;           // for which cases are drawn
  const std::vector<Backend> recorded_backends_;  // the same, for the laws
  const std::set<std::string> on_executor_;
  const std::vector<Law> laws_;
  const VerifyOptions& options_;
  FailureFiles failure_files_;
  const bool has_library_;
  CaseSupply supply_;
  PairCover pairs_;
  bool is_for_pairs_ = false;  // the case being tried
  Clock::time_point begin_;
  ProgressBar progress_;
  double seconds_shown_ = 0;
  std::set<std::pair<std::string, std::string>> met_;   // law and backend
  std::size_t next_pair_ = 0;                           // index of a law and a backend
  std::map<std::string, verify::RoundingBias> biases_;  // by backend
  std::optional<std::int64_t> cases_at_failure_ = {};   // drawn when the first one failed
  bool has_values_by_chance_ = false;                   // of the case being tried
  bool records_bias_ = false;
  std::map<std::string, TriedSizes> sizes_;  // by backend
  VerifyOutcome outcome_;
};

}  // namespace

std::vector<std::string> untried_backends(const Selection& selection,
                                          const VerifyOutcome& outcome) {
  std::vector<std::string> untried = outcome.report.untried_backends();
  const std::vector<Backend> backends = selection.backends_here();
  std::erase_if(untried, [&](const std::string& name) {
    const auto backend = std::ranges::find(backends, name, &Backend::name);
    return std::ranges::all_of(
        selection.laws, [&](const Law& law) { return why_never(law, *backend).has_value(); });
  });
  return untried;
}

VerifyOutcome run_verify(const Selection& selection, const VerifyOptions& options,
                         CommandContext& context) {
  VerifyRun run(selection, options, context);
  if (selection.set_write_observer)
    selection.set_write_observer([&run](const KvWriteInputs& inputs) { run.add_write(inputs); });
  VerifyOutcome outcome = run.run();
  if (selection.set_write_observer) selection.set_write_observer({});
  return outcome;
}

}  // namespace recto::experiments
