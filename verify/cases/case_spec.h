#pragma once

// Everything that determines a case, small enough to read, save and shrink: sizes, options,
// families of numbers, placement and a seed. The tensors follow from it.

#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/paged_kv_view.h"
#include "core/status.h"
#include "verify/cases/attention_problem.h"
#include "verify/cases/float_family.h"
#include "verify/cases/placed_problem.h"

namespace recto::verify {

// Supported pairs of q's type and the cache's, plainest first.
struct TypePair {
  ElementType q = ElementType::kFp32;
  ElementType kv = ElementType::kFp32;

  friend bool operator==(const TypePair&, const TypePair&) = default;
};

inline constexpr std::array<TypePair, 7> kTypePairs = {{
    {ElementType::kFp32, ElementType::kFp32},
    {ElementType::kFp16, ElementType::kFp16},
    {ElementType::kBf16, ElementType::kBf16},
    {ElementType::kFp16, ElementType::kE4m3},
    {ElementType::kBf16, ElementType::kE4m3},
    {ElementType::kFp16, ElementType::kE5m2},
    {ElementType::kBf16, ElementType::kE5m2},
}};

struct SequenceSpec {
  std::int64_t num_rows = 1;
  std::int64_t context_length = 0;
  // Selects the sequence's random numbers, so that removing another sequence does not change them.
  std::uint64_t id = 0;

  friend bool operator==(const SequenceSpec&, const SequenceSpec&) = default;
};

enum class SinkFamily : std::uint8_t {
  kNone,
  kZero,
  kNormal,
  kNegligible,  // normal - 1000: its exponential is 0 next to ordinary scores
  kDominating,  // normal + 100: leaves the keys a tiny weight
  kLowest,      // normal - 9990: near the lower limit of scores
  kComparable,  // normal + 7: worth about a thousand keys with ordinary scores
};

inline constexpr std::array<SinkFamily, 7> kSinkFamilies = {
    SinkFamily::kNone,       SinkFamily::kZero,   SinkFamily::kNormal,    SinkFamily::kNegligible,
    SinkFamily::kDominating, SinkFamily::kLowest, SinkFamily::kComparable};

constexpr const char* sink_family_name(SinkFamily family) {
  constexpr const char* kNames[] = {"none",       "zero",   "normal",    "negligible",
                                    "dominating", "lowest", "comparable"};
  return kNames[static_cast<int>(family)];
}

// ALiBi slopes: 2^(-8 (h + 1) / H) for head h of H query heads (Press et al. 2022), and variations
// that the interface allows.
enum class AlibiFamily : std::uint8_t {
  kNone,
  kUsual,
  kNegative,  // the same, negated: far keys weigh more
  kMixed,     // the same, negated and 0 in turn
};

inline constexpr std::array<AlibiFamily, 4> kAlibiFamilies = {
    AlibiFamily::kNone, AlibiFamily::kUsual, AlibiFamily::kNegative, AlibiFamily::kMixed};

constexpr const char* alibi_family_name(AlibiFamily family) {
  constexpr const char* kNames[] = {"none", "usual", "negative", "mixed"};
  return kNames[static_cast<int>(family)];
}

struct OptionsSpec {
  float scale = 1.0F;  // of either sign, not 0
  float softcap = 0.0F;
  bool causal = true;
  std::optional<std::int64_t> window;
  AlibiFamily alibi = AlibiFamily::kNone;
  SinkFamily sinks = SinkFamily::kNone;
  ScaleKind k_scales = ScaleKind::kNone;  // fp8 only, uniform in [kScaleMin, kScaleMax)
  ScaleKind v_scales = ScaleKind::kNone;
  bool has_sinks_of_q_type = false;  // sinks are rounded to q's type

  friend bool operator==(const OptionsSpec&, const OptionsSpec&) = default;
};

inline constexpr double kScaleMin = 0.25;
inline constexpr double kScaleMax = 2.0;

// FloatSource::largest for q and k, and for v.
inline constexpr double kQueryKeyLimit = 16.0;
inline constexpr double kValueLimit = 256.0;

inline constexpr double kLowPeak = 1.5;  // slightly more than other keys

// The supported domain: the magnitude of no score is larger.
inline constexpr double kScoreLimit = 1e4;

// The placement that cases shrink to; reports list only differences from it.
constexpr Placement plain_placement() {
  return {.block_size = 1,
          .order = BlockOrder::kAscending,
          .spare_blocks = 0,
          .garbage_beyond_table = false,
          .poison = Poison::kZero};
}

// A range of tokens, [begin, end), in every sequence.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const TokenRange&, const TokenRange&) = default;
};

struct CaseSpec {
  ProblemShape shape;
  OptionsSpec options;
  std::vector<SequenceSpec> sequences = {SequenceSpec{}};
  std::int64_t shared_prefix = 0;  // leading tokens whose K and V all sequences have in common
  FloatFamily q = FloatFamily::kOnes;
  // With kDominatingKey, each KV head has one key of magnitude kQueryKeyLimit, at a multiple of the
  // block size, of 64 or of 128, or just before one, or last. Each q takes the signs of that key,
  // so that its score is kQueryKeyLimit times the largest possible score of any other key. With
  // kPeakedEnds, that key is the first of the sequence or its first row's own, and its magnitude is
  // kQueryKeyLimit or kLowPeak: four consecutive KV heads, or sequences, have the four
  // combinations.
  FloatFamily k = FloatFamily::kOnes;
  FloatFamily v = FloatFamily::kOnes;
  // Tokens whose K and V are drawn from their families; all others are ones. nullopt: all tokens.
  // The generator never sets it; shrinking uses it to remove numbers that do not matter.
  std::optional<TokenRange> varied_tokens;
  Placement placement = plain_placement();
  std::uint64_t seed = 0;  // of the tensors, sinks and scales

  friend bool operator==(const CaseSpec&, const CaseSpec&) = default;

  TypePair types() const { return {shape.q_type, shape.kv_type}; }
  std::int64_t num_rows() const;         // of all sequences
  std::int64_t longest_context() const;  // of any sequence
  bool has_plain_kv() const { return k == FloatFamily::kOnes && v == FloatFamily::kOnes; }
  TokenRange tokens_varied() const;  // in the longest context; none if K and V are plain

  // Several lines: what differs from plain, one line per topic, without a newline at the end.
  std::string text() const;
};

std::ostream& operator<<(std::ostream& out, const CaseSpec& spec);

// Powers of two, and multiples of 16. `size` >= 1.
bool is_block_size(std::int64_t size);

// An upper bound of the magnitude of all scores, whatever the seed.
double score_bound(const CaseSpec& spec);

// Returns invalid input, naming the field, unless the case would pass both gates of core/ and is in
// the supported domain.
Status check_case(const CaseSpec& spec);

// Builds the tensors. Each number depends on the seed, its tensor, its sequence's id and its
// position in the sequence, so that shrinking a dimension keeps the remaining numbers. The spec
// must be valid.
AttentionProblem make_problem(const CaseSpec& spec);

}  // namespace recto::verify
