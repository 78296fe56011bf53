#include "experiments/support/text_list.h"

#include <fmt/format.h>

#include <algorithm>

namespace recto::experiments {

Result<std::vector<std::string>> split_list(std::string_view text) {
  std::vector<std::string> items;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) {
      return Status::invalid_input(
          fmt::format("found '{}'; expected a list without empty items, such as a,b", text));
    }
    items.emplace_back(text.substr(begin, end - begin));
    if (std::ranges::count(items, items.back()) > 1) {
      return Status::invalid_input(
          fmt::format("found '{}' twice; expected each item once", items.back()));
    }
    if (end == text.size()) return items;
    begin = end + 1;
  }
}

Result<std::vector<std::string>> split_lists(std::span<const std::string> texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) {
    const Result<std::vector<std::string>> items = split_list(text);
    RECTO_RETURN_IF_ERROR(items.status());
    all.insert(all.end(), items.value().begin(), items.value().end());
  }
  return all;
}

}  // namespace recto::experiments
