#pragma once

// A request as the simulator sees it: its arrival, the lengths of prompt and output, the identity
// of its tokens as far as sharing depends on it, and the number of sequences that it decodes into.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/units.h"

namespace recto::sim {

// A run of tokens with one identity. Two runs with the same `content_id` agree token by token from
// their starts; runs with different ids share nothing. Traces without content have no runs.
struct ContentRun {
  std::uint64_t content_id = 0;
  TokenCount length;

  friend bool operator==(const ContentRun&, const ContentRun&) = default;
};

// The identity of a request's tokens: either explicit token ids, or runs of known identity. Runs
// cover the prompt from its first token. Tokens beyond the last run, of prompt or output, match
// nothing else unless `output_content_id` identifies them.
struct TokenContent {
  std::vector<ContentRun> prompt_runs{};
  std::vector<std::int32_t> prompt_token_ids{};  // [prompt_tokens], or empty
  std::vector<std::int32_t> output_token_ids{};  // [output_tokens], or empty
  // Identity of the output, for sessions whose next prompt repeats it.
  std::optional<std::uint64_t> output_content_id{};

  friend bool operator==(const TokenContent&, const TokenContent&) = default;
};

enum class Decoding : std::uint8_t {
  kSingle,    // one sequence
  kParallel,  // `width` samples of one prompt
  kBeam,      // beam search of `width` beams
};

struct Request {
  std::int64_t id = 0;  // position in its source, from 0
  SimTime arrival{};
  TokenCount prompt_tokens{};
  TokenCount output_tokens{};  // per sequence; at least 1
  Decoding decoding = Decoding::kSingle;
  std::int32_t width = 1;                         // sequences that the request decodes into
  std::shared_ptr<const TokenContent> content{};  // null: shares nothing with other requests

  TokenCount final_length() const { return prompt_tokens + output_tokens; }

  // Tokens that one sequence has in the cache at its end. The last output token is returned to the
  // user, but nothing is computed from it, so it gets no slot.
  TokenCount final_context() const { return final_length() - TokenCount(1); }
};

// A source of requests: a trace file, or a synthetic workload. Requests are pulled one at a time in
// order of arrival, so that memory does not grow with their number.
class RequestSource {
 public:
  virtual ~RequestSource() = default;

  // Returns when the next request will arrive, as far as known; nullopt if none is due; an error if
  // the input is bad. An open-loop source returns nullopt only at its end. A closed-loop source
  // also returns it while all clients wait for an answer; `finish` may then add an earlier arrival.
  virtual Result<std::optional<SimTime>> next_arrival() = 0;

  // Returns that request. In a closed loop, call this only when its arrival time has come. Arrivals
  // never decrease.
  virtual Result<std::optional<Request>> next() = 0;

  // Returns true once no further request will ever come.
  virtual bool exhausted() const = 0;

  // Tells a closed-loop source that `request_id` was answered at `now`. The source may then have a
  // next request, no earlier than `now`. Open-loop sources ignore the call.
  virtual void finish(std::int64_t request_id, SimTime now) {
    static_cast<void>(request_id);
    static_cast<void>(now);
  }
};

}  // namespace recto::sim
