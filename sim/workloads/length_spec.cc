#include "sim/workloads/length_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/workloads/spec_text.h"

namespace recto::sim {
namespace {

// The values that the kinds allow.

constexpr CountRange kLengths = {1, kLongestSequence.value()};
constexpr NumberRange kMeans = {1, static_cast<double>(kLongestSequence.value())};
constexpr NumberRange kVariations = {1e-6, 100};
constexpr NumberRange kShapes = {1e-4, 1e12};  // the same range of variations: 1 / sqrt(shape)
constexpr NumberRange kZipfExponents = {0, 100};
constexpr NumberRange kWeights = {1e-9, 1e9};  // far above where their sum loses small ones

Status check_mean_below_max(double mean, TokenCount max) {
  RECTO_RETURN_IF_ERROR(check_number("mean", mean, kMeans));
  RECTO_RETURN_IF_ERROR(check_count("max", max.value(), kLengths));
  if (static_cast<double>(max.value()) >= mean) return Status::ok();
  return Status::invalid_input(
      fmt::format("field max: expected at least the mean {}, got {}", mean, max.value()));
}

Status check(const ConstantLength& spec) {
  return check_count("tokens", spec.tokens.value(), kLengths);
}
Status check(const UniformLength& spec) {
  RECTO_RETURN_IF_ERROR(check_count("min", spec.min.value(), kLengths));
  return check_count("max", spec.max.value(), {spec.min.value(), kLongestSequence.value()});
}
Status check(const LogNormalLength& spec) {
  RECTO_RETURN_IF_ERROR(check_number("cv", spec.cv, kVariations));
  return check_mean_below_max(spec.mean, spec.max);
}
Status check(const GammaLength& spec) {
  RECTO_RETURN_IF_ERROR(check_number("shape", spec.shape, kShapes));
  return check_mean_below_max(spec.mean, spec.max);
}
Status check(const ZipfLength& spec) {
  RECTO_RETURN_IF_ERROR(check_count("n", spec.n, kLengths));
  return check_number("s", spec.s, kZipfExponents);
}
Status check(const EmpiricalLength& spec) {
  constexpr CountRange kTimes = {1, 1'000'000'000'000};
  if (spec.counts.empty()) return Status::invalid_input("expected at least one length, got none");
  for (const EmpiricalLength::Count& count : spec.counts) {
    RECTO_RETURN_IF_ERROR(check_count("length", count.length.value(), kLengths));
    RECTO_RETURN_IF_ERROR(check_count("times", count.times, kTimes));
  }
  return Status::ok();
}

// A value that at least half of a part's draws do not exceed.
double middle(const ConstantLength& spec) { return static_cast<double>(spec.tokens.value()); }
double middle(const UniformLength& spec) {
  return 0.5 * static_cast<double>(spec.min.value() + spec.max.value());
}
double middle(const LogNormalLength& spec) { return spec.mean; }
double middle(const GammaLength& spec) { return spec.mean; }
double middle(const ZipfLength& spec) { return 0.5 * static_cast<double>(spec.n + 1); }

Status check_part(const MixtureLength::Part& part, TokenCount max) {
  RECTO_RETURN_IF_ERROR(check_number("weight", part.weight, kWeights));
  RECTO_RETURN_IF_ERROR(std::visit([](const auto& kind) { return check(kind); }, part.length));
  // The middle, not the mean: nine of ten draws may exceed the mean of a mixture and be rejected.
  const double least = std::visit([](const auto& kind) { return middle(kind); }, part.length);
  if (static_cast<double>(max.value()) >= least) return Status::ok();
  return Status::invalid_input(
      fmt::format("field max of the mixture: expected at least {}, the middle of this part, got {}",
                  least, max.value()));
}
Status check(const MixtureLength& spec) {
  RECTO_RETURN_IF_ERROR(check_count("max", spec.max.value(), kLengths));
  if (spec.parts.size() < 2) {
    return Status::invalid_input(
        fmt::format("expected at least two parts, joined by '+', got {}", spec.parts.size()));
  }
  for (std::size_t i = 0; i < spec.parts.size(); ++i) {
    RECTO_RETURN_IF_ERROR(check_part(spec.parts[i], spec.max).in(fmt::format("part {}", i + 1)));
  }
  return Status::ok();
}

// The ranges of lengths that the kinds draw.

LengthRange range(const ConstantLength& spec) { return {spec.tokens, spec.tokens}; }
LengthRange range(const UniformLength& spec) { return {spec.min, spec.max}; }
LengthRange range(const LogNormalLength& spec) { return {TokenCount(1), spec.max}; }
LengthRange range(const GammaLength& spec) { return {TokenCount(1), spec.max}; }
LengthRange range(const ZipfLength& spec) { return {TokenCount(1), TokenCount(spec.n)}; }
LengthRange range(const EmpiricalLength& spec) {
  const auto [min, max] = std::ranges::minmax(spec.counts, {}, &EmpiricalLength::Count::length);
  return {min.length, max.length};
}
LengthRange range(const MixtureLength& spec) {
  LengthRange all = {kLongestSequence, TokenCount(1)};
  for (const MixtureLength::Part& part : spec.parts) {
    const LengthRange own = std::visit([](const auto& kind) { return range(kind); }, part.length);
    all = {std::min(all.min, own.min), std::max(all.max, own.max)};
  }
  return {all.min, std::min(all.max, spec.max)};
}

// The text forms of the kinds.

std::string max_field(TokenCount max) {
  return max == kLongestSequence ? "" : fmt::format(",max={}", max.value());
}

std::string text(const ConstantLength& spec) {
  return fmt::format("constant:{}", spec.tokens.value());
}
std::string text(const UniformLength& spec) {
  return fmt::format("uniform:min={},max={}", spec.min.value(), spec.max.value());
}
std::string text(const LogNormalLength& spec) {
  return fmt::format("lognormal:mean={},cv={}{}", spec.mean, spec.cv, max_field(spec.max));
}
std::string text(const GammaLength& spec) {
  return fmt::format("gamma:mean={},shape={}{}", spec.mean, spec.shape, max_field(spec.max));
}
std::string text(const ZipfLength& spec) { return fmt::format("zipf:n={},s={}", spec.n, spec.s); }
std::string text(const EmpiricalLength& spec) {
  std::string all;
  for (const EmpiricalLength::Count& count : spec.counts) {
    all += fmt::format("{}{}x{}", all.empty() ? "" : ",", count.length.value(), count.times);
  }
  return "empirical:" + all;
}
std::string text(const MixtureLength& spec) {
  std::string all = "mixture:";
  if (spec.max != kLongestSequence) all += fmt::format("max={},", spec.max.value());
  for (const MixtureLength::Part& part : spec.parts) {
    const std::string length = std::visit([](const auto& kind) { return text(kind); }, part.length);
    all += fmt::format("{}{}x{}", &part == spec.parts.data() ? "" : "+", part.weight, length);
  }
  return all;
}

TokenCount read_max(SpecReader& reader) {
  return TokenCount(reader.count_or("max", kLongestSequence.value()));
}

ConstantLength read_constant(SpecReader& reader) {
  return ConstantLength{TokenCount(reader.count("tokens"))};
}
UniformLength read_uniform(SpecReader& reader) {
  const TokenCount min(reader.count("min"));
  return UniformLength{min, TokenCount(reader.count("max"))};
}
LogNormalLength read_lognormal(SpecReader& reader) {
  const double mean = reader.number("mean");
  const double cv = reader.number("cv");
  return LogNormalLength{mean, cv, read_max(reader)};
}
GammaLength read_gamma(SpecReader& reader) {
  const double mean = reader.number("mean");
  const double shape = reader.number("shape");
  return GammaLength{mean, shape, read_max(reader)};
}
ZipfLength read_zipf(SpecReader& reader) {
  const std::int64_t n = reader.count("n");
  return ZipfLength{n, reader.number("s")};
}
EmpiricalLength read_empirical(SpecReader& reader) {
  EmpiricalLength spec;
  for (std::string value : reader.unnamed_values()) {
    const std::size_t cross = value.find('x');
    if (cross != std::string::npos) value[cross] = ',';
    SpecReader entry(":" + value);
    const TokenCount length(entry.count("length"));
    spec.counts.push_back({length, entry.count_or("times", 1)});
    if (!entry.finish().is_ok()) reader.fail("expected LENGTHxTIMES, got '" + value + "'");
  }
  return spec;
}

// Forms of simple lengths are in two tables: of all lengths, and of the parts of a mixture.
template <typename Spec, auto kRead>
Spec read_as(SpecReader& reader) {
  return kRead(reader);
}
template <typename Spec>
constexpr SpecForm<Spec> kConstantForm = {"constant", "constant:TOKENS",
                                          read_as<Spec, read_constant>};
template <typename Spec>
constexpr SpecForm<Spec> kUniformForm = {"uniform", "uniform:min=A,max=B",
                                         read_as<Spec, read_uniform>};
template <typename Spec>
constexpr SpecForm<Spec> kLogNormalForm = {"lognormal", "lognormal:mean=M,cv=C[,max=N]",
                                           read_as<Spec, read_lognormal>};
template <typename Spec>
constexpr SpecForm<Spec> kGammaForm = {"gamma", "gamma:mean=M,shape=K[,max=N]",
                                       read_as<Spec, read_gamma>};
template <typename Spec>
constexpr SpecForm<Spec> kZipfForm = {"zipf", "zipf:n=N,s=S", read_as<Spec, read_zipf>};

constexpr SpecForm<SimpleLength> kPartForms[] = {
    kConstantForm<SimpleLength>, kUniformForm<SimpleLength>, kLogNormalForm<SimpleLength>,
    kGammaForm<SimpleLength>,    kZipfForm<SimpleLength>,
};

// The text before the separator (all, if there is none); `rest` becomes the text after it.
std::string_view take_until(std::size_t separator, std::string_view& rest) {
  const std::string_view head = rest.substr(0, separator);
  rest.remove_prefix(std::min(head.size() + 1, rest.size()));
  return head;
}

// A '+' inside a number such as 1e+3 does not join parts.
std::size_t find_join(std::string_view text) {
  std::size_t join = text.find('+');
  while (join != std::string_view::npos && join > 0 && (text[join - 1] | 0x20) == 'e') {
    join = text.find('+', join + 1);
  }
  return join;
}

Result<MixtureLength::Part> read_part(std::string_view text) {
  std::string_view length_text = text;
  SpecReader weight(fmt::format(":weight={}", take_until(text.find('x'), length_text)));
  MixtureLength::Part part = {.weight = weight.number("weight"), .length = {}};
  if (length_text.empty() || !weight.finish().is_ok()) {
    return Status::invalid_input(
        fmt::format("expected WEIGHTxPART with a number as weight, got '{}'", text));
  }
  Result<SimpleLength> length = read_spec<SimpleLength>(
      length_text, kPartForms, [](const SimpleLength&) { return Status::ok(); });
  if (!length.is_ok()) return length.status();
  part.length = length.value();
  return part;
}

MixtureLength read_mixture(SpecReader& reader) {
  MixtureLength spec;
  std::string_view rest = reader.whole();
  if (rest.starts_with("max=")) {
    SpecReader limit(fmt::format(":{}", take_until(rest.find(','), rest)));
    spec.max = TokenCount(limit.count("max"));
    if (!limit.finish().is_ok()) reader.fail(limit.finish().message());
  }
  if (rest.empty()) return spec;
  // n '+' signs separate n + 1 parts; an empty part is an error.
  for (bool more = true; more;) {
    const std::size_t join = find_join(rest);
    more = join != std::string_view::npos;
    const Result<MixtureLength::Part> part = read_part(take_until(join, rest));
    if (part.is_ok()) {
      spec.parts.push_back(part.value());
    } else {
      reader.fail(fmt::format("part {}: {}", spec.parts.size() + 1, part.status().message()));
      more = false;
    }
  }
  return spec;
}

constexpr SpecForm<LengthSpec> kForms[] = {
    kConstantForm<LengthSpec>,
    kUniformForm<LengthSpec>,
    kLogNormalForm<LengthSpec>,
    kGammaForm<LengthSpec>,
    kZipfForm<LengthSpec>,
    {"empirical", "empirical:LENGTHxTIMES,...", read_as<LengthSpec, read_empirical>},
    {"mixture", "mixture:[max=N,]WEIGHTxPART+WEIGHTxPART...", read_as<LengthSpec, read_mixture>},
};

}  // namespace

Status check_length_spec(const LengthSpec& spec) {
  return std::visit([](const auto& kind) { return check(kind); }, spec);
}

Result<LengthSpec> parse_length_spec(std::string_view text) {
  return read_spec<LengthSpec>(text, kForms, check_length_spec);
}

std::vector<std::string> length_usages() { return usages_of<LengthSpec>(kForms); }

std::string describe(const LengthSpec& spec) {
  return std::visit([](const auto& kind) { return text(kind); }, spec);
}

LengthRange length_range(const LengthSpec& spec) {
  return std::visit([](const auto& kind) { return range(kind); }, spec);
}

}  // namespace recto::sim
