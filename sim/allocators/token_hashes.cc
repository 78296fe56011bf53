#include "sim/allocators/token_hashes.h"

#include <algorithm>

#include "core/contract.h"
#include "core/random_stream.h"

namespace recto::sim {
namespace {

constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15u;
// Not 0: `combine` maps (0, 0) to 0, so every prefix of a prompt of zeros would get the same hash.
constexpr std::uint64_t kFirstParent = 0x243f6a8885a308d3u;

std::uint64_t combine(std::uint64_t hash, std::uint64_t value) {
  return mix_bits(hash * kMultiplier + value);
}

// The identity of tokens that no other request has.
std::uint64_t private_identity(const Request& request, std::int32_t member) {
  const std::uint64_t id = combine(0x707269766174652u, static_cast<std::uint64_t>(request.id));
  return combine(id, static_cast<std::uint64_t>(member));
}

}  // namespace

TokenHashes::TokenHashes(const Request* request, std::int32_t member, TokenCount block_size)
    : request_(request), block_size_(block_size.value()) {
  const TokenContent* content = request->content.get();
  output_identity_ = content != nullptr && content->output_content_id && member == 0
                         ? *content->output_content_id
                         : private_identity(*request, member);
  if (content != nullptr && member == 0) {
    output_ids_ = static_cast<std::int64_t>(content->output_token_ids.size());
  }
}

std::uint64_t TokenHashes::at(std::int64_t index) {
  RECTO_CHECK_GE(index, 0);
  while (static_cast<std::int64_t>(hashes_.size()) <= index) hashes_.push_back(hash_next_block());
  return hashes_[static_cast<std::size_t>(index)];
}

std::uint64_t TokenHashes::hash_next_block() {
  const std::uint64_t parent = hashes_.empty() ? kFirstParent : hashes_.back();
  const auto begin = static_cast<std::int64_t>(hashes_.size()) * block_size_;
  return hash_range(parent, begin, begin + block_size_);
}

// A block is a list of pieces (identity, offset, length). Pieces are canonical because they end
// only where a run or the block ends. Explicit token ids are pieces of one token each.
std::uint64_t TokenHashes::hash_range(std::uint64_t hash, std::int64_t begin, std::int64_t end) {
  static const TokenContent kNoContent;
  const TokenContent& content = request_->content ? *request_->content : kNoContent;
  const std::int64_t prompt = request_->prompt_tokens.value();
  const auto add_piece = [&hash](std::uint64_t id, std::int64_t offset, std::int64_t length) {
    hash = combine(combine(combine(hash, id), static_cast<std::uint64_t>(offset)),
                   static_cast<std::uint64_t>(length));
  };
  std::int64_t at = begin;
  while (at < end) {
    if (at < prompt && !content.prompt_token_ids.empty()) {
      hash = combine(
          hash, static_cast<std::uint64_t>(content.prompt_token_ids[static_cast<std::size_t>(at)]));
      ++at;
    } else if (at < prompt) {
      while (run_ < content.prompt_runs.size() &&
             at >= run_begin_ + content.prompt_runs[run_].length.value()) {
        run_begin_ += content.prompt_runs[run_].length.value();
        ++run_;
      }
      const bool known = run_ < content.prompt_runs.size();
      const std::int64_t run_end =
          known ? run_begin_ + content.prompt_runs[run_].length.value() : prompt;
      const std::int64_t stop = std::min({end, prompt, run_end});
      const std::uint64_t id =
          known ? content.prompt_runs[run_].content_id : private_identity(*request_, 0);
      add_piece(id, at - run_begin_, stop - at);
      at = stop;
    } else if (at - prompt < output_ids_) {
      hash = combine(hash, static_cast<std::uint64_t>(
                               content.output_token_ids[static_cast<std::size_t>(at - prompt)]));
      ++at;
    } else {
      add_piece(output_identity_, at - prompt, end - at);
      at = end;
    }
  }
  return hash;
}

}  // namespace recto::sim
