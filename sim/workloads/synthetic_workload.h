#pragma once

// Synthetic requests composed of named parts: arrivals, lengths, shared prefixes, decoding. Each
// part draws from its own stream, split from the seed by the part's name and the request's number,
// so that changing one part does not change the draws of the others.
//
// Content is made of runs: templates, chats and agents that repeat one another's prefixes. Runs are
// canonical: the prompt of a turn is exactly the runs of the previous turn, then that turn's
// output, then the new tokens. Two requests share a prefix if and only if their runs agree.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/random_stream.h"
#include "core/status.h"
#include "core/units.h"
#include "sim/request.h"
#include "sim/workloads/arrival_process.h"
#include "sim/workloads/distributions.h"
#include "sim/workloads/length_distribution.h"
#include "sim/workloads/workload_specs.h"

namespace recto::sim {

// A chat, or a single request, at some turn. It begins with its template if there are templates.
struct Session {
  std::int64_t turns_done = 0;
  std::int64_t turns_left = 0;
  TokenCount history;            // sum of the runs
  std::vector<ContentRun> runs;  // all tokens so far
};

// The new tokens of one request.
struct Turn {
  std::int64_t request = 0;
  TokenCount own_prompt_tokens;  // without the history
  TokenCount output_tokens;
};

// In an open loop, every request picks a random session, but never one of the most recently used
// half: consecutive turns of a session are at least half as many arrivals apart as there are active
// sessions, which leaves time for the answer. (Sessions in strict rotation would give a cache
// either every hit or none.) In a closed loop, every client has a session of its own.
//
// Choices for request i are drawn from streams split by i. Memory: the runs of the active sessions.
class SessionPool {
 public:
  struct Options {
    PrefixSharing sharing;                // valid
    std::optional<std::int64_t> clients;  // of a closed loop
  };
  SessionPool(const Options& options, const RandomStream& stream);

  // Returns the session that `request` continues; it is restarted if it has had all its turns.
  // O(1).
  Session& pick(std::int64_t request, std::optional<std::int64_t> client);

  // Restarts the session with `request` as its first turn. O(1).
  void begin(Session& session, std::int64_t request);

  // Adds the turn to the session and returns the token content of its request; null if nothing is
  // shared. O(turns so far).
  std::shared_ptr<const TokenContent> add_turn(Session& session, const Turn& turn);

 private:
  std::size_t pick_slot(std::int64_t request);

  PrefixSharing sharing_;
  RandomStream slot_stream_;
  RandomStream turns_stream_;
  RandomStream template_stream_;
  RandomStream template_length_stream_;
  std::optional<Zipf> template_choice_;
  Geometric turns_;
  std::vector<Session> sessions_;
  std::vector<std::size_t> rested_;  // slots that may be picked, in no particular order
  std::deque<std::size_t> resting_;  // most recently used slots, latest at the back
};

struct SyntheticOptions {
  LengthDistribution prompts;  // tokens that a request adds to its template, if any
  LengthDistribution outputs;
  // Tokens that a later turn adds to its session: the user's next message, or a tool's result.
  // Defaults to `prompts`.
  std::optional<LengthDistribution> follow_ups;

  ArrivalSpec arrivals;
  PrefixSharing sharing;
  DecodingSpec decoding;

  std::int64_t request_count = 1000;
  std::uint64_t seed = 1;

  // Limit of prompt + output, if any. If a first turn would be longer, both lengths are redrawn; if
  // a later turn would be, it begins a new session instead.
  std::optional<TokenCount> max_context;
};

// O(turns of the session) per request; memory does not grow with the number of requests.
class SyntheticWorkload : public RequestSource {
 public:
  // An error if a part is invalid, if parts contradict each other (sessions whose turns have
  // several outputs), or if nothing can fit in `max_context`.
  static Result<std::unique_ptr<SyntheticWorkload>> create(SyntheticOptions options);

  // An error, with the request's number, if lengths that fit in `max_context` are so rare that
  // 10,000 draws found none, or if simulated time exceeds 292 years.
  Result<std::optional<SimTime>> next_arrival() override;
  Result<std::optional<Request>> next() override;
  bool exhausted() const override { return issued_ == options_.request_count; }
  void finish(std::int64_t request_id, SimTime now) override;

 private:
  explicit SyntheticWorkload(SyntheticOptions options);

  Result<Turn> draw_turn(Session& session);
  bool fits(const Session& session, const Turn& turn) const;

  SyntheticOptions options_;
  RandomStream prompt_stream_;
  RandomStream follow_up_stream_;
  RandomStream output_stream_;
  std::unique_ptr<ArrivalProcess> arrivals_;
  SessionPool sessions_;
  std::int64_t issued_ = 0;
};

}  // namespace recto::sim
