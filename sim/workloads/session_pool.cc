#include "sim/workloads/session_pool.h"

#include <numeric>
#include <utility>

#include "core/contract.h"

namespace recto::sim {
namespace {

enum class Speaker : std::uint64_t { kTemplate, kUser, kModel };
constexpr std::uint64_t kSpeakers = 3;

// Unlike a hash, this cannot collide. `number` is the template's or the request's.
std::uint64_t content_id(Speaker speaker, std::int64_t number) {
  return static_cast<std::uint64_t>(number) * kSpeakers + static_cast<std::uint64_t>(speaker);
}

std::uint64_t as_index(std::int64_t number) { return static_cast<std::uint64_t>(number); }

void append(Session& session, ContentRun run) {
  session.runs.push_back(run);
  session.history += run.length;
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

}  // namespace recto::sim
