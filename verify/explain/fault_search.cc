#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "verify/explain/fault_model.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;
using reference::BoundedResult;

// Limits the search to some seconds.
constexpr double kProductsMax = 4e9;

// In the order of the report.
constexpr FaultFamily (*kFamilies[])(const FailedCase&) = {
    mask_and_score_faults, capped_alibi,    alibi_origins, sum_faults,
    truncations,           narrowings,      cache_faults,  cut_offs,
    unscaled_sums,         row_searches,    head_counts,   padded_groups,
    head_limits,           tile_ends,       table_strides, tables,
    unwritten_rows,        empty_row_faults};

struct Element {
  double seen;
  double exact;
  double bound;

  // Unlike a comparison, accepts NaN for an expected NaN, since a fault may read NaN.
  bool is_right() const {
    return seen == exact || (std::isnan(seen) && std::isnan(exact)) ||
           std::abs(seen - exact) <= bound;
  }
};

// Visits out, then lse_ln if it is known.
template <typename Predicate>
bool all_elements(const AttentionResult& seen, const AttentionResult& exact,
                  const AttentionResult& bound, const Predicate& predicate) {
  for (std::size_t i = 0; i < seen.out.size(); ++i)
    if (!std::invoke(predicate, Element{seen.out[i], exact.out[i], bound.out[i]})) return false;
  for (std::size_t i = 0; i < seen.lse_ln.size(); ++i)
    if (!std::invoke(predicate, Element{seen.lse_ln[i], exact.lse_ln[i], bound.lse_ln[i]}))
      return false;
  return true;
}

class FaultSearch {
 public:
  explicit FaultSearch(const FailedCase& of) : of_(of) {}

  void try_family(const FaultFamily& family) {
    report_.left_out.insert(report_.left_out.end(), family.left_out.begin(), family.left_out.end());
    if (const auto why = why_too_many(of_, family.what, family.changes))
      return report_.left_out.push_back(*why);
    if (family.naming != Naming::kAllThatFit) return try_roundings(family);
    for (const FaultModel& model : family.models) try_model(model);
  }

  FaultReport take() {
    if (!report_.fitting.empty()) report_.weak = why_weak();
    return std::move(report_);
  }

 private:
  bool fits(const AttentionResult& seen, const BoundedResult& result) const {
    const AttentionResult& bound =
        of_.bound_kind == BoundKind::kWorstCase ? result.worst_case : result.probabilistic;
    return all_elements(seen, result.exact, bound, &Element::is_right);
  }

  // A fault that changes nothing in this case is not counted.
  bool explains(const BoundedResult& faulty) {
    if (fits(faulty.exact, of_.right)) return false;
    ++report_.tried;
    return fits(of_.seen, faulty);
  }

  void try_model(const FaultModel& model) {
    const bool is_list = model.name.find("{}") != std::string::npos;
    std::vector<std::string> fitting;
    for (const auto& [text, change] : model.variants) {
      if (!explains(evaluate(of_, change))) continue;
      fitting.push_back(text);
      if (!is_list) break;
    }
    if (fitting.empty()) return;
    const std::string name = fmt::format(fmt::runtime(model.name), either_of(fitting));
    // Several models may have the same name.
    if (report_.fitting.empty() || report_.fitting.back() != name) report_.fitting.push_back(name);
  }

  // Distance from the observed results: each error in units of its bound in the right result.
  double squared_distance(const AttentionResult& exact) const {
    double sum = 0.0;
    all_elements(of_.seen, exact, of_.bound(), [&](const Element& at) {
      if (at.seen != at.exact && at.bound > 0) sum += std::pow((at.seen - at.exact) / at.bound, 2);
      return true;
    });
    return sum;
  }

