#include "sim/workloads/prefix_sharing.h"

#include <fmt/format.h>

#include "sim/workloads/length_spec.h"
#include "sim/workloads/spec_text.h"

namespace recto::sim {
namespace {

constexpr CountRange kCounts = {0, 1'000'000'000};
constexpr NumberRange kZipfExponents = {0, 100};
constexpr NumberRange kTurns = {1, 10'000};
constexpr CountRange kActive = {1, 1'000'000};

PrefixSharing read_none(SpecReader&) { return {}; }

// Zero templates are `none` or `sessions`, and should be called so.
std::int64_t at_least_one(std::int64_t count, SpecReader& reader) {
  if (count == 0) reader.fail("field count: expected at least 1, got 0");
  return count;
}

void read_template_spread(SpecReader& reader, PrefixSharing& sharing) {
  sharing.template_s = reader.number_or("s", sharing.template_s);
  sharing.template_tokens_max =
      TokenCount(reader.count_or("tokens_max", sharing.template_tokens_min.value()));
}

void read_session_fields(SpecReader& reader, PrefixSharing& sharing) {
  sharing.turns_mean = reader.number("turns");
  sharing.active_sessions = reader.count("active");
}

PrefixSharing read_templates(SpecReader& reader) {
  PrefixSharing sharing;
  sharing.template_count = at_least_one(reader.count("count"), reader);
  sharing.template_tokens_min = TokenCount(reader.count("tokens"));
  read_template_spread(reader, sharing);
  return sharing;
}

PrefixSharing read_sessions(SpecReader& reader) {
  PrefixSharing sharing;
  read_session_fields(reader, sharing);
  return sharing;
}

PrefixSharing read_agent(SpecReader& reader) {
  PrefixSharing sharing;
  sharing.template_tokens_min = TokenCount(reader.count("tokens"));
  read_session_fields(reader, sharing);
  sharing.template_count = at_least_one(reader.count_or("count", 1), reader);
  read_template_spread(reader, sharing);
  return sharing;
}

constexpr SpecForm<PrefixSharing> kForms[] = {
    {"none", "none", read_none},
    {"templates", "templates:count=K,tokens=N[,s=S][,tokens_max=M]", read_templates},
    {"sessions", "sessions:turns=T,active=A", read_sessions},
    {"agent", "agent:tokens=N,turns=T,active=A[,count=K][,s=S][,tokens_max=M]", read_agent},
};

}  // namespace

Status check_prefix_sharing(const PrefixSharing& sharing) {
  RECTO_RETURN_IF_ERROR(check_number("turns", sharing.turns_mean, kTurns));
  RECTO_RETURN_IF_ERROR(check_count("active", sharing.active_sessions, kActive));
  RECTO_RETURN_IF_ERROR(check_count("count", sharing.template_count, kCounts));
  if (sharing.template_count == 0) return Status::ok();
  const std::int64_t shortest = sharing.template_tokens_min.value();
  RECTO_RETURN_IF_ERROR(check_count("tokens", shortest, {1, kLongestSequence.value()}));
  RECTO_RETURN_IF_ERROR(check_count("tokens_max", sharing.template_tokens_max.value(),
                                    {shortest, kLongestSequence.value()}));
  return check_number("s", sharing.template_s, kZipfExponents);
}

Result<PrefixSharing> parse_prefix_sharing(std::string_view text) {
  return read_spec<PrefixSharing>(text, kForms, check_prefix_sharing);
}

std::vector<std::string> sharing_usages() { return usages_of<PrefixSharing>(kForms); }

std::string describe(const PrefixSharing& sharing) {
  if (sharing.shares_nothing()) return "none";
  const std::string sessions =
      fmt::format("turns={},active={}", sharing.turns_mean, sharing.active_sessions);
  if (sharing.template_count == 0) return "sessions:" + sessions;
  const std::string tokens = fmt::format("tokens={}", sharing.template_tokens_min.value());
  std::string rest = fmt::format("count={},s={}", sharing.template_count, sharing.template_s);
  if (sharing.template_tokens_max != sharing.template_tokens_min) {
    rest += fmt::format(",tokens_max={}", sharing.template_tokens_max.value());
  }
  if (!sharing.has_sessions()) return "templates:" + tokens + "," + rest;
  return "agent:" + tokens + "," + sessions + "," + rest;
}

}  // namespace recto::sim
