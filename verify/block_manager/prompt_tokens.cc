#include "verify/block_manager/prompt_tokens.h"

#include <algorithm>

#include "core/contract.h"

namespace recto::verify {
namespace {

constexpr std::int32_t kMostNumbers = 1 << 30;

void add_run(std::vector<cache::TokenId>& ids, std::int32_t number, std::int64_t length) {
  if (length <= 0) return;
  ids.push_back(-1 - 2 * number);
  ids.insert(ids.end(), static_cast<std::size_t>(length - 1), -2 - 2 * number);
}

void add_ids(std::vector<cache::TokenId>& ids, std::span<const std::int32_t> told) {
  for (const std::int32_t id : told) {
    RECTO_CHECK_GE(id, 0);
    ids.push_back(id);
  }
}

}  // namespace

std::int32_t ContentNumbers::next() {
  RECTO_CHECK_LT(count_, kMostNumbers);
  return count_++;
}

std::int32_t ContentNumbers::named(std::uint64_t content_id) {
  const auto [entry, is_new] = named_.try_emplace(content_id, 0);
  if (is_new) entry->second = next();
  return entry->second;
}

std::int32_t ContentNumbers::own(const sim::Request& request, std::int32_t member) {
  const auto [entry, is_new] = own_.try_emplace({request.id, member}, 0);
  if (is_new) entry->second = next();
  return entry->second;
}

void ContentNumbers::forget(const sim::Request& request, std::int32_t member) {
  own_.erase({request.id, member});
}

std::vector<cache::TokenId> token_ids(const sim::Request& request, std::int32_t member,
                                      ContentNumbers& numbers) {
  static const sim::TokenContent kNothingKnown;
  const sim::TokenContent& content = request.content ? *request.content : kNothingKnown;
  std::vector<cache::TokenId> ids;
  ids.reserve(static_cast<std::size_t>(request.final_length().value()));

  const std::int64_t prompt = request.prompt_tokens.value();
  add_ids(ids, content.prompt_token_ids);
  if (ids.empty()) {
    for (const sim::ContentRun& run : content.prompt_runs) {
      const std::int64_t left = prompt - std::ssize(ids);
      const std::int64_t length = std::min(run.length.value(), left);
      if (length > 0) add_run(ids, numbers.named(run.content_id), length);
    }
    // All members of a request have the same prompt.
    const std::int64_t left = prompt - std::ssize(ids);
    if (left > 0) add_run(ids, numbers.own(request, 0), left);
  }
  // Only the first member's output has a content id.
  const bool is_named = member == 0 && content.output_content_id.has_value();
  if (member == 0) add_ids(ids, content.output_token_ids);
  const std::int64_t left = request.final_length().value() - std::ssize(ids);
  if (left > 0) {
    add_run(ids,
            is_named ? numbers.named(*content.output_content_id) : numbers.own(request, member),
            left);
  }
  return ids;
}

void PromptTokens::open(sim::SequenceId sequence, const sim::SequenceSpec& spec) {
  const auto place = static_cast<std::size_t>(sequence.value());
  if (place >= entries_.size()) entries_.resize(place + 1);
  entries_[place].spec = spec;
}

void PromptTokens::close(sim::SequenceId sequence) {
  Entry& entry = entries_[static_cast<std::size_t>(sequence.value())];
  numbers_.forget(*entry.spec.request, entry.spec.member);
  entry = {};
}

std::span<const cache::TokenId> PromptTokens::first(sim::SequenceId sequence, TokenCount length) {
  const auto count = static_cast<std::size_t>(length.value());
  if (contents_ == Contents::kAllAlike) {
    if (count > blank_.size()) blank_.resize(count);
    return std::span<const cache::TokenId>(blank_).first(count);
  }
  Entry& entry = entries_[static_cast<std::size_t>(sequence.value())];
  if (entry.ids.empty()) {
    entry.ids = token_ids(*entry.spec.request, entry.spec.member, numbers_);
  }
  RECTO_CHECK_LE(count, entry.ids.size());
  return std::span<const cache::TokenId>(entry.ids).first(count);
}

}  // namespace recto::verify
