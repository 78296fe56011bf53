#pragma once

// Cases for backends each of which serves some only: by turns, so that each gets its share.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/verify/serving_supply.h"
#include "verify/backend.h"
#include "verify/drawn_cases.h"

namespace recto::experiments {

class CaseSupply {
 public:
  // `backends` must outlive it. Those that compute no attention take what others get. No size is
  // beyond `limits`.
  CaseSupply(const std::vector<verify::Backend>& backends, std::uint64_t seed,
             const verify::SizeLimits& limits);

  // By turns a case that somebody serves, and one for the backend that has had fewest; every fifth
  // is of serving size. Nothing once `is_late`, and where nobody serves any; such backends get one
  // case, to be told why.
  std::optional<verify::DescribedCase> next(const std::function<bool()>& is_late);

  // Of the case that next() gave last.
  bool is_of_serving_size() const { return is_of_serving_size_; }

  // One that is wanted, of a few dozen small ones that are drawn for the backend.
  std::optional<verify::DescribedCase> find(
      const verify::Backend& backend,
      const std::function<bool(const verify::DescribedCase&)>& is_wanted);

  // Of cases that were drawn for backends in vain: why, by how often.
  const std::map<std::string, std::int64_t>& refusals() const { return refusals_; }

 private:
  struct Customer {
    const verify::Backend* backend = nullptr;
    std::int64_t served = 0;
    std::int64_t large_turns = 0;
    std::int64_t served_large = 0;
    bool gets_no_more = false;
    // Of sizes of every kind, those of models and many heads in turn, then of what it was found to
    // serve.
    std::vector<verify::DrawnCases> sets;
    std::vector<verify::CaseSpec> found = {};  // by asking what it serves
  };

  Customer* whose_turn();
  Customer* whose_large_turn();
  std::optional<verify::DescribedCase> draw_small(const std::function<bool()>& is_late);
  std::optional<verify::DescribedCase> draw_large(const std::function<bool()>& is_late);
  verify::DescribedCase draw(const std::vector<verify::DrawnCases>& sets);
  std::optional<verify::DescribedCase> draw_for_anybody(const std::function<bool()>& is_late);
  std::optional<verify::DescribedCase> draw_for(Customer& customer,
                                                const std::function<bool()>& is_late);
  void narrow(Customer& customer);
  static std::optional<verify::DescribedCase> take_found(Customer& customer);

  std::vector<verify::DrawnCases> sets_;
  ServingSupply large_;
  std::vector<Customer> customers_;
  std::uint64_t drawn_ = 0;
  std::int64_t issued_ = 0;
  bool is_of_serving_size_ = false;
  std::map<std::string, std::int64_t> refusals_;
};

}  // namespace recto::experiments
