#pragma once

// Which requests begin with the same tokens, as data and as text; sim/workloads/session_pool.h
// generates the content. One model with two ingredients covers the usual kinds:
//
//   none
//   templates:count=32,tokens=512,s=1    few-shot prompts: each request begins with one of 32
//                                        templates of 512 tokens, chosen by Zipf's law
//   sessions:turns=5,active=64           chats of 5 turns on average (geometric), 64 at a time;
//                                        each prompt repeats all that was said before
//   agent:tokens=4096,turns=8,active=64  both: sessions of tool calls behind one system prompt
//
// `tokens_max=M` spreads the lengths of templates uniformly from `tokens` to M.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/units.h"

namespace recto::sim {

struct PrefixSharing {
  std::int64_t template_count = 0;  // 0: requests begin with tokens of their own
  TokenCount template_tokens_min;
  TokenCount template_tokens_max;  // inclusive
  double template_s = 1;           // Zipf exponent of their popularity; 0 is uniform

  double turns_mean = 1;             // per session, geometric; 1: every request stands alone
  std::int64_t active_sessions = 1;  // in a closed loop each client has one session instead

  bool shares_nothing() const { return template_count == 0 && turns_mean == 1; }
  bool has_sessions() const { return turns_mean > 1; }

  friend bool operator==(const PrefixSharing&, const PrefixSharing&) = default;
};

// An error names the invalid field and its allowed values.
Status check_prefix_sharing(const PrefixSharing& sharing);

// Parses and checks `text`.
Result<PrefixSharing> parse_prefix_sharing(std::string_view text);
// The syntax of each kind.
std::vector<std::string> sharing_usages();

// Returns the text form, which parses back to a value that behaves the same.
std::string describe(const PrefixSharing& sharing);

}  // namespace recto::sim
