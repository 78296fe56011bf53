#include "experiments/report/report_page.h"

#include <string_view>

#include "core/contract.h"
#include "core/json.h"

namespace recto::experiments {
namespace {

// JSON text that is safe inside a script element, which "</" would end.
std::string embedded(const Json& json) {
  std::string safe;
  for (const char c : json_text(json)) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

void replace_marker(std::string& page, std::string_view marker, const std::string& text) {
  const std::size_t at = page.find(marker);
  RECTO_CHECK(at != std::string::npos);
  page.replace(at, marker.size(), text);
}

}  // namespace

std::string report_page(const Json& data, const Json& manifest) {
  std::string page(report_page_template());
  // The last one first, so that inserted text is not searched.
  replace_marker(page, "@@MANIFEST@@", embedded(manifest));
  replace_marker(page, "@@DATA@@", embedded(data));
  return page;
}

}  // namespace recto::experiments
