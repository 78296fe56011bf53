#include "experiments/simulate/timeline.h"

#include <fmt/format.h>

#include <iterator>
#include <span>
#include <utility>

#include "core/contract.h"
#include "core/json.h"

namespace recto::experiments {
namespace {

constexpr int kPoolProcess = 1;
constexpr int kRunningProcess = 2;
constexpr int kQueueProcess = 3;

// Perfetto draws each counter as one chart.
struct Chart {
  std::string_view name;
  std::span<const sim::Gauge> gauges;
};
constexpr sim::Gauge kStates[] = {
    sim::Gauge::kUsed,     sim::Gauge::kReserved, sim::Gauge::kOverReservation,
    sim::Gauge::kRounding, sim::Gauge::kTail,     sim::Gauge::kOutOfWindow,
    sim::Gauge::kCached,   sim::Gauge::kFree,     sim::Gauge::kOverhead};
constexpr sim::Gauge kBlocked[] = {sim::Gauge::kBlockedFree, sim::Gauge::kUnplaceableFree};
constexpr sim::Gauge kBatch[] = {sim::Gauge::kRunningSequences};
constexpr sim::Gauge kQueue[] = {sim::Gauge::kWaitingRequests};
constexpr Chart kCharts[] = {{"pool (slots)", kStates},
                             {"blocked free (slots)", kBlocked},
                             {"batch (sequences)", kBatch},
                             {"queue (requests)", kQueue}};

constexpr std::string_view kBeginning = R"({"displayTimeUnit":"ms","otherData":)";

// Trace events count microseconds.
std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }
std::string microseconds(SimTime time) { return microseconds((time - SimTime()).value()); }

std::string process_name(int process, std::string_view name) {
  return fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"{}"}}}})",
                     process, name);
}

}  // namespace

Result<std::unique_ptr<Timeline>> Timeline::create(const std::string& path, SimDuration window,
                                                   const Json& about) {
  RECTO_CHECK_GT(window, SimDuration(0));
  RECTO_RETURN_IF_ERROR(
      check_overwrites_only({.mark = kBeginning, .name = "a timeline of recto simulate"}, path));
  Result<OutputFile> file = OutputFile::create(path);
  RECTO_RETURN_IF_ERROR(file.status());
  return std::unique_ptr<Timeline>(new Timeline(std::move(file).value(), window, about));
}

Timeline::Timeline(OutputFile file, SimDuration window, const Json& about)
    : file_(std::move(file)), window_(window) {
  const std::string text = json_text(about);
  file_.write(std::string(kBeginning) + text + ",\"traceEvents\":[");
  write_event(process_name(kPoolProcess, "pool"));
  write_event(process_name(kRunningProcess, "running"));
  write_event(process_name(kQueueProcess, "queue"));
}

Status Timeline::finish() {
  RECTO_CHECK(open_.empty());
  if (counted_until_ > window_begin_) write_counters();
  file_.write("\n]}\n");
  return file_.commit();
}

std::int64_t Timeline::Tracks::take() {
  if (free_.empty()) return next_++;
  const std::int64_t track = free_.top();
  free_.pop();
  return track;
}

void Timeline::write_event(std::string_view event) {
  file_.write(is_first_ ? "\n" : ",\n");
  file_.write(event);
  is_first_ = false;
}

void Timeline::write_slice(const sim::Request& request, const Open& open, SimTime now) {
  write_event(fmt::format(
      R"({{"ph":"X","pid":{},"tid":{},"name":"{}","ts":{},"dur":{},"args":{{"request":{},)"
      R"("prompt_tokens":{},"output_tokens":{},"sequences":{}}}}})",
      open.place == Place::kQueue ? kQueueProcess : kRunningProcess, open.track, open.name,
      microseconds(open.begin), microseconds((now - open.begin).value()), request.id,
      request.prompt_tokens.value(), request.output_tokens.value(), request.width));
}

