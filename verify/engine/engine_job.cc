#include "verify/engine/engine_job.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace recto::verify {

using reference::Vector;

EngineJob::EngineJob(const GenerationRequest& request)
    : request_(request),
      members_(static_cast<std::size_t>(request.width), Member{.text = request.prompt}) {}

std::int64_t EngineJob::outputs() const {
  return std::ssize(members_.front().text) - std::ssize(request_.prompt);
}

std::vector<Token> EngineJob::drafts(std::int32_t member, std::int64_t count) const {
  const std::span<const Token> text = this->text(member);
  for (std::size_t end = text.size() - 1; end > 0; --end) {
    if (text[end - 1] != text.back()) continue;
    const auto after = text.subspan(end);
    const std::size_t most = std::min(static_cast<std::size_t>(count), after.size());
    return {after.begin(), after.begin() + static_cast<std::ptrdiff_t>(most)};
  }
  return {};
}

bool EngineJob::tell(std::int32_t member, const Vector& logits) {
  at(member).told = logits;
  if (outputs() == 0) std::ranges::for_each(members_, [&](Member& each) { each.told = logits; });
  return std::ranges::all_of(members_, [](const Member& each) { return each.told.has_value(); });
}

void EngineJob::forget_logits() {
  for (Member& member : members_) member.told.reset();
}

std::vector<std::int32_t> EngineJob::choose() {
  std::vector<std::int32_t> parent_of(members_.size());
  std::iota(parent_of.begin(), parent_of.end(), 0);
  if (request_.decoding == sim::Decoding::kBeam) {
    parent_of = search();
  } else {
    for (const std::int32_t member : parent_of) go_on(member, {&*at(member).told, 1});
  }
  forget_logits();
  return parent_of;
}

Token EngineJob::token_by(std::int32_t member, std::int64_t output, const Vector& logits) const {
  return best_token(token_scores(request_, member, output, logits));
}

std::vector<std::int32_t> EngineJob::search() {
  // Before the first output all beams are equal.
  const std::size_t different = outputs() == 0 ? 1 : members_.size();
  std::vector<double> scores;
  std::vector<Vector> logits;
  for (std::size_t i = 0; i < different; ++i) {
    scores.push_back(members_[i].score);
    logits.push_back(*members_[i].told);
  }
  const std::vector<BeamCandidate> candidates = beam_candidates(scores, logits);
  std::vector<Member> next;
  std::vector<std::int32_t> parent_of;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    parent_of.push_back(candidates[i].parent);
    Member& member = next.emplace_back(at(candidates[i].parent));
    member.text.push_back(candidates[i].token);
    member.logits.push_back(*member.told);
    member.score = candidates[i].score;
  }
  members_ = std::move(next);
  return parent_of;
}

std::int64_t EngineJob::right_drafts(std::int32_t member, std::span<const Token> drafts,
                                     std::span<const Vector> logits) const {
  Token next = text(member).back();
  std::size_t right = 0;
  for (; right < drafts.size() && drafts[right] == next; ++right) {
    next = token_by(member, outputs() + static_cast<std::int64_t>(right), logits[right]);
  }
  return static_cast<std::int64_t>(right);
}

void EngineJob::go_on(std::int32_t member, std::span<const Vector> logits) {
  Member& mine = at(member);
  for (const Vector& each : logits) {
    mine.text.push_back(token_by(member, std::ssize(mine.logits), each));
    mine.logits.push_back(each);
  }
}

void EngineJob::replace_last(std::int32_t member, Token token) { at(member).text.back() = token; }

EngineText EngineJob::result() const {
  EngineText result;
  for (const Member& member : members_) {
    result.outputs.emplace_back(member.text.begin() + std::ssize(request_.prompt),
                                member.text.end());
    result.logits.push_back(member.logits);
  }
  return result;
}

}  // namespace recto::verify
