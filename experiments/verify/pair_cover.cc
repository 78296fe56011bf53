#include "experiments/verify/pair_cover.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "core/contract.h"
#include "core/random_stream.h"
#include "verify/cases/case_generator.h"
#include "verify/cases/far_scores.h"
#include "verify/serving_cases.h"

namespace recto::experiments {
namespace {

using verify::CaseSpec;
using verify::RowsKind;
using enum PairedOption;

constexpr std::array kOptions = {kSoftcap, kAlibi, kWindow, kSinks, kLowScores, kNegativeScale};
// The head dims that kernels are compiled for.
constexpr std::array<std::int64_t, 6> kHeadDims = {64, 80, 96, 128, 192, 256};
constexpr std::array<std::int64_t, 5> kBlockSizes = {8, 48, 128, 272, 512};
constexpr std::array kLayouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked};
constexpr std::array kRows = {RowsKind::kDecode, RowsKind::kChunk};

// Beyond 128 slots of a block, or two tiles of 64 keys, and short of what takes long on the
// executor.
constexpr std::int64_t kManySlots = 128;
constexpr std::int64_t kContextMin = 67;
constexpr std::int64_t kContextMore = 12;  // at most
constexpr std::int64_t kRowsMax = 5;

template <typename List, typename Value>
std::size_t place_in(const List& list, const Value& value) {
  const auto found = std::ranges::find(list, value);
  RECTO_CHECK(found != list.end());
  return static_cast<std::size_t>(found - list.begin());
}

// The values of all fields, numbered in one row: option, head dim, block size, layout, types, rows.
std::array<std::size_t, 6> values_of(const PairedCase& paired) {
  std::size_t first = 0;
  const auto number = [&first](std::size_t place, std::size_t count) {
    const std::size_t value = first + place;
    first += count;
    return value;
  };
  return {number(place_in(kOptions, paired.option), kOptions.size()),
          number(place_in(kHeadDims, paired.head_dim), kHeadDims.size()),
          number(place_in(kBlockSizes, paired.block_size), kBlockSizes.size()),
          number(place_in(kLayouts, paired.layout), kLayouts.size()),
          number(place_in(verify::kTypePairs, paired.types), verify::kTypePairs.size()),
          number(place_in(kRows, paired.rows), kRows.size())};
}

constexpr std::size_t kValues = kOptions.size() + kHeadDims.size() + kBlockSizes.size() +
                                kLayouts.size() + verify::kTypePairs.size() + kRows.size();
static_assert(kValues * kValues <= kPairNumbers);

float usual_scale(const PairedCase& paired) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(paired.head_dim)));
}

// One choice, and nothing else that could make up for it.
verify::CaseDomain domain_of(const PairedCase& paired, const verify::SizeLimits& limits) {
  verify::CaseDomain domain;
  domain.types = {paired.types};
  domain.layouts = {paired.layout};
  domain.rows = {paired.rows};
  domain.head_dims = {paired.head_dim};
  domain.value_head_dim = verify::ValueHeadDim::kSameAsKeys;
  domain.groups = {2};
  domain.block_sizes = {paired.block_size};
  domain.num_seqs_max = 1;
  domain.num_kv_heads_max = 1;
  domain.families = {verify::FloatFamily::kUniform, verify::FloatFamily::kNormal};
  domain.has_far_scores = domain.has_softcap = domain.has_window = domain.has_alibi = false;
  domain.has_padding = false;  // some strides are refused
  domain.has_sinks = domain.has_non_causal = domain.has_negative_scale = false;
  return within(limits, std::move(domain));
}

// Draws of a sequence seldom have a length from so short a range.
void set_lengths(const PairedCase& paired, const verify::SizeLimits& limits, CaseSpec& spec) {
  const std::int64_t least = paired.block_size < kManySlots ? kContextMin : kManySlots + 3;
  const auto more = static_cast<std::int64_t>(spec.seed % (kContextMore + 1));
  verify::SequenceSpec& sequence = spec.sequences.front();
  sequence.context_length = std::min(least + more, limits.context_max);
  const std::int64_t rows = paired.rows == RowsKind::kDecode ? 1 : 2 + more % (kRowsMax - 1);
  sequence.num_rows = std::min({rows, limits.num_rows_max, sequence.context_length});
  spec.shared_prefix = 0;
}

void set_option(const PairedCase& paired, CaseSpec& spec) {
  spec.options.scale = usual_scale(paired);
  switch (paired.option) {
    case kSoftcap:
      spec.options.softcap = 1.5F;
      return;
    case kAlibi:
      spec.options.alibi = verify::AlibiFamily::kUsual;
      return;
    case kWindow:
      spec.options.window = 1 + spec.longest_context() / 3;
      return;
    case kSinks:
      spec.options.sinks = verify::SinkFamily::kComparable;
      return;
    case kLowScores:
      move_scores_far(-verify::kScoreLimit, spec);
      return;
    case kNegativeScale:
      spec.options.scale = -1.5F * usual_scale(paired);
      return;
  }
  RECTO_UNREACHABLE("unknown option");
}

