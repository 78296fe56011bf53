#include "verify/ptx/text/sources.h"

#include <algorithm>

namespace recto::ptx::text {
namespace {

constexpr unsigned kCallsMax = 16;  // in a text

template <typename T>
void add_new(const T& value, std::vector<T>& values) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

}  // namespace

std::string Sources::calls_text(const Place& place) const {
  std::string text;
  std::vector<std::uint32_t> callers = {place.inlined_at};
  for (unsigned depth = 0; depth < kCallsMax; ++depth) {
    std::vector<std::string> names;
    std::vector<std::uint32_t> outer;
    for (const std::uint32_t caller : callers) {
      if (caller == 0) continue;
      const CallSite& site = call_sites[caller];
      const std::string path = file(site.file);
      add_new(path.substr(path.rfind('/') + 1) + ":" + std::to_string(site.line), names);
      for (const std::uint32_t each : site.inlined_at) add_new(each, outer);
    }
    if (names.empty()) return text;
    if (names.size() >= CallSite::kCallersMax) break;
    for (std::size_t i = 0; i < names.size(); ++i) {
      text += (i > 0 ? " or " : text.empty() ? "" : ", ") + names[i];
    }
    callers = std::move(outer);
  }
  return text + (text.empty() ? "..." : ", ...");
}

}  // namespace recto::ptx::text
