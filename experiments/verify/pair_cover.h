#pragma once

// Cases in which each kernel meets each pair of an option, a head dim, a block size, a layout, a
// pair of types and decode or a chunk, as far as it serves that pair: a pairwise covering array. A
// kernel is compiled, and branches, by these; a fault of one combination of two hides from cases
// that are drawn.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/paged_kv_view.h"
#include "experiments/verify/selection.h"
#include "verify/backend.h"
#include "verify/drawn_cases.h"
#include "verify/law.h"
#include "verify/serving_kinds.h"

namespace recto::experiments {

// The one option of a case. A second one might hide its effect.
enum class PairedOption : std::uint8_t {
  kSoftcap,
  kAlibi,
  kWindow,
  kSinks,
  kLowScores,  // all as low as scores get
  kNegativeScale,
};

struct PairedCase {
  PairedOption option = PairedOption::kSoftcap;
  std::int64_t head_dim = 0;  // of K and of V
  std::int64_t block_size = 0;
  KvLayout layout = KvLayout::kTokenMajor;
  verify::TypePair types = {};
  verify::RowsKind rows = verify::RowsKind::kDecode;

  friend bool operator==(const PairedCase&, const PairedCase&) = default;
};

// All combinations, about 7500.
std::vector<PairedCase> every_paired_case();

// Calls visit(pair) for each pair of values that the case has: a number below kPairNumbers, the
// same for the same two values of the same two fields.
inline constexpr std::size_t kPairNumbers = 1024;
void visit_pairs(const PairedCase& paired, const std::function<void(std::size_t)>& visit);

// The kernels that serve a case, ascending. The option does not decide it.
using KernelsServing = std::function<std::vector<std::size_t>(const PairedCase& paired)>;

// A small set of cases: for each kernel, every pair of values that the kernel supports occurs in
// one that it supports. O(cases x combinations x kernels).
std::vector<PairedCase> covering_cases(std::size_t num_kernels, const KernelsServing& serving);

// One sequence, with a context beyond 128 tokens if a block has as many and the limits allow it,
// few heads, and values with which every option changes the result.
verify::CaseSpec spec_of(const PairedCase& paired, std::uint64_t seed,
                         const verify::SizeLimits& limits);

// The cases of a run: for the oracle, on those of `backends` that are kernels of recto's own list.
// `backends` must outlive this object.
class PairCover {
 public:
  PairCover(const Selection& selection, const std::vector<verify::Backend>& backends,
            std::uint64_t seed, const verify::SizeLimits& limits);

  bool is_for(const verify::Law& law, const verify::Backend& backend) const;

  // After each case of CaseSupply come kShare cases of the cover, or those that are left. In a run
  // of kDefaultCases they are all of them.
  void begin_share() { left_of_share_ = kShare; }
  // The next case of the share, or nothing after its last one.
  std::optional<verify::DescribedCase> next_of_share();
  // The next case, or nothing after the last one.
  std::optional<verify::DescribedCase> next();

 private:
  static constexpr int kShare = 8;

  std::vector<const verify::Backend*> kernels_;
  std::uint64_t seed_;
  verify::SizeLimits limits_;
  std::optional<std::vector<PairedCase>> cases_ = {};  // once the first one was asked for
  std::size_t next_ = 0;
  int left_of_share_ = 0;
};

}  // namespace recto::experiments
