#include "verify/block_manager/prompt_tokens.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <vector>

#include "bazel/testing/property.h"
#include "sim/testing/scenario_generator.h"
#include "sim/testing/token_chain.h"

namespace recto::verify {
namespace {

using sim::Request;
using sim::TokenContent;

Request request_of(std::int64_t id, std::int64_t prompt, TokenContent content) {
  return {.id = id,
          .prompt_tokens = TokenCount(prompt),
          .output_tokens = TokenCount(3),
          .content = std::make_shared<const TokenContent>(std::move(content))};
}

template <typename T>
std::ptrdiff_t common_prefix(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

TEST_CASE("runs of one content have equal ids from their starts") {
  ContentNumbers numbers;
  const Request left = request_of(1, 8, {.prompt_runs = {{7, TokenCount(5)}}});
  const Request right = request_of(2, 8, {.prompt_runs = {{7, TokenCount(5)}}});
  const Request split = request_of(3, 8, {.prompt_runs = {{7, TokenCount(2)}, {7, TokenCount(3)}}});
  const auto ids = token_ids(left, 0, numbers);
  CHECK(ids.size() == 11);
  CHECK(common_prefix(ids, token_ids(right, 0, numbers)) == 5);
  CHECK(common_prefix(ids, token_ids(split, 0, numbers)) == 2);
  CHECK(token_ids(left, 0, numbers) == ids);
}

TEST_CASE("a later prompt repeats the output that it names") {
  ContentNumbers numbers;
  const Request first =
      request_of(1, 4, {.prompt_runs = {{7, TokenCount(4)}}, .output_content_id = 8});
  const Request second =
      request_of(2, 9, {.prompt_runs = {{7, TokenCount(4)}, {8, TokenCount(3)}}});
  CHECK(common_prefix(token_ids(first, 0, numbers), token_ids(second, 0, numbers)) == 7);
  // Only the first of several samples can be repeated by a later prompt.
  CHECK(common_prefix(token_ids(first, 1, numbers), token_ids(second, 0, numbers)) == 4);
}

TEST_CASE("explicit ids stand for themselves") {
  ContentNumbers numbers;
  const Request told =
      request_of(1, 3, {.prompt_token_ids = {5, 0, 9}, .output_token_ids = {1, 2, 3}});
  CHECK(token_ids(told, 0, numbers) == std::vector<cache::TokenId>{5, 0, 9, 1, 2, 3});
}

TEST_CASE("the ids of a sequence are made once, and returned up to the length asked for") {
  const Request request = request_of(1, 8, {.prompt_runs = {{7, TokenCount(5)}}});
  PromptTokens told(PromptTokens::Contents::kTold);
  told.open(sim::SequenceId(2), {&request, 0});
  const auto first = told.first(sim::SequenceId(2), TokenCount(6));
  CHECK(first.size() == 6);
  CHECK(told.first(sim::SequenceId(2), TokenCount(11)).data() == first.data());
  told.close(sim::SequenceId(2));

  PromptTokens alike(PromptTokens::Contents::kAllAlike);
  alike.open(sim::SequenceId(0), {&request, 0});
  const auto blank = alike.first(sim::SequenceId(0), TokenCount(11));
  CHECK(std::ranges::count(blank, 0) == 11);
}

TEST_CASE("two sequences have equal ids as far as the simulator finds them equal") {
  std::int64_t agreeing = 0;
  std::int64_t parting = 0;
  property("over the requests of random scenarios", [&](Draw& draw) {
    const sim::Scenario scenario = sim::draw_scenario(draw, sim::AllocatorKind::kPrefixCached);
    ContentNumbers numbers;
    std::vector<std::vector<cache::TokenId>> ids;
    std::vector<std::vector<std::uint64_t>> chains;
    for (const Request& request : scenario.requests) {
      // The simulator does not know the tokens that beams write.
      const std::int32_t members = request.decoding == sim::Decoding::kBeam ? 1 : request.width;
      for (std::int32_t member = 0; member < members; ++member) {
        ids.push_back(token_ids(request, member, numbers));
        chains.push_back(chain_of(request, member, request.final_length().value()));
      }
    }
    for (std::size_t a = 0; a < ids.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const std::ptrdiff_t expected = common_prefix(chains[a], chains[b]);
        RECTO_REQUIRE(common_prefix(ids[a], ids[b]) == expected);
        (expected > 0 ? agreeing : parting) += 1;
      }
    }
  });
  std::cout << agreeing << " pairs that agree for a while, " << parting << " that do not\n";
  CHECK(agreeing > 0);
  CHECK(parting > 0);
}

}  // namespace
}  // namespace recto::verify
