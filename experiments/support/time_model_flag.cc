#include "experiments/support/time_model_flag.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace recto::experiments {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLinear = "linear:";
constexpr std::string_view kMeasured = "measured:";
constexpr const char* kFile = "attention.json";

fs::path results_folder() {
  const char* named = std::getenv("RECTO_GPU_RESULTS");
  return named == nullptr || *named == '\0' ? "experiments/results" : named;
}

std::vector<std::string> measured_cards(const fs::path& results) {
  std::vector<std::string> cards;
  std::error_code error;  // a missing folder has none
  for (fs::directory_iterator entry(results, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code missing;
    if (fs::exists(entry->path() / kFile, missing)) cards.push_back(entry->path().filename());
  }
  std::ranges::sort(cards);
  return cards;
}

// By folder, as a report asks for it: it knows where the file that a study read was found.
Result<TimeModelChoice> choose_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_regular_file(folder / kFile, error)) {
    return TimeModelChoice{TimeModelKind::kMeasured, folder / kFile};
  }
  return Status::invalid_input(
      fmt::format("--time-model measured:{}: no {} is there; expected a folder of results",
                  folder.string(), kFile));
}

Result<TimeModelChoice> choose_measured(const std::string& card) {
  if (fs::path(card).is_absolute()) return choose_folder(card);
  const fs::path results = results_folder();
  const std::vector<std::string> cards = measured_cards(results);
  if (std::ranges::find(cards, card) != cards.end()) {
    return TimeModelChoice{TimeModelKind::kMeasured, results / card / kFile};
  }
  return Status::invalid_input(
      cards.empty()
          ? fmt::format("--time-model measured:{}: no results yet: {} has no GPU/{}; expected "
                        "roofline or linear:FILE, or RECTO_GPU_RESULTS to name a folder of results",
                        card, results.string(), kFile)
          : fmt::format("--time-model measured:{}: no such results in {}; expected one of {}", card,
                        results.string(), fmt::join(cards, ", ")));
}

}  // namespace

Result<TimeModelChoice> choose_time_model(std::string_view flag) {
  if (flag == "roofline") return TimeModelChoice{};
  if (flag.starts_with(kLinear) && flag.size() > kLinear.size()) {
    return TimeModelChoice{TimeModelKind::kLinear, std::string(flag.substr(kLinear.size()))};
  }
  if (flag.starts_with(kMeasured) && flag.size() > kMeasured.size()) {
    return choose_measured(std::string(flag.substr(kMeasured.size())));
  }
  return Status::invalid_input(fmt::format(
      "--time-model: found '{}'; expected roofline or linear:FILE, or measured:GPU", flag));
}

}  // namespace recto::experiments
