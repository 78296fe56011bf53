#include "experiments/support/offered_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recto::experiments {

void offer_values(CLI::Option& option, const std::vector<std::string>& values) {
  if (values.empty()) return;
  option.check(CLI::Validator(fmt::format("{{{}}}", fmt::join(values, ","))));
}

std::vector<std::string> offered_values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  if (begin == std::string::npos) return {};
  const std::size_t end = type.find('}', begin);
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

}  // namespace recto::experiments
