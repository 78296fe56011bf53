#pragma once

// A run as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing: JSON trace events, streamed
// to disk, so that memory use depends on the requests in flight and not on the length of the run.
//
// Processes: "pool", counters of the six states, the batch and the queue, as means over windows of
// time; "running", a track per place in the batch with slices prefill, decode and, after a
// preemption, resumed; "queue", a track per place in the queue, with slices queue and, after a
// preemption, preempted or swapped. Preemptions and rejections are instants.

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "experiments/support/output_file.h"
#include "experiments/support/run_config.h"
#include "sim/metrics/gauges.h"
#include "sim/simulator.h"

namespace recto::experiments {

class Timeline final : public sim::SimulationObserver {
 public:
  // `window`, above 0, is the time between two values of a counter; `about`, an object of texts, is
  // stored beside the events and describes their origin.
  static Result<std::unique_ptr<Timeline>> create(const std::string& path, SimDuration window,
                                                  const Json& about);

  // Ends the file after the run. A timeline that is not finished leaves no file behind.
  Status finish();

  void on_arrived(const sim::SequenceGroup& group, SimTime now) override;
  void on_rejected(const sim::Request& request, SimTime now) override;
  void on_admitted(const sim::SequenceGroup& group, SimTime now) override;
  void on_first_token(const sim::SequenceGroup& group, SimTime now) override;
  void on_preempted(const sim::SequenceGroup& group, sim::PreemptionKind kind,
                    SimTime now) override;
  void on_finished(const sim::SequenceGroup& group, SimTime now) override;
  void on_gauges(const sim::GaugeValues& gauges, const sim::Scheduler& scheduler,
                 SimTime now) override;

 private:
  // Assigns the lowest free track, so that a trace has as few tracks as possible.
  class Tracks {
   public:
    std::int64_t take();
    void give_back(std::int64_t track) { free_.push(track); }

   private:
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> free_;
    std::int64_t next_ = 1;
  };

  enum class Place : std::uint8_t { kQueue, kRunning };

  // The slice that a request is in.
  struct Open {
    Place place = Place::kQueue;
    std::int64_t track = 0;
    std::string_view name;
    SimTime begin;
  };

  Timeline(OutputFile file, SimDuration window, const Json& about);

  Tracks& tracks(Place place) { return place == Place::kQueue ? queue_tracks_ : running_tracks_; }
  // End the request's slice now and begin the next one, on the same track or on another.
  void rename(const sim::Request& request, std::string_view name, SimTime now);
  void move(const sim::Request& request, Place place, std::string_view name, SimTime now);
  void write_slice(const sim::Request& request, const Open& open, SimTime now);
  void write_instant(std::string_view name, std::int64_t request_id, SimTime now);
  void write_event(std::string_view event);
  void write_counters();
  void add_time(SimTime until);
  void end_window();

  OutputFile file_;
  bool is_first_ = true;
  absl::flat_hash_map<std::int64_t, Open> open_;  // by request id
  Tracks queue_tracks_;
  Tracks running_tracks_;

  SimDuration window_;
  bool has_values_ = false;
  SimTime window_begin_;
  SimTime counted_until_;
  sim::GaugeValues values_;
  std::array<__int128, sim::kGaugeCount> integrals_{};
};

}  // namespace recto::experiments
