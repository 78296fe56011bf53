#include "sim/workloads/arrivals.h"

#include <fmt/format.h>

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
  // Otherwise an arrival would have to be searched for in more than a thousand on periods.
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

constexpr SpecForm<ArrivalSpec> kForms[] = {
    {"poisson", "poisson:rate=R", read_poisson},
    {"gamma", "gamma:rate=R,cv=C", read_gamma},
    {"onoff", "onoff:rate=R,on_s=A,off_s=B", read_onoff},
    {"constant", "constant:rate=R", read_constant},
    {"closed", "closed:clients=N[,think_s=T]", read_closed},
};

}  // namespace

Status check_arrivals(const ArrivalSpec& spec) {
  return std::visit([](const auto& kind) { return check(kind); }, spec);
}

Result<ArrivalSpec> parse_arrivals(std::string_view text) {
  return read_spec<ArrivalSpec>(text, kForms, check_arrivals);
}

std::vector<std::string> arrival_usages() { return usages_of<ArrivalSpec>(kForms); }

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

}  // namespace recto::sim