bool is_oracle(const verify::Law& law) { return law.name == "oracle"; }

// Pairs that a kernel is yet to meet.
using Missing = std::vector<std::array<bool, kPairNumbers>>;  // [kernels]

struct Candidate {
  PairedCase paired;
  std::vector<std::size_t> pairs;    // numbers
  std::vector<std::size_t> kernels;  // that serve it
};

std::int64_t gain(const Candidate& candidate, const Missing& missing) {
  std::int64_t met = 0;
  for (const std::size_t kernel : candidate.kernels)
    for (const std::size_t pair : candidate.pairs) met += missing[kernel][pair] ? 1 : 0;
  return met;
}

}  // namespace

std::vector<PairedCase> every_paired_case() {
  std::vector<PairedCase> cases;
  for (const std::int64_t head_dim : kHeadDims)
    for (const std::int64_t block_size : kBlockSizes)
      for (const KvLayout layout : kLayouts)
        for (const verify::TypePair& types : verify::kTypePairs)
          for (const RowsKind rows : kRows)
            for (const PairedOption option : kOptions)
              cases.push_back({option, head_dim, block_size, layout, types, rows});
  return cases;
}

void visit_pairs(const PairedCase& paired, const std::function<void(std::size_t)>& visit) {
  const auto values = values_of(paired);
  for (std::size_t a = 0; a < values.size(); ++a)
    for (std::size_t b = a + 1; b < values.size(); ++b) visit(values[a] * kValues + values[b]);
}

std::vector<PairedCase> covering_cases(std::size_t num_kernels, const KernelsServing& serving) {
  std::vector<Candidate> candidates;
  Missing missing(num_kernels);
  std::vector<std::size_t> kernels;
  for (const PairedCase& paired : every_paired_case()) {
    // The others of these sizes follow it.
    if (paired.option == kOptions.front()) kernels = serving(paired);
    if (kernels.empty()) continue;
    Candidate candidate{paired, {}, kernels};
    visit_pairs(paired, [&](std::size_t pair) { candidate.pairs.push_back(pair); });
    for (const std::size_t kernel : kernels)
      for (const std::size_t pair : candidate.pairs) missing[kernel][pair] = true;
    candidates.push_back(std::move(candidate));
  }
  // Each step takes the case with most missing pairs: some more cases than there need to be.
  std::vector<PairedCase> chosen;
  while (!candidates.empty()) {
    const auto best = std::ranges::max_element(
        candidates, {}, [&](const Candidate& candidate) { return gain(candidate, missing); });
    if (gain(*best, missing) == 0) break;
    for (const std::size_t kernel : best->kernels)
      for (const std::size_t pair : best->pairs) missing[kernel][pair] = false;
    chosen.push_back(best->paired);
  }
  return chosen;
}

CaseSpec spec_of(const PairedCase& paired, std::uint64_t seed, const verify::SizeLimits& limits) {
  RandomStream stream = RandomStream(seed).split("pairs");
  CaseSpec spec = verify::draw_case(stream, domain_of(paired, limits));
  set_lengths(paired, limits, spec);
  set_option(paired, spec);
  return spec;
}

PairCover::PairCover(const Selection& selection, const std::vector<verify::Backend>& backends,
                     std::uint64_t seed, const verify::SizeLimits& limits)
    : seed_(seed), limits_(limits) {
  const bool has_oracle = std::ranges::any_of(selection.laws, is_oracle);
  for (const verify::ListedBackend& listed : selection.backends) {
    const auto backend = std::ranges::find(backends, listed.backend.name, &verify::Backend::name);
    const bool is_kernel = !listed.kernel.empty() && backend != backends.end();
    if (has_oracle && is_kernel && backend->computes_attention()) kernels_.push_back(&*backend);
  }
}

bool PairCover::is_for(const verify::Law& law, const verify::Backend& backend) const {
  return is_oracle(law) && std::ranges::any_of(kernels_, [&](const verify::Backend* kernel) {
           return kernel->name == backend.name;
         });
}

std::optional<verify::DescribedCase> PairCover::next_of_share() {
  if (left_of_share_ == 0) return std::nullopt;
  --left_of_share_;
  return next();
}

std::optional<verify::DescribedCase> PairCover::next() {
  if (!cases_) {
    cases_ = covering_cases(kernels_.size(), [this](const PairedCase& paired) {
      const CaseSpec small = smaller_case_of_same_kind(spec_of(paired, seed_, limits_));
      const verify::PlacedProblem placed(make_problem(small), small.placement);
      std::vector<std::size_t> serving;
      for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
        const verify::Backend& backend = *kernels_[kernel];
        if (!backend.why_unsupported(placed.inputs(), backend.options_for(small.placement)))
          serving.push_back(kernel);
      }
      return serving;
    });
  }
  if (next_ == cases_->size()) return std::nullopt;
  const std::uint64_t number = next_++;
  return verify::drawn_case(spec_of((*cases_)[number], seed_ + number, limits_), "");
}

}  // namespace recto::experiments
