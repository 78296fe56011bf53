#pragma once

// Synthetic requests composed of named parts: arrivals, lengths, shared prefixes, decoding. Each
// part draws from its own stream, split from the seed by the part's name and the request's number,
// so that changing one part does not change the draws of the others.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/random_stream.h"
#include "core/status.h"
#include "core/units.h"
#include "sim/request.h"
#include "sim/workloads/arrival_process.h"
#include "sim/workloads/arrivals.h"
#include "sim/workloads/decoding_spec.h"
#include "sim/workloads/length_distribution.h"
#include "sim/workloads/prefix_sharing.h"
#include "sim/workloads/session_pool.h"

namespace recto::sim {

struct SyntheticOptions {
  LengthDistribution prompts;  // what a request adds to its template, if it has one
  LengthDistribution outputs;
  // What a later turn of a session adds to its history: the user's next words, or a tool's result.
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

// The name and the text form of one part, for manifests.
struct NamedPart {
  std::string name;
  std::string text;
};
std::vector<NamedPart> describe_parts(const SyntheticOptions& options);

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
