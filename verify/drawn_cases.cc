#include "verify/drawn_cases.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "core/number_in.h"
#include "core/random_stream.h"
#include "verify/cases/case_shrinker.h"

namespace recto::verify {
namespace {

constexpr const char* kVariable = "RECTO_CASE";

Status unknown_choice(std::string_view text, const std::vector<DrawnCases>& sets) {
  std::string expected;
  for (const DrawnCases& cases : sets)
    expected +=
        fmt::format("{0}, {0}:0 to {0}:{1}, ", cases.name, cases.times_full * cases.count - 1);
  return Status::invalid_input(fmt::format("{}: expected {}got '{}'", kVariable, expected, text));
}

std::string replay_of(const DrawnCases& cases, std::uint64_t number) {
  const char* target = std::getenv("TEST_TARGET");  // Bazel's name of the running test
  return fmt::format("./bazelw test --test_env={}={}:{} {}", kVariable, cases.name, number,
                     target == nullptr ? "<this test>" : target);
}

}  // namespace

CaseSpec drawn_spec(const DrawnCases& cases, std::uint64_t number) {
  const std::string& name = cases.stream.empty() ? cases.name : cases.stream;
  RandomStream stream = RandomStream(cases.seed).split(name).split(number);
  return draw_case(stream, cases.domain);
}

DescribedCase drawn_case(const CaseSpec& spec, const std::string& replay) {
  return {.law_case = {make_problem(spec), spec.placement},
          .description = spec.text(),
          .replay = replay,
          .simpler_cases =
              [spec, replay] {
                std::vector<std::function<DescribedCase()>> simpler;
                for (const CaseSpec& next : simpler_cases(spec)) {
                  simpler.push_back([next, replay] { return drawn_case(next, replay); });
                }
                return simpler;
              },
          .spec = std::make_shared<const CaseSpec>(spec)};
}

DescribedCase drawn_case(const DrawnCases& cases, std::uint64_t number) {
  return drawn_case(drawn_spec(cases, number), replay_of(cases, number));
}

Result<CaseChoice> parse_case_choice(std::string_view text, const std::vector<DrawnCases>& sets) {
  const std::size_t colon = text.find(':');
  CaseChoice choice{.set = std::string(text.substr(0, colon))};
  for (const DrawnCases& cases : sets) {
    if (!choice.includes(cases)) continue;
    if (colon == std::string_view::npos) return choice;
    choice.number = number_in<std::uint64_t>(text.substr(colon + 1));
    if (choice.number && *choice.number < cases.times_full * cases.count) return choice;
  }
  return unknown_choice(text, sets);
}

Result<CaseChoice> asked_cases(const std::vector<DrawnCases>& sets) {
  const char* text = std::getenv(kVariable);
  return text == nullptr ? Result<CaseChoice>(CaseChoice{}) : parse_case_choice(text, sets);
}

std::uint64_t DrawnCases::factor_here() const {
  return std::getenv("RECTO_FULL") == nullptr ? 1 : times_full;
}

CaseSource drawn_cases(const DrawnCases& cases, const CaseChoice& choice) {
  std::uint64_t next = choice.number.value_or(0);
  std::uint64_t end = choice.number ? next + 1 : cases.count_here();
  if (!choice.includes(cases)) end = next;
  return [cases, next, end]() mutable -> std::optional<DescribedCase> {
    if (next == end) return std::nullopt;
    return drawn_case(cases, next++);
  };
}

}  // namespace recto::verify
