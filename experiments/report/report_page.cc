#include "experiments/report/report_page.h"

#include <string_view>
#include <utility>

#include "core/contract.h"
#include "core/json.h"
#include "experiments/report/report_assets.h"

namespace recto::experiments {
namespace {

// Text inside a script element must not end it.
std::string embedded(const Json& json) {
  const std::string text = json_text(json);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string report_page(const Json& data, const Json& manifest) {
  const ReportAssets assets = report_assets();
  const std::pair<std::string_view, std::string> parts[] = {
      {"@@LIBRARY_STYLE@@", std::string(assets.library_style)},
      {"@@STYLE@@", std::string(assets.style)},
      {"@@LIBRARY_LICENSE@@", std::string(assets.library_license)},
      {"@@LIBRARY@@", std::string(assets.library)},
      {"@@DATA@@", embedded(data)},
      {"@@MANIFEST@@", embedded(manifest)},
      {"@@SCRIPTS@@", std::string(assets.scripts)},
  };
  // Left to right, so that inserted text is not searched.
  std::string page;
  std::string_view rest = assets.page;
  for (const auto& [marker, text] : parts) {
    const std::size_t at = rest.find(marker);
    RECTO_CHECK(at != std::string_view::npos);
    page += rest.substr(0, at);
    page += text;
    rest.remove_prefix(at + marker.size());
  }
  page += rest;
  return page;
}

}  // namespace recto::experiments
