#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "verify/explain/fault_model.h"

namespace recto::verify {
namespace {

using reference::RowOutput;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Limits the products (q with K, weights with V) that the search may compute for the faults of one
// family, to some seconds.
constexpr double kProductsMax = 4e9;

// In the order of the report.
constexpr FaultFamily (*kFamilies[])(const FailedCase&) = {
    faults_of_table, truncations,    narrowings,      cut_offs,  unscaled_sums,
    row_searches,    padded_groups,  head_limits,     tile_ends, table_strides,
    other_blocks,    unwritten_rows, empty_row_faults};

bool are_right(const RowOutput& seen, const RowOutput& expected, const RowOutput& bound) {
  for (std::int64_t dim = 0; dim < seen.out.size(); ++dim)
    if (!is_right({seen.out[dim], expected.out[dim], bound.out[dim]})) return false;
  return is_right({seen.lse_ln, expected.lse_ln, bound.lse_ln});
}

// The sum of squared errors, each in units of its bound.
double squared_distance(const RowOutput& seen, const RowOutput& expected, const RowOutput& bound) {
  const auto squared = [](const ComparedValues& at) {
    if (at.seen == at.expected || !(at.bound > 0.0)) return 0.0;
    return std::pow((at.seen - at.expected) / at.bound, 2);
  };
  double sum = squared({seen.lse_ln, expected.lse_ln, bound.lse_ln});
  for (std::int64_t dim = 0; dim < seen.out.size(); ++dim)
    sum += squared({seen.out[dim], expected.out[dim], bound.out[dim]});
  return sum;
}

// What a fault would make of the case.
struct Trial {
  bool is_changing = false;       // anything
  bool is_fitting = true;         // all observed results are right under it
  double squared_distance = 0.0;  // if fitting: from the observed results, by the right bounds

  bool explains() const { return is_changing && is_fitting; }
};

void no_change(AttentionRow& row) { row.keep_right_result(); }

class FaultSearch {
 public:
  explicit FaultSearch(const FailedCase& of) : of_(of) {}

  void try_family(const FaultFamily& family) {
    report_.left_out.insert(report_.left_out.end(), family.left_out.begin(), family.left_out.end());
    products_left_ = family.what.empty() ? kInfinity : kProductsMax;
    is_cut_short_ = false;
    if (family.naming == Naming::kAllThatFit) {
      try_models(family.models);
    } else {
      try_roundings(family);
    }
    if (is_cut_short_) {
      report_.left_out.push_back(
          fmt::format("further {}, after {:.2g} products", family.what, kProductsMax));
    }
  }

  FaultReport take() {
    if (!report_.fitting.empty()) report_.weak = why_weak();
    return std::move(report_);
  }

 private:
  // A fault that changes nothing in this case is not counted. Most end at the first wrong row.
  Trial try_change(const RowChange& change, Naming naming) {
    const bool is_within_bounds = naming == Naming::kClosest;
    Trial trial;
    if (products_left_ < 0.0) {
      is_cut_short_ = true;
      return trial;
    }
    evaluate(of_, change, [&](const AttentionRow& row) {
      products_left_ -= static_cast<double>(row.k.size() + row.v.size());
      const RowResult right = row.right();
      const RowResult& faulty = row.keeps_right_result ? right : *row.result;
      const RowOutput& right_bound = bound_of(right, of_.bound_kind);
      const RowOutput& bound = is_within_bounds ? right_bound : bound_of(faulty, of_.bound_kind);
      RowOutput seen = row_output(of_.seen, of_.row_of(row.at), row.at.head);
      if (!of_.has_lse_ln()) seen.lse_ln = faulty.exact.lse_ln;
      trial.is_fitting = trial.is_fitting && are_right(seen, faulty.exact, bound);
      const bool is_other = is_within_bounds ? faulty.exact.out != right.exact.out ||
                                                   faulty.exact.lse_ln != right.exact.lse_ln
                                             : !are_right(faulty.exact, right.exact, right_bound);
      trial.is_changing |= is_other && !row.keeps_right_result;
      trial.squared_distance += squared_distance(seen, faulty.exact, right_bound);
      return trial.is_fitting || !trial.is_changing;
    });
    report_.tried += trial.is_changing ? 1 : 0;
    return trial;
  }

  void try_models(const std::vector<FaultModel>& models) {
    std::vector<std::string> fitting;  // variants of the current name
    for (std::size_t i = 0; i < models.size(); ++i) {
      const auto& [name, change, variant] = models[i];
      const bool is_list = name.find("{}") != std::string::npos;
      if (is_list || fitting.empty())
        if (try_change(change, Naming::kAllThatFit).explains()) fitting.push_back(variant);
      if (i + 1 < models.size() && models[i + 1].name == name) continue;
      if (!fitting.empty())
        report_.fitting.push_back(fmt::format(fmt::runtime(name), either_of(fitting)));
      fitting.clear();
    }
  }

  void try_roundings(const FaultFamily& family) {
    struct Fit {
      std::string name;
      double squared_distance;
    };
    const bool is_within_bounds = family.naming == Naming::kClosest;
    const Trial right = try_change(no_change, family.naming);
    // An expected NaN fails every comparison, and is no evidence of a rounding fault.
    if (is_within_bounds && right.is_fitting) return;
    std::vector<Fit> fitting;
    for (const FaultModel& model : family.models) {
      const Trial trial = try_change(model.change, family.naming);
      // Bounds wide enough for narrowed weights also admit other faults of that size. A result of
      // such a fault is no closer to the observed one than the right result.
      const bool is_closer = is_within_bounds || trial.squared_distance < right.squared_distance;
      if (trial.explains() && is_closer) fitting.push_back({model.name, trial.squared_distance});
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
      const std::int64_t wrong = of_.count_wrong(at);
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
  double products_left_ = 0.0;  // for this family
  bool is_cut_short_ = false;
};

}  // namespace

std::string either_of(const std::vector<std::string>& names) {
  std::vector<std::string> shown = names;
  if (names.size() > 5) {
    shown.resize(4);
    shown.push_back(fmt::format("{} others", names.size() - 4));
  }
  std::string text = shown.front();
  for (std::size_t i = 1; i < shown.size(); ++i)
    text += (i + 1 == shown.size() ? " or " : ", ") + shown[i];
  return text;
}

FaultReport find_faults(const FailedCase& of) {
  FaultSearch search(of);
  for (const auto family : kFamilies) search.try_family(family(of));
  return search.take();
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

}  // namespace recto::verify
