#include "sim/workloads/synthetic_workload.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>
#include <variant>

#include "core/contract.h"
#include "sim/workloads/spec_text.h"

namespace recto::sim {
namespace {

enum class Speaker : std::uint64_t { kTemplate, kUser, kModel };
constexpr std::uint64_t kSpeakers = 3;

// Unlike a hash, this id cannot collide. `number` identifies the template or the request.
std::uint64_t content_id(Speaker speaker, std::int64_t number) {
  return static_cast<std::uint64_t>(number) * kSpeakers + static_cast<std::uint64_t>(speaker);
}

std::uint64_t as_index(std::int64_t number) { return static_cast<std::uint64_t>(number); }

void append(Session& session, ContentRun run) {
  session.runs.push_back(run);
  session.history += run.length;
}

constexpr CountRange kRequestCounts = {1, 1'000'000'000'000};

std::optional<std::int64_t> client_count(const ArrivalSpec& arrivals) {
  const auto* const closed = std::get_if<ClosedLoopArrivals>(&arrivals);
  return closed == nullptr ? std::nullopt : std::optional(closed->clients);
}

// The shortest request that these options allow.
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

SessionPool::SessionPool(const Options& options, const RandomStream& stream)
    : sharing_(options.sharing),
      slot_stream_(stream.split("slot")),
      turns_stream_(stream.split("turns")),
      template_stream_(stream.split("template")),
      template_length_stream_(stream.split("template_length")),
      turns_(1 / options.sharing.turns_mean),
      sessions_(
          static_cast<std::size_t>(options.clients.value_or(options.sharing.active_sessions))) {
  RECTO_CHECK_EQ(check_prefix_sharing(sharing_), Status::ok());
  if (sharing_.template_count > 0) {
    template_choice_.emplace(ZipfOptions{.n = sharing_.template_count, .s = sharing_.template_s});
  }
  if (options.clients) return;
  rested_.resize(sessions_.size());
  std::iota(rested_.begin(), rested_.end(), std::size_t{0});
}

Session& SessionPool::pick(std::int64_t request, std::optional<std::int64_t> client) {
  const std::size_t slot = client ? static_cast<std::size_t>(*client) : pick_slot(request);
  RECTO_CHECK_LT(slot, sessions_.size());
  Session& session = sessions_[slot];
  if (session.turns_left == 0) begin(session, request);
  return session;
}

std::size_t SessionPool::pick_slot(std::int64_t request) {
  RandomStream stream = slot_stream_.split(as_index(request));
  std::swap(rested_[stream.next_below(rested_.size())], rested_.back());
  resting_.push_back(rested_.back());
  rested_.pop_back();
  const std::size_t slot = resting_.back();
  if (resting_.size() > sessions_.size() / 2) {
    rested_.push_back(resting_.front());
    resting_.pop_front();
  }
  return slot;
}

void SessionPool::begin(Session& session, std::int64_t request) {
  RandomStream turns = turns_stream_.split(as_index(request));
  session.turns_done = 0;
  session.turns_left = turns_(turns);
  session.runs.clear();
  session.history = TokenCount();
  if (!template_choice_) return;
  RandomStream choice = template_stream_.split(as_index(request));
  const std::int64_t chosen = (*template_choice_)(choice);
  RandomStream length = template_length_stream_.split(as_index(chosen));
  const UniformInteger tokens(
      {.min = sharing_.template_tokens_min.value(), .max = sharing_.template_tokens_max.value()});
  append(session, {content_id(Speaker::kTemplate, chosen), TokenCount(tokens(length))});
}

std::shared_ptr<const TokenContent> SessionPool::add_turn(Session& session, const Turn& turn) {
  RECTO_CHECK_GT(session.turns_left, 0);
  ++session.turns_done;
  --session.turns_left;
  if (sharing_.shares_nothing()) return nullptr;
  const std::uint64_t output_id = content_id(Speaker::kModel, turn.request);
  append(session, {content_id(Speaker::kUser, turn.request), turn.own_prompt_tokens});
  auto content = std::make_shared<TokenContent>();
  content->prompt_runs = session.runs;
  if (sharing_.has_sessions()) content->output_content_id = output_id;
  append(session, {output_id, turn.output_tokens});
  return content;
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
  // Braces evaluate in order: the prompt is counted before its turn is added to the history.
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
