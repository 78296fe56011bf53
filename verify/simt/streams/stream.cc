#include "verify/simt/streams/stream.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

namespace recto::simt {

bool Stream::launch(const LaunchConfig& config, void (*call)(const void* closure),
                    const void* closure, std::size_t bytes) {
  const auto copy = std::make_unique<std::byte[]>(bytes);
  std::memcpy(copy.get(), closure, bytes);
  LaunchReport report = executor_.launch(config, {call, copy.get()});
  const bool is_valid = std::ranges::none_of(report.findings, [](const Finding& finding) {
    return finding.check == Check::kInvalidLaunch;
  });
  std::ranges::move(report.findings, std::back_inserter(report_.findings));
  report_.switches += report.switches;
  return is_valid;
}

}  // namespace recto::simt
