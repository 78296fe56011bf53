#pragma once

// Draws cases for backends that each serve only some: in turn, so that each backend gets its share.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/cases/case_filter.h"
#include "experiments/verify/serving_supply.h"
#include "verify/backend.h"
#include "verify/drawn_cases.h"

namespace recto::experiments {

// The default number of cases is small, because the executor is slow; a library is fast, and
// refuses types that it does not support. One in so many has a serving size.
inline constexpr std::int64_t kDefaultCases = 15;
inline constexpr std::int64_t kDefaultLibraryCases = 120;
inline constexpr std::int64_t kLargeEvery = 5;
inline constexpr std::int64_t kLibraryLargeEvery = 3;

struct SupplyOptions {
  std::int64_t large_every = kLargeEvery;  // one case in so many has a serving size
  // CaseDomain::gap_units. A library may take any stride; some of recto's own kernels refuse
  // unaligned strides.
  std::vector<std::int64_t> gap_units = {verify::kGapUnits.front()};
  verify::CaseDemands demands = {};
  std::vector<std::string> kinds = {};  // names of sets and of serving kinds; empty: all
};

// For a library.
SupplyOptions library_supply();

class CaseSupply {
 public:
  // `backends` must outlive this object. Backends that compute no attention get the cases drawn for
  // others, and their own cases if there are no others. No size exceeds `limits`.
  CaseSupply(const std::vector<verify::Backend>& backends, std::uint64_t seed,
             const verify::SizeLimits& limits, const SupplyOptions& options = {});
  CaseSupply(const CaseSupply&) = delete;
  CaseSupply& operator=(const CaseSupply&) = delete;

  // Alternates between a case that any backend supports and one for the backend that has had the
  // fewest cases, some of serving size. nullopt once `is_time_up`, if no case meets the demands,
  // and if no backend supports any case; such backends get one case, so that the reason can be
  // reported.
  std::optional<verify::DescribedCase> next(const std::function<bool()>& is_time_up);

  // Whether the last case that next() returned has a serving size.
  bool is_of_serving_size() const { return is_of_serving_size_; }

  // The first wanted case among a few dozen small ones drawn for the backend; nullopt if there is
  // none.
  std::optional<verify::DescribedCase> find(
      const verify::Backend& backend,
      const std::function<bool(const verify::DescribedCase&)>& is_wanted);

  // Why backends refused cases that were drawn for them, and how often each reason was given.
  const std::map<std::string, std::int64_t>& refusals() const { return refusals_; }

 private:
  // A backend, with what it has had and what is drawn for it.
  struct SuppliedBackend {
    const verify::Backend* backend = nullptr;
    std::int64_t served = 0;
    std::int64_t large_turns = 0;
    std::int64_t served_large = 0;
    bool gets_no_more = false;
    // Cases of all sizes, of sizes of models and of many heads, then of the backend's domain as
    // found by probing; drawn from in turn.
    std::vector<verify::DrawnCases> sets;
    std::vector<verify::CaseSpec> found = {};       // by probing what it supports
    std::optional<verify::CaseDomain> domain = {};  // supported cases of any size
  };

  SuppliedBackend* whose_turn();
  SuppliedBackend* whose_large_turn();
  std::optional<verify::DescribedCase> draw_small(const std::function<bool()>& is_time_up);
  std::optional<verify::DescribedCase> draw_large(const std::function<bool()>& is_time_up);
  // nullopt if no case of many meets the demands.
  std::optional<verify::DescribedCase> draw(const std::vector<verify::DrawnCases>& sets);
  std::optional<verify::DescribedCase> draw_for_anybody(const std::function<bool()>& is_time_up);
  std::optional<verify::DescribedCase> draw_for(SuppliedBackend& supplied,
                                                const std::function<bool()>& is_time_up);
  void narrow(SuppliedBackend& supplied);
  static std::optional<verify::DescribedCase> take_found(SuppliedBackend& supplied);

  CaseSets all_;                          // within the demands
  std::vector<verify::DrawnCases> sets_;  // of small cases
  verify::CaseDemands demands_;
  ServingSupply large_;
  std::int64_t large_every_;
  std::vector<SuppliedBackend> supplied_;
  std::uint64_t drawn_ = 0;
  std::int64_t issued_ = 0;
  bool is_of_serving_size_ = false;
  std::map<std::string, std::int64_t> refusals_;
};

}  // namespace recto::experiments
