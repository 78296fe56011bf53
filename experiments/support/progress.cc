#include "experiments/support/progress.h"

#include <fmt/format.h>

namespace recto::experiments {
namespace {

constexpr std::size_t kBarColumns = 30;
constexpr std::string_view kWipe = "\r\x1b[K";

}  // namespace

ProgressBar::ProgressBar(std::ostream& out, const Terminal& terminal, std::size_t total)
    : out_(out), terminal_(terminal), total_(total) {}

ProgressBar::~ProgressBar() {
  if (terminal_.progress == Progress::kShown && done_ > 0) out_ << kWipe << std::flush;
}

void ProgressBar::advance(std::string_view what) {
  if (terminal_.progress == Progress::kSilent) return;
  const std::lock_guard lock(mutex_);
  ++done_;
  const std::size_t filled = kBarColumns * done_ / total_;
  std::string bar;
  for (std::size_t i = 0; i < kBarColumns; ++i) {
    const bool is_filled = i < filled;
    if (terminal_.charset == Charset::kUtf8) {
      bar += is_filled ? "█" : "░";
    } else {
      bar += is_filled ? '#' : '.';
    }
  }
  out_ << fmt::format("{}{} {}/{} {:.40}", kWipe, bar, done_, total_, what) << std::flush;
}

}  // namespace recto::experiments
