// Properties by rapidcheck, which no other file includes, because its header is slow to compile.

#include "bazel/testing/property.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <mutex>
#include <sstream>
#include <unordered_map>

#include "core/contract.h"

namespace recto {
namespace internal {

// rapidcheck calls it to print counterexamples.
// NOLINTNEXTLINE(readability-identifier-naming)
void showValue(const AnyValue& value, std::ostream& out) { out << value.text(value.value); }

// rapidcheck knows which case is running, so all Draws are equal.
struct DrawAccess {
  static Draw& draw() {
    static Draw draw;
    return draw;
  }
};

}  // namespace internal

namespace {

using internal::AnyValue;

constexpr const char* kDefaultSeed = "seed=2026";
constexpr const char* kFullCampaign = "max_success=1000";  // rapidcheck's default is 100

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// rapidcheck reads RC_PARAMS once, when the first property runs; this adds parameters that the
// caller has not set.
void complete_parameters() {
  std::string parameters = environment("RC_PARAMS");
  const auto add_default = [&parameters](const std::string& setting) {
    const std::string key = setting.substr(0, setting.find('=') + 1);
    if (parameters.find(key) == std::string::npos) parameters += " " + setting;
  };
  add_default(kDefaultSeed);
  if (environment("RECTO_FULL") == "1") add_default(kFullCampaign);
  setenv("RC_PARAMS", parameters.c_str(), /*overwrite=*/1);
}

std::string replay_command(const rc::detail::TestMetadata& property,
                           const rc::detail::FailureResult& failure) {
  rc::detail::Configuration configuration;
  configuration.reproduce.emplace(property.id, failure.reproduce);
  const std::string settings = rc::detail::configToMinimalString(configuration);
  const std::size_t begin = settings.find("reproduce=");
  const std::string reproduce = settings.substr(begin, settings.find(' ', begin) - begin);
  const std::string target = environment("TEST_TARGET");
  return "replay: RC_PARAMS=\"" + reproduce + "\" ./bazelw test " +
         (target.empty() ? "<this test>" : target);
}

std::string message_of(const rc::detail::TestResult& result) {
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  return message.str();
}

// Turns rapidcheck's result into a passed or failed Catch2 assertion.
void report_property(const rc::detail::TestMetadata& property,
                     const rc::detail::TestResult& result) {
  const std::string message = message_of(result);
  if (result.is<rc::detail::SuccessResult>()) {
    // Only a property that classifies its cases has output if it holds.
    if (!result.get<rc::detail::SuccessResult>().distribution.empty()) {
      std::cout << property.id << ": " << message << std::endl;
    }
    SUCCEED();
    return;
  }
  if (result.is<rc::detail::FailureResult>()) {
    // Printed directly, because Catch2 would wrap it.
    std::cout << replay_command(property, result.get<rc::detail::FailureResult>()) << std::endl;
  }
  FAIL(message);
}

rc::detail::Property rapidcheck_property(const PropertyBody& body) {
  return rc::detail::toProperty([body] { body(internal::DrawAccess::draw()); });
}

rc::Gen<AnyValue> made_by(const internal::Maker& make) {
  return rc::gen::exec([make] { return make(internal::DrawAccess::draw()); });
}

// A listener without effect, for a property that another property checks.
class NoListener final : public rc::detail::TestListener {
 public:
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

}  // namespace

std::int64_t Draw::integer(std::int64_t first, std::int64_t last, Growth growth,
                           std::string_view name) {
  RECTO_CHECK_LE(first, last);
  RECTO_CHECK_LT(last, std::numeric_limits<std::int64_t>::max());
  const rc::Gen<std::int64_t> range = rc::gen::inRange(first, last + 1);
  const std::int64_t plainest = std::clamp<std::int64_t>(0, first, last);
  const rc::Gen<std::int64_t> numbers = [=](const rc::Random& random, int size) {
    const int range_size = growth == Growth::kNone ? rc::kNominalSize : size;
    return rc::shrinkable::shrinkRecur(
        range(random, range_size).value(),
        [plainest](std::int64_t number) { return rc::shrink::towards(number, plainest); });
  };
  const std::string in = "in [" + std::to_string(first) + ", " + std::to_string(last) + "]";
  return *numbers.as(name.empty() ? in : std::string(name));
}

bool Draw::boolean(std::string_view name) {
  return *rc::gen::arbitrary<bool>().as(std::string(name));
}

std::uint64_t Draw::seed(std::string_view name) {
  return *rc::gen::arbitrary<std::uint64_t>().as(std::string(name));
}

AnyValue Draw::any_element(std::size_t count, std::function<AnyValue(std::size_t)> at,
                           std::string_view name) {
  RECTO_CHECK_GT(count, 0U);
  const auto indices = rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, count));
  return *rc::gen::map(indices, std::move(at)).as(std::string(name));
}

AnyValue Draw::any_list(internal::ListSpec spec, std::string_view name) {
  using Entries = std::vector<AnyValue>;
  const rc::Gen<AnyValue> entry = made_by(spec.entry);
  auto entries = spec.length ? rc::gen::container<Entries>(*spec.length, entry)
                             : rc::gen::container<Entries>(entry);
  if (spec.length_min > 0) {
    entries = rc::gen::suchThat(
        entries, [least = spec.length_min](const Entries& drawn) { return drawn.size() >= least; });
  }
  return *rc::gen::map(entries, std::move(spec.whole)).as(std::string(name));
}

AnyValue Draw::any_composite(internal::Maker make, std::string_view name) {
  return *made_by(make).as(std::string(name));
}

AnyValue Draw::any_custom(internal::CustomSpec spec, std::string_view name) {
  const rc::Gen<AnyValue> values = [spec](const rc::Random& random, int) {
    rc::Random bits = random;
    return rc::shrinkable::shrinkRecur(spec.make(bits.next()), [spec](const AnyValue& value) {
      return rc::seq::fromContainer(spec.simpler(value));
    });
  };
  return *values.as(std::string(name));
}

void Draw::classify(std::string_view label) { rc::detail::classify(std::string(label), {}); }

void property(const std::string& name, const PropertyBody& body) {
  SECTION(name) {
    static std::once_flag completed;
    std::call_once(completed, complete_parameters);
    rc::detail::TestMetadata metadata;
    metadata.id = Catch::getResultCapture().getCurrentTestName() + "/" + name;
    metadata.description = name;
    report_property(metadata, rc::detail::checkProperty(rapidcheck_property(body), metadata));
  }
}

void fail_case(const std::string& message) {
  throw rc::detail::CaseResult(rc::detail::CaseResult::Type::Failure, message);
}

void discard_case() {
  throw rc::detail::CaseResult(rc::detail::CaseResult::Type::Discard, "discarded");
}

PropertyResult check_property(const PropertyBody& body, const PropertyOptions& options) {
  rc::detail::TestParams params;
  params.seed = options.seed;
  params.maxSuccess = options.cases;
  params.maxSize = options.size_max;
  NoListener listener;
  const rc::detail::TestResult result =
      rc::detail::checkProperty(rapidcheck_property(body), {}, params, listener, {});
  return {.holds = result.is<rc::detail::SuccessResult>(), .text = message_of(result)};
}

void internal::fail_requirement(const Catch::ITransientExpression& operands,
                                const RequireSite& site) {
  std::ostringstream message;
  message << site.file << ":" << site.line << ":\nRECTO_REQUIRE(" << site.expression
          << ")\n\nExpands to:\n";
  operands.streamReconstructedExpression(message);
  fail_case(message.str());
}

}  // namespace recto
