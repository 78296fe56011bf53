#include "verify/engine/engine_job.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/contract.h"

namespace recto::verify {

using reference::Vector;

EngineJob::EngineJob(const GenerationRequest& request)
    : request_(request),
      texts_(static_cast<std::size_t>(request.width), request.prompt),
      members_(static_cast<std::size_t>(request.width)) {}

std::int64_t EngineJob::outputs() const {
  return std::ssize(texts_.front()) - std::ssize(request_.prompt);
}

std::vector<Token> EngineJob::drafts(std::int32_t member, std::int64_t count) const {
  const std::span<const Token> text = this->text(member);
  for (std::size_t end = text.size() - 1; end > 0; --end) {
    if (text[end - 1] != text.back()) continue;
    const std::size_t most = std::min(static_cast<std::size_t>(count), text.size() - end);
    return {text.begin() + static_cast<std::ptrdiff_t>(end),
            text.begin() + static_cast<std::ptrdiff_t>(end + most)};
  }
  return {};
}

bool EngineJob::tell(std::int32_t member, const Vector& logits) {
  if (outputs() == 0) {
    for (Member& each : members_) each.told = logits;
  } else {
    members_[static_cast<std::size_t>(member)].told = logits;
  }
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
    sample();
  }
  forget_logits();
  return parent_of;
}

Token EngineJob::token_by(std::int32_t member, std::int64_t output, const Vector& logits) const {
  return best_token(token_scores(request_, {.member = member, .output = output}, logits));
}

void EngineJob::sample() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Vector told = *members_[i].told;
    go_on(static_cast<std::int32_t>(i), std::span(&told, 1));
  }
}

std::vector<std::int32_t> EngineJob::search() {
  // At first all beams are the same.
  const std::size_t different = outputs() == 0 ? 1 : members_.size();
  std::vector<double> scores;
  std::vector<Vector> logits;
  for (std::size_t i = 0; i < different; ++i) {
    scores.push_back(members_[i].score);
    logits.push_back(*members_[i].told);
  }
  const std::vector<BeamCandidate> candidates = beam_candidates(scores, logits);
  std::vector<std::vector<Token>> texts;
  std::vector<Member> members;
  std::vector<std::int32_t> parent_of;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const BeamCandidate& candidate = candidates[i];
    const auto parent = static_cast<std::size_t>(candidate.parent);
    parent_of.push_back(candidate.parent);
    texts.push_back(texts_[parent]);
    texts.back().push_back(candidate.token);
    members.push_back(members_[parent]);
    members.back().logits.push_back(logits[parent]);
    members.back().score = candidate.score;
  }
  texts_ = std::move(texts);
  members_ = std::move(members);
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
  std::vector<Token>& text = texts_[static_cast<std::size_t>(member)];
  for (const Vector& each : logits) {
    const std::int64_t output = std::ssize(text) - std::ssize(request_.prompt);
    text.push_back(token_by(member, output, each));
    members_[static_cast<std::size_t>(member)].logits.push_back(each);
  }
}

void EngineJob::replace_last(std::int32_t member, Token token) {
  texts_[static_cast<std::size_t>(member)].back() = token;
}

EngineText EngineJob::result() const {
  EngineText result;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    result.outputs.emplace_back(texts_[i].begin() + std::ssize(request_.prompt), texts_[i].end());
    result.logits.push_back(members_[i].logits);
  }
  return result;
}

}  // namespace recto::verify
