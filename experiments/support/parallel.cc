#include "experiments/support/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace recto::experiments {
namespace {

constexpr std::size_t kBarColumns = 30;
constexpr std::string_view kWipe = "\r\x1b[K";

}  // namespace

int default_threads() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto serve = [&] {
    for (std::size_t index = next++; index < count; index = next++) work(index);
  };
  const std::size_t helpers =
      std::min(count, static_cast<std::size_t>(std::max(threads, 1))) - (count == 0 ? 0 : 1);
  std::vector<std::jthread> pool;
  for (std::size_t i = 0; i < helpers; ++i) pool.emplace_back(serve);
  serve();
}

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