void Timeline::rename(const sim::Request& request, std::string_view name, SimTime now) {
  Open& open = open_.at(request.id);
  write_slice(request, open, now);
  open.name = name;
  open.begin = now;
}

void Timeline::move(const sim::Request& request, Place place, std::string_view name, SimTime now) {
  Open& open = open_.at(request.id);
  write_slice(request, open, now);
  tracks(open.place).give_back(open.track);
  open = {place, tracks(place).take(), name, now};
}

void Timeline::write_instant(std::string_view name, std::int64_t request_id, SimTime now) {
  write_event(fmt::format(
      R"({{"ph":"i","s":"p","pid":{},"tid":0,"name":"{}","ts":{},"args":{{"request":{}}}}})",
      kQueueProcess, name, microseconds(now), request_id));
}

void Timeline::on_arrived(const sim::SequenceGroup& group, SimTime now) {
  open_[group.request.id] = {Place::kQueue, queue_tracks_.take(), "queue", now};
}

void Timeline::on_rejected(const sim::Request& request, SimTime now) {
  write_instant("rejected", request.id, now);
}

void Timeline::on_admitted(const sim::SequenceGroup& group, SimTime now) {
  move(group.request, Place::kRunning, group.has_first_token ? "resumed" : "prefill", now);
}

void Timeline::on_first_token(const sim::SequenceGroup& group, SimTime now) {
  rename(group.request, "decode", now);
}

void Timeline::on_preempted(const sim::SequenceGroup& group, sim::PreemptionKind kind,
                            SimTime now) {
  const bool is_swap = kind == sim::PreemptionKind::kSwap;
  write_instant(is_swap ? "preempted: swap" : "preempted: recompute", group.request.id, now);
  move(group.request, Place::kQueue, is_swap ? "swapped" : "preempted", now);
}

void Timeline::on_finished(const sim::SequenceGroup& group, SimTime now) {
  const auto found = open_.find(group.request.id);
  RECTO_CHECK(found != open_.end());
  write_slice(group.request, found->second, now);
  tracks(found->second.place).give_back(found->second.track);
  open_.erase(found);
}

void Timeline::on_gauges(const sim::GaugeValues& gauges, const sim::Scheduler&, SimTime now) {
  if (!has_values_) {
    // Nothing is known about the pool before this.
    has_values_ = true;
    window_begin_ = now;
    counted_until_ = now;
  }
  if (now - window_begin_ >= window_) end_window();
  if (now - window_begin_ >= window_) {
    // Nothing changed in the windows up to now, so the first stands for all.
    const SimTime begin = window_begin_;
    const std::int64_t whole = (now - begin).value() / window_.value();
    end_window();
    window_begin_ = begin + window_ * whole;
    counted_until_ = window_begin_;
  }
  add_time(now);
  values_ = gauges;
}

void Timeline::end_window() {
  add_time(window_begin_ + window_);
  write_counters();
  integrals_ = {};
  window_begin_ = counted_until_;
}

void Timeline::add_time(SimTime until) {
  const std::int64_t elapsed = (until - counted_until_).value();
  for (std::size_t i = 0; i < sim::kGaugeCount; ++i) {
    integrals_[i] += static_cast<__int128>(values_.all()[i]) * elapsed;
  }
  counted_until_ = until;
}

void Timeline::write_counters() {
  const std::int64_t length = (counted_until_ - window_begin_).value();
  for (const Chart& chart : kCharts) {
    std::string values;
    for (const sim::Gauge gauge : chart.gauges) {
      const auto index = static_cast<std::size_t>(gauge);
      const double mean = static_cast<double>(integrals_[index]) / static_cast<double>(length);
      fmt::format_to(std::back_inserter(values), R"({}"{}":{:.1f})", values.empty() ? "" : ",",
                     sim::kGauges[index].name, mean);
    }
    write_event(fmt::format(R"({{"ph":"C","pid":{},"name":"{}","ts":{},"args":{{{}}}}})",
                            kPoolProcess, chart.name, microseconds(window_begin_), values));
  }
}

}  // namespace recto::experiments
