#include "sim/workloads/synthetic_workload.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "sim/workloads/spec_text.h"

namespace recto::sim {
namespace {

constexpr CountRange kRequestCounts = {1, 1'000'000'000'000};

std::optional<std::int64_t> client_count(const ArrivalSpec& arrivals) {
  const auto* const closed = std::get_if<ClosedLoopArrivals>(&arrivals);
  return closed == nullptr ? std::nullopt : std::optional(closed->clients);
}

// The shortest request that these options can make.
TokenCount shortest_context(const SyntheticOptions& options) {
  const TokenCount prefix =
      options.sharing.template_count > 0 ? options.sharing.template_tokens_min : TokenCount();
  return prefix + options.prompts.range().min + options.outputs.range().min;
}

Status check(const SyntheticOptions& options) {
  RECTO_RETURN_IF_ERROR(check_arrivals(options.arrivals).in("arrivals"));
  RECTO_RETURN_IF_ERROR(check_prefix_sharing(options.sharing).in("sharing"));
  RECTO_RETURN_IF_ERROR(check_decoding(options.decoding).in("decoding"));
  RECTO_RETURN_IF_ERROR(check_count("requests", options.request_count, kRequestCounts));
  if (options.sharing.has_sessions() && options.decoding.width > 1) {
    return Status::invalid_input(
        fmt::format("decoding: expected single with sharing {}, whose next turn repeats one "
                    "output, got {}",
                    describe(options.sharing), describe(options.decoding)));
  }
  if (options.max_context && shortest_context(options) > *options.max_context) {
    return Status::invalid_input(fmt::format(
        "field max_context: expected at least {}, the shortest prompt and output of "
        "prompts {}, outputs {}, sharing {}; got {}",
        shortest_context(options).value(), options.prompts.describe(), options.outputs.describe(),
        describe(options.sharing), options.max_context->value()));
  }
  return Status::ok();
}

}  // namespace

std::vector<NamedPart> describe_parts(const SyntheticOptions& options) {
  std::vector<NamedPart> parts = {
      {"arrivals", describe(options.arrivals)},
      {"prompts", options.prompts.describe()},
      {"follow_ups", options.follow_ups.value_or(options.prompts).describe()},
      {"outputs", options.outputs.describe()},
      {"sharing", describe(options.sharing)},
      {"decoding", describe(options.decoding)},
      {"requests", std::to_string(options.request_count)},
      {"seed", std::to_string(options.seed)},
  };
  if (options.max_context) {
    parts.push_back({"max_context", std::to_string(options.max_context->value())});
  }
  return parts;
}

Result<std::unique_ptr<SyntheticWorkload>> SyntheticWorkload::create(SyntheticOptions options) {
  RECTO_RETURN_IF_ERROR(check(options));
  return std::unique_ptr<SyntheticWorkload>(new SyntheticWorkload(std::move(options)));
}

SyntheticWorkload::SyntheticWorkload(SyntheticOptions options)
    : options_(std::move(options)),
      prompt_stream_(RandomStream(options_.seed).split("prompts")),
      follow_up_stream_(RandomStream(options_.seed).split("follow_ups")),
      output_stream_(RandomStream(options_.seed).split("outputs")),
      arrivals_(
          make_arrival_process(options_.arrivals, RandomStream(options_.seed).split("arrivals"))),
      sessions_({.sharing = options_.sharing, .clients = client_count(options_.arrivals)},
                RandomStream(options_.seed).split("sharing")) {}

Result<std::optional<SimTime>> SyntheticWorkload::next_arrival() {
  if (exhausted()) return std::optional<SimTime>();
  return arrivals_->next_time();
}

Result<std::optional<Request>> SyntheticWorkload::next() {
  if (exhausted()) return std::optional<Request>();
  const Result<std::optional<Arrival>> arrival = arrivals_->next();
  if (!arrival.is_ok()) return arrival.status();
  if (!arrival.value()) return std::optional<Request>();
  Session& session = sessions_.pick(issued_, arrival.value()->client);
  const Result<Turn> turn = draw_turn(session);
  if (!turn.is_ok()) return turn.status();
  // Braces are evaluated in order: the prompt is counted before its turn is added to the history.
  return std::optional<Request>(Request{
      .id = issued_++,
      .arrival = arrival.value()->time,
      .prompt_tokens = session.history + turn.value().own_prompt_tokens,
      .output_tokens = turn.value().output_tokens,
      .decoding = options_.decoding.kind,
      .width = options_.decoding.width,
      .content = sessions_.add_turn(session, turn.value()),
  });
}

void SyntheticWorkload::finish(std::int64_t request_id, SimTime now) {
  arrivals_->finish(request_id, now);
}

Result<Turn> SyntheticWorkload::draw_turn(Session& session) {
  const auto index = static_cast<std::uint64_t>(issued_);
  RandomStream outputs = output_stream_.split(index);
  if (session.turns_done > 0) {
    RandomStream follow_ups = follow_up_stream_.split(index);
    const LengthDistribution& lengths =
        options_.follow_ups ? *options_.follow_ups : options_.prompts;
    const Turn turn = {issued_, lengths.draw(follow_ups), options_.outputs.draw(outputs)};
    if (fits(session, turn)) return turn;
    sessions_.begin(session, issued_);
  }
  constexpr int kMostDraws = 10'000;
  RandomStream prompts = prompt_stream_.split(index);
  for (int draws = 0; draws < kMostDraws; ++draws) {
    const Turn turn = {issued_, options_.prompts.draw(prompts), options_.outputs.draw(outputs)};
    if (fits(session, turn)) return turn;
  }
  return Status::invalid_input(
      fmt::format("request {}: no prompt of {} and output of {} fit in max_context {} after a "
                  "template of {} tokens, in {} draws",
                  issued_, options_.prompts.describe(), options_.outputs.describe(),
                  options_.max_context->value(), session.history.value(), kMostDraws));
}

bool SyntheticWorkload::fits(const Session& session, const Turn& turn) const {
  return !options_.max_context ||
         session.history + turn.own_prompt_tokens + turn.output_tokens <= *options_.max_context;
}

}  // namespace recto::sim
