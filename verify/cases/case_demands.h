#pragma once

// What a program serves, and what its cases must have, as its author says. Cases are drawn within
// the demands, and calls beyond them, which laws make of such cases, are not made.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "core/status.h"
#include "verify/cases/case_feature.h"
#include "verify/cases/case_generator.h"

namespace recto::verify {

// An empty list stands for everything.
struct CaseDemands {
  std::vector<TypePair> types = {};
  std::vector<KvLayout> layouts = {};
  std::vector<std::int64_t> head_dims = {};  // of K and of V, which are then equal
  std::int64_t head_dim_multiple = 1;
  bool has_equal_head_dims = false;
  std::vector<std::int64_t> groups = {};
  std::vector<std::int64_t> block_sizes = {};
  std::vector<CaseFeature> without = {};
  std::vector<CaseFeature> require = {};   // of drawn cases, each of them
  PoisonLimit poison = PoisonLimit::kAny;  // of blocks that no sequence addresses
  PoisonLimit tails = PoisonLimit::kAny;   // behind the context, in its last block
  bool has_sinks_of_q_type = false;        // sinks are exact in q's type
  ScaleValues scale = ScaleValues::kAny;
  bool has_scales_of_heads = true;  // fp8 scales for each KV head

  friend bool operator==(const CaseDemands&, const CaseDemands&) = default;

  // Invalid input if no case meets them: a required feature is left out, or excluded by a value.
  Status check() const;

  // Restricts a domain to the demands.
  void narrow(CaseDomain& domain) const;

  // Whether a drawn case meets them: an order of sequences, or a kind's trait, may undo a demand.
  bool are_met_by(const CaseSpec& spec) const;

  // Why a call is not made, in words that do not vary with sizes; nullopt if it is.
  std::optional<std::string> why_left_out(const PagedAttentionInputs& inputs) const;
  std::optional<std::string> why_left_out(const KvWriteInputs& inputs) const;

 private:
  std::optional<std::string> why_left_out(ElementType q_type, const PagedKvView& kv) const;
};

}  // namespace recto::verify
