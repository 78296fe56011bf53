#include "sim/workloads/workload_specs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/contract.h"
#include "sim/workloads/length_spec.h"
#include "sim/workloads/spec_text.h"

namespace recto::sim {
namespace {

constexpr NumberRange kRates = {1e-6, 1e9};
constexpr NumberRange kVariations = {1e-3, 100};
constexpr NumberRange kPeriods = {1e-6, 1e9};
constexpr NumberRange kThinkTimes = {0, 1e9};
constexpr NumberRange kFactors = {1e-9, 1e9};
constexpr CountRange kClients = {1, 1'000'000};

Status check(const PoissonArrivals& spec) { return check_number("rate", spec.rate_per_s, kRates); }
Status check(const GammaArrivals& spec) {
  RECTO_RETURN_IF_ERROR(check_number("rate", spec.rate_per_s, kRates));
  return check_number("cv", spec.cv, kVariations);
}
Status check(const OnOffArrivals& spec) {
  RECTO_RETURN_IF_ERROR(check_number("rate", spec.rate_per_s, kRates));
  RECTO_RETURN_IF_ERROR(check_number("on_s", spec.on_s, kPeriods));
  RECTO_RETURN_IF_ERROR(check_number("off_s", spec.off_s, kPeriods));
  // With fewer, an arrival might have to be searched for in more than a thousand on periods.
  constexpr double kFewestPerPeriod = 1e-3;
  return check_number("on_s", spec.on_s, {kFewestPerPeriod / spec.rate_per_s, kPeriods.max});
}
Status check(const ConstantArrivals& spec) { return check_number("rate", spec.rate_per_s, kRates); }
Status check(const ClosedLoopArrivals& spec) {
  RECTO_RETURN_IF_ERROR(check_count("clients", spec.clients, kClients));
  return check_number("think_s", spec.think_s, kThinkTimes);
}

std::string text(const PoissonArrivals& spec) { return fmt::format("poisson:{}", spec.rate_per_s); }
std::string text(const GammaArrivals& spec) {
  return fmt::format("gamma:rate={},cv={}", spec.rate_per_s, spec.cv);
}
std::string text(const OnOffArrivals& spec) {
  return fmt::format("onoff:rate={},on_s={},off_s={}", spec.rate_per_s, spec.on_s, spec.off_s);
}
std::string text(const ConstantArrivals& spec) {
  return fmt::format("constant:{}", spec.rate_per_s);
}
std::string text(const ClosedLoopArrivals& spec) {
  return fmt::format("closed:clients={},think_s={}", spec.clients, spec.think_s);
}

template <typename Arrivals>
std::optional<double> mean_rate(const Arrivals& spec) {
  return spec.rate_per_s;
}
std::optional<double> mean_rate(const OnOffArrivals& spec) {
  return spec.rate_per_s * (spec.on_s / (spec.on_s + spec.off_s));
}
std::optional<double> mean_rate(const ClosedLoopArrivals&) { return std::nullopt; }

template <typename Arrivals>
void scale(Arrivals& spec, double factor) {
  spec.rate_per_s *= factor;
}
void scale(OnOffArrivals& spec, double factor) {
  spec.rate_per_s *= factor;
  spec.on_s /= factor;
  spec.off_s /= factor;
}
void scale(ClosedLoopArrivals&, double) {}

ArrivalSpec read_poisson(SpecReader& reader) { return PoissonArrivals{reader.number("rate")}; }
ArrivalSpec read_gamma(SpecReader& reader) {
  const double rate_per_s = reader.number("rate");
  return GammaArrivals{rate_per_s, reader.number("cv")};
}
ArrivalSpec read_onoff(SpecReader& reader) {
  const double rate_per_s = reader.number("rate");
  const double on_s = reader.number("on_s");
  return OnOffArrivals{rate_per_s, on_s, reader.number("off_s")};
}
ArrivalSpec read_constant(SpecReader& reader) { return ConstantArrivals{reader.number("rate")}; }
ArrivalSpec read_closed(SpecReader& reader) {
  const std::int64_t clients = reader.count("clients");
  return ClosedLoopArrivals{clients, reader.number_or("think_s", 0)};
}

constexpr SpecForm<ArrivalSpec> kArrivalForms[] = {
    {"poisson", "poisson:rate=R", read_poisson},
    {"gamma", "gamma:rate=R,cv=C", read_gamma},
    {"onoff", "onoff:rate=R,on_s=A,off_s=B", read_onoff},
    {"constant", "constant:rate=R", read_constant},
    {"closed", "closed:clients=N[,think_s=T]", read_closed},
};

constexpr CountRange kCounts = {0, 1'000'000'000};
constexpr NumberRange kZipfExponents = {0, 100};
constexpr NumberRange kTurns = {1, 10'000};
constexpr CountRange kActive = {1, 1'000'000};

PrefixSharing read_none(SpecReader&) { return {}; }

// Zero templates would mean `none` or `sessions`, so those names must be used.
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

constexpr SpecForm<PrefixSharing> kSharingForms[] = {
    {"none", "none", read_none},
    {"templates", "templates:count=K,tokens=N[,s=S][,tokens_max=M]", read_templates},
    {"sessions", "sessions:turns=T,active=A", read_sessions},
    {"agent", "agent:tokens=N,turns=T,active=A[,count=K][,s=S][,tokens_max=M]", read_agent},
};

// Values that are out of range stay so when narrowed.
std::int32_t read_width(SpecReader& reader) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(reader.count("width"), 0, kLargest));
}

DecodingSpec read_single(SpecReader&) { return {}; }
DecodingSpec read_parallel(SpecReader& reader) { return {Decoding::kParallel, read_width(reader)}; }
DecodingSpec read_beam(SpecReader& reader) { return {Decoding::kBeam, read_width(reader)}; }

constexpr SpecForm<DecodingSpec> kDecodingForms[] = {
    {"single", "single", read_single},
    {"parallel", "parallel:WIDTH", read_parallel},
    {"beam", "beam:WIDTH", read_beam},
};

}  // namespace

Status check_arrivals(const ArrivalSpec& spec) {
  return std::visit([](const auto& kind) { return check(kind); }, spec);
}

Result<ArrivalSpec> parse_arrivals(std::string_view text) {
  return read_spec<ArrivalSpec>(text, kArrivalForms, check_arrivals);
}

std::vector<std::string> arrival_usages() { return usages_of<ArrivalSpec>(kArrivalForms); }

std::string describe(const ArrivalSpec& spec) {
  return std::visit([](const auto& kind) { return text(kind); }, spec);
}

std::optional<double> mean_rate_per_s(const ArrivalSpec& spec) {
  return std::visit([](const auto& kind) { return mean_rate(kind); }, spec);
}

Result<ArrivalSpec> scale_rate(const ArrivalSpec& spec, double factor) {
  RECTO_RETURN_IF_ERROR(check_number("factor", factor, kFactors));
  if (std::holds_alternative<ClosedLoopArrivals>(spec)) {
    return Status::invalid_input("'" + describe(spec) +
                                 "': a closed loop has no rate to scale; change its clients");
  }
  ArrivalSpec scaled = spec;
  std::visit([factor](auto& kind) { scale(kind, factor); }, scaled);
  RECTO_RETURN_IF_ERROR(check_arrivals(scaled));
  return scaled;
}

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
  return read_spec<PrefixSharing>(text, kSharingForms, check_prefix_sharing);
}

std::vector<std::string> sharing_usages() { return usages_of<PrefixSharing>(kSharingForms); }

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

Status check_decoding(const DecodingSpec& spec) {
  constexpr std::int32_t kWidest = 1024;
  return check_count("width", spec.width, {1, spec.kind == Decoding::kSingle ? 1 : kWidest});
}

Result<DecodingSpec> parse_decoding(std::string_view text) {
  return read_spec<DecodingSpec>(text, kDecodingForms, check_decoding);
}

std::string describe(const DecodingSpec& spec) {
  switch (spec.kind) {
    case Decoding::kSingle:
      return "single";
    case Decoding::kParallel:
      return "parallel:" + std::to_string(spec.width);
    case Decoding::kBeam:
      return "beam:" + std::to_string(spec.width);
  }
  RECTO_UNREACHABLE("decoding");
}

}  // namespace recto::sim