  void try_roundings(const FaultFamily& family) {
    struct Fit {
      std::string name;
      double squared_distance;
    };
    const bool is_within_bounds = family.naming == Naming::kClosest;
    // An expected NaN fails every comparison, and is no evidence of a rounding fault.
    if (is_within_bounds && fits(of_.seen, of_.right)) return;
    const double right = squared_distance(of_.right.exact);
    std::vector<Fit> fitting;
    for (const FaultModel& model : family.models) {
      BoundedResult faulty = evaluate(of_, model.variants.front().change);
      if (is_within_bounds) {
        if (faulty.exact.out == of_.right.exact.out &&
            faulty.exact.lse_ln == of_.right.exact.lse_ln)
          continue;
        ++report_.tried;
        faulty.worst_case = of_.right.worst_case;
        faulty.probabilistic = of_.right.probabilistic;
        if (!fits(of_.seen, faulty)) continue;
      } else if (!explains(faulty)) {
        continue;
      }
      const double distance = squared_distance(faulty.exact);
      // Bounds wide enough for narrowed weights also admit other faults of that size. A result of
      // such a fault is no closer to the observed one than the right result.
      if (is_within_bounds || distance < right) fitting.push_back({model.name, distance});
    }
    if (fitting.empty()) return;
    const Fit closest = std::ranges::min(fitting, {}, &Fit::squared_distance);
    if (is_within_bounds && fitting.size() > 1) {
      return report_.fitting.push_back(
          fmt::format("{} (the closest of {} of its kind)", closest.name, fitting.size()));
    }
    // Twice the distance allows for rounding errors besides the fault's.
    for (const Fit& fit : fitting)
      if (fit.squared_distance <= 4.0 * closest.squared_distance)
        report_.fitting.push_back(fit.name);
  }

  // Depends on the number of wrong elements, and on the most keys that a wrong row may see.
  std::optional<std::string> why_weak() const {
    std::int64_t num_wrong = 0;
    std::int64_t most_keys = 0;
    of_.for_each_row([&](const HeadRow& at) {
      const std::int64_t wrong = count_wrong(of_, at);
      num_wrong += wrong;
      if (wrong > 0) most_keys = std::max(most_keys, of_.visible_keys(at).size());
    });
    if (most_keys == 0) return "no wrong row has a key to attend to";
    if (most_keys == 1) return "no wrong row sees more than one key";
    if (num_wrong == 1) return "a single element is wrong";
    return std::nullopt;
  }

  const FailedCase& of_;
  FaultReport report_;
};

}  // namespace

std::int64_t count_wrong(const FailedCase& of, const HeadRow& at) {
  const std::int64_t row = of.row_of(at);
  std::int64_t wrong = 0;
  for (std::int64_t dim = 0; dim < of.seen.head_dim; ++dim) {
    const Element out{of.seen.out_at(row, at.head, dim), of.right.exact.out_at(row, at.head, dim),
                      of.bound().out_at(row, at.head, dim)};
    wrong += out.is_right() ? 0 : 1;
  }
  if (of.seen.lse_ln.empty()) return wrong;
  const Element lse_ln{of.seen.lse_ln_at(row, at.head), of.right.exact.lse_ln_at(row, at.head),
                       of.bound().lse_ln_at(row, at.head)};
  return wrong + (lse_ln.is_right() ? 0 : 1);
}

std::string either_of(const std::vector<std::string>& names) {
  // Shows up to five names, rather than four and "1 other".
  const std::size_t named = names.size() <= 5 ? names.size() : 4;
  std::string text;
  for (std::size_t i = 0; i < named; ++i) {
    const bool is_last = i + 1 == names.size();
    text += (i == 0 ? "" : is_last ? " or " : ", ") + names[i];
  }
  return names.size() > named ? text + fmt::format(" or {} others", names.size() - named) : text;
}

std::optional<std::string> why_too_many(const FailedCase& of, const std::string& what,
                                        std::int64_t changes) {
  double products = 0.0;
  for (const reference::SequenceRows& sequence : of.sequences)
    products +=
        static_cast<double>(sequence.num_rows) * static_cast<double>(sequence.context_length);
  products *= static_cast<double>(of.inputs.q.num_heads) *
              static_cast<double>(of.inputs.q.head_dim + of.inputs.kv.v.head_dim) *
              static_cast<double>(changes);
  if (products <= kProductsMax) return std::nullopt;
  return fmt::format("{}: {:.2g} products, more than {:.2g}", what, products, kProductsMax);
}

std::string faults_text(const FaultReport& report) {
  const std::size_t fitting = report.fitting.size();
  std::string text = fmt::format("faults     {} tried that would change this case; {} {}",
                                 report.tried, fitting, fitting == 1 ? "fits" : "fit");
  text += fitting > 1 ? ", which this case does not distinguish\n" : "\n";
  for (const std::string& what : report.fitting) text += "  " + what + "\n";
  if (report.weak) {
    text +=
        fmt::format("  weak: {}, so that other faults would give the same numbers\n", *report.weak);
  }
  for (const std::string& what : report.left_out) text += "  not tried: " + what + "\n";
  return text;
}

FaultReport find_faults(const FailedCase& of) {
  FaultSearch search(of);
  for (const auto family : kFamilies) search.try_family(family(of));
  return search.take();
}

}  // namespace recto::verify
