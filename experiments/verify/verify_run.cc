#include "experiments/verify/verify_run.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <utility>

#include "experiments/support/output_file.h"
#include "experiments/support/progress.h"
#include "experiments/support/shell_word.h"
#include "experiments/verify/case_supply.h"
#include "verify/saved_case.h"

namespace recto::experiments {
namespace {

using Clock = std::chrono::steady_clock;
using verify::Backend;
using verify::DescribedCase;
using verify::Law;

// A name that any file system takes.
std::string plain_name(std::string name) {
  for (char& c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '@' || c == '.';
    if (!is_plain) c = '-';
  }
  return name;
}

class VerifyRun {
 public:
  VerifyRun(const Trial& trial, const VerifyOptions& options, CommandContext& context)
      : backends_(trial.backends_here()),
        laws_(trial.laws),
        options_(options),
        program_(context.program),
        supply_(backends_, options.seed),
        begin_(Clock::now()),
        // With a limit of time alone, the bar is one of seconds.
        progress_(context.err, context.terminal,
                  counts_cases() ? steps_of(cases_max()) : steps_of_seconds()) {}

  VerifyOutcome run() {
    verify::LawRunOptions how{.bound_kind = options_.bound_kind,
                              .failures_kept = options_.failures_kept};
    how.keep = [this](const Law& law, const Backend& backend, const DescribedCase& smallest) {
      return keep(law, backend, smallest);
    };
    how.before_each = [this](const Law& law, const Backend& backend) { advance(law, backend); };
    outcome_.report = run_laws(
        laws_, backends_, [this] { return next_case(); }, how);
    outcome_.passed_over = supply_.refusals();
    return std::move(outcome_);
  }

 private:
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
    if (outcome_.cases == cases_max()) return std::nullopt;
    std::optional<DescribedCase> drawn =
        supply_.next([this] { return options_.seconds && seconds_passed() > *options_.seconds; });
    if (drawn) ++outcome_.cases;
    return drawn;
  }

  void advance(const Law& law, const Backend& backend) {
    const std::string what = fmt::format("{} on {}", law.name, backend.name);
    if (counts_cases()) return progress_.advance(what);
    for (; seconds_shown_ < seconds_passed() && seconds_shown_ < *options_.seconds;
         ++seconds_shown_) {
      progress_.advance(what);
    }
  }

  // Writes the case, and says how it is replayed.
  std::string keep(const Law& law, const Backend& backend, const DescribedCase& smallest) {
    const std::string stem = plain_name(fmt::format("{}-{}", backend.name, law.name));
    const std::string file = fmt::format("{}/{}-{}.json", options_.folder, stem, ++numbers_[stem]);
    Status status = make_folder(options_.folder);
    const verify::SavedCase saved{.law = law.name,
                                  .backend = backend.name,
                                  .bound_kind = options_.bound_kind,
                                  .spec = *smallest.spec};
    if (status.is_ok()) status = write_file(file, saved_case_text(saved));
    if (outcome_.written.is_ok()) outcome_.written = status;
    outcome_.kept.push_back({law.name, backend.name, file});
    return fmt::format("{} replay {}{}", program_, shell_word(file), options_.replay_flags);
  }

  const std::vector<Backend> backends_;
  const std::vector<Law>& laws_;
  const VerifyOptions& options_;
  const std::string program_;
  CaseSupply supply_;
  Clock::time_point begin_;
  ProgressBar progress_;
  double seconds_shown_ = 0;
  std::map<std::string, int> numbers_;
  VerifyOutcome outcome_;
};

}  // namespace

VerifyOutcome run_verify(const Trial& trial, const VerifyOptions& options,
                         CommandContext& context) {
  return VerifyRun(trial, options, context).run();
}

}  // namespace recto::experiments
