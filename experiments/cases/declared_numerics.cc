#include "experiments/cases/declared_numerics.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "experiments/support/numbers.h"

namespace recto::experiments {
namespace {

using reference::DeclaredExponential;
using reference::DeclaredNumerics;
using reference::SummedWeights;

Status wrong(const std::string& name, const std::string& value, const char* expected) {
  return Status::invalid_input(fmt::format("{}: found '{}'; expected {}", name, value, expected));
}

std::optional<ElementType> type_named(const std::string& name) {
  for (const ElementType type : {ElementType::kFp32, ElementType::kFp16, ElementType::kBf16})
    if (name == element_type_name(type)) return type;
  return std::nullopt;
}

constexpr std::pair<const char*, std::optional<ElementType> DeclaredNumerics::*> kTypes[] = {
    {"p", &DeclaredNumerics::weights},
    {"products", &DeclaredNumerics::products},
    {"partials", &DeclaredNumerics::partials},
    {"accumulate", &DeclaredNumerics::accumulate}};

Status set_field(const std::string& name, const std::string& value, DeclaredNumerics& declared) {
  if (name == "exp") {
    if (value != "approx" && value != "exact") return wrong(name, value, "approx or exact");
    declared.exponential =
        value == "exact" ? DeclaredExponential::kExact : DeclaredExponential::kApproximate;
    return Status::ok();
  }
  if (name == "sum") {
    if (value != "rounded" && value != "unrounded")
      return wrong(name, value, "rounded or unrounded");
    declared.summed = value == "rounded" ? SummedWeights::kRounded : SummedWeights::kUnrounded;
    return Status::ok();
  }
  for (const auto& [known, field] : kTypes) {
    if (name != known) continue;
    declared.*field = type_named(value);
    if (!(declared.*field)) return wrong(name, value, "fp32, fp16 or bf16");
    return Status::ok();
  }
  return Status::invalid_input(
      fmt::format("found '{}'; expected p, products, partials, sum, exp or accumulate", name));
}

}  // namespace

Result<DeclaredNumerics> parse_declared_numerics(const std::string& text) {
  const auto items = split_list(text);
  RECTO_RETURN_IF_ERROR(items.status());
  DeclaredNumerics declared;
  for (const std::string& item : items.value()) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) return wrong(item, "", "NAME=VALUE");
    RECTO_RETURN_IF_ERROR(set_field(item.substr(0, equals), item.substr(equals + 1), declared));
  }
  return declared;
}

std::string numerics_flag_text(const DeclaredNumerics& declared) {
  std::string text;
  const auto add = [&text](const char* name, const char* value) {
    text += fmt::format("{}{}={}", text.empty() ? " --numerics " : ",", name, value);
  };
  for (const auto& [name, field] : kTypes)
    if (declared.*field) add(name, element_type_name(*(declared.*field)));
  if (declared.exponential) {
    const bool is_exact = *declared.exponential == DeclaredExponential::kExact;
    add("exp", is_exact ? "exact" : "approx");
  }
  if (declared.summed)
    add("sum", *declared.summed == SummedWeights::kRounded ? "rounded" : "unrounded");
  return text;
}

void add_numerics_flag(Command& command, DeclaredNumerics& declared) {
  OptionValue value;
  value.take = [&declared](const std::string& text) {
    Result<DeclaredNumerics> parsed = parse_declared_numerics(text);
    RECTO_RETURN_IF_ERROR(parsed.status());
    declared = parsed.value();
    return Status::ok();
  };
  command.add("--numerics LIST", std::move(value),
              "how it computes, beside the usual: p=TYPE (weights),\nproducts=TYPE, partials=TYPE, "
              "accumulate=TYPE, exp=approx|exact,\nsum=rounded (weights as they are rounded)");
}

}  // namespace recto::experiments
