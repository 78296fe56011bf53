#include "sim/testing/token_chain.h"

#include <array>

namespace recto::sim {
namespace {

// The identity of a token: tokens with equal parts are equal.
using Token = std::array<std::uint64_t, 4>;  // kind, whose, which sequence, position

enum Kind : std::uint64_t { kId = 1, kRun = 2, kPrivate = 3 };

Token token_in_prompt(const Request& request, std::int64_t position) {
  const TokenContent* content = request.content.get();
  const auto at = static_cast<std::size_t>(position);
  if (content != nullptr && !content->prompt_token_ids.empty()) {
    return {kId, static_cast<std::uint64_t>(content->prompt_token_ids[at]), 0, 0};
  }
  std::int64_t begin = 0;
  if (content != nullptr) {
    for (const ContentRun& run : content->prompt_runs) {
      const std::int64_t end = begin + run.length.value();
      if (position < end) {
        return {kRun, run.content_id, 0, static_cast<std::uint64_t>(position - begin)};
      }
      begin = end;
    }
  }
  return {kPrivate, static_cast<std::uint64_t>(request.id), 0,
          static_cast<std::uint64_t>(position)};
}

Token token_at(const Request& request, std::int64_t member, std::int64_t position) {
  const std::int64_t output = position - request.prompt_tokens.value();
  if (output < 0) return token_in_prompt(request, position);
  const TokenContent* content = request.content.get();
  if (content != nullptr && member == 0) {
    if (static_cast<std::size_t>(output) < content->output_token_ids.size()) {
      const auto id = content->output_token_ids[static_cast<std::size_t>(output)];
      return {kId, static_cast<std::uint64_t>(id), 0, 0};
    }
    if (content->output_content_id) {
      return {kRun, *content->output_content_id, 0, static_cast<std::uint64_t>(output)};
    }
  }
  return {kPrivate, static_cast<std::uint64_t>(request.id), static_cast<std::uint64_t>(member),
          static_cast<std::uint64_t>(position)};
}

}  // namespace

std::uint64_t extend_chain(std::uint64_t chain, const Request& request, std::int64_t member,
                           std::int64_t position) {
  const bool is_beam = request.decoding == Decoding::kBeam;
  // FNV-1a over words instead of bytes, with a shift that mixes high bits into low ones.
  for (const std::uint64_t part : token_at(request, is_beam ? 0 : member, position)) {
    chain = (chain ^ part) * 0x00000100000001b3u;
    chain ^= chain >> 29;
  }
  return chain;
}

std::vector<std::uint64_t> chain_of(const Request& request, std::int64_t member,
                                    std::int64_t length) {
  std::vector<std::uint64_t> chain;
  std::uint64_t last = kEmptyChain;
  for (std::int64_t position = 0; position < length; ++position) {
    last = extend_chain(last, request, member, position);
    chain.push_back(last);
  }
  return chain;
}

}  // namespace recto::sim
