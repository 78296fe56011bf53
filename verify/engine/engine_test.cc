#include "verify/engine/engine.h"

#include <set>
#include <span>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

constexpr ModelShape kShape = {.vocabulary = 8, .hidden = 16, .layers = 1, .ffn = 8};

GenerationRequest request_of(std::vector<Token> prompt) {
  return {.prompt = std::move(prompt), .output_tokens = 4};
}

Status status_of(const std::vector<GenerationRequest>& requests, const EngineOptions& options) {
  return run_engine(drawn_weights(kShape, {}), requests, options).status();
}

TEST_CASE("a run keeps its steps and events, and gives each step's block table to the reader") {
  EngineOptions options;
  options.block_size = 2;
  const std::vector<GenerationRequest> requests = {request_of({1, 2, 3})};
  std::vector<std::vector<BlockId>> tables;
  const TableReader reader = [&tables](const SequenceStep&, std::span<const BlockId> table) {
    tables.emplace_back(table.begin(), table.end());
  };
  const EngineRun run = run_engine(drawn_weights(kShape, {}), requests, options, reader).value();
  REQUIRE(run.texts.size() == 1);
  CHECK(run.texts.at(0).outputs.at(0).size() == 4);
  // One step for the prompt, then one per token; the last token is not computed.
  REQUIRE(run.steps.size() == 4);
  CHECK(run.steps[0].sequences.at(0).rows == 3);
  CHECK(run.steps[0].sequences.at(0).num_blocks == 2);
  CHECK(run.steps[3].sequences.at(0).context == 5);
  CHECK(run.steps[3].sequences.at(0).num_blocks == 3);
  CHECK(run.steps[3].distinct_blocks == 3);
  REQUIRE(tables.size() == 4);
  REQUIRE(tables[3].size() == 3);
  CHECK(std::set(tables[3].begin(), tables[3].end()).size() == 3);
  CHECK(std::vector(tables[3].begin(), tables[3].begin() + 2) == tables[0]);
  REQUIRE(run.events.size() == 2);
  CHECK(run.events[0].text == "is admitted; 0 of 3 tokens are cached");
  CHECK(run.events[1].text == "is finished");
}

TEST_CASE("a step advances by the accepted drafts and its own token") {
  EngineOptions options;
  options.block_size = 2;
  GenerationRequest request = request_of({1, 2, 1, 2, 1});
  request.output_tokens = 40;
  const ModelWeights weights = drawn_weights(kShape, {});
  const EngineRun plain = run_engine(weights, {request}, options).value();
  options.draft_tokens = 4;
  const EngineRun run = run_engine(weights, {request}, options).value();
  CHECK(run.texts.at(0).outputs == plain.texts.at(0).outputs);
  CHECK(run.counts.accepted > 0);
  CHECK(run.counts.partial_rollbacks > 0);
  CHECK(run.counts.steps == plain.counts.steps - run.counts.accepted);
  for (std::size_t i = 1; i + 1 < run.steps.size(); ++i) {
    const SequenceStep& step = run.steps[i].sequences.at(0);
    const std::int64_t gained = run.steps[i + 1].sequences.at(0).context - step.context - 1;
    CHECK((gained >= 0 && gained <= step.drafts));
  }
}

TEST_CASE("tokens found in the prefix cache are not computed") {
  EngineOptions options;
  options.block_size = 2;
  options.caching = cache::PrefixCaching::kOn;
  std::vector<GenerationRequest> requests = {request_of({1, 2, 3, 4, 5}),
                                             request_of({1, 2, 3, 4, 5})};
  requests[1].arrival_step = 2;
  const EngineRun run = run_engine(drawn_weights(kShape, {}), requests, options).value();
  CHECK(run.counts.hit_tokens == 4);
  CHECK(run.texts.at(0).outputs == run.texts.at(1).outputs);
}

TEST_CASE("requests and options out of range are refused by name, and those in range are served") {
  EngineOptions options;
  CHECK(status_of({request_of({7})}, options) == Status::ok());
  CHECK(status_of({request_of({8})}, options).message() ==
        "request 0: prompt[0] = 8; expected 0 to 7");
  CHECK(status_of({request_of({})}, options).message() ==
        "request 0: prompt: expected at least one token");
  GenerationRequest beams = request_of({1});
  beams.decoding = sim::Decoding::kBeam;
  beams.width = 8;
  CHECK(status_of({beams}, options).message() == "request 0: width = 8; expected 1 to 7");
  options.max_batched_tokens = 7;
  CHECK(status_of({request_of({1})}, options).message() ==
        "engine: max_batched_tokens = 7; expected 8 to 1048576");
}

TEST_CASE("a request that the pool can never hold is refused, and one that fills it is not") {
  EngineOptions options;
  options.block_size = 2;
  options.num_blocks = 3;
  CHECK(status_of({request_of({1, 2, 3})}, options) == Status::ok());
  CHECK(status_of({request_of({1, 2, 3, 4})}, options).message() ==
        "request 0: can never be served; expected a pool, a maximum length and a number of "
        "sequences that hold it alone");
}

TEST_CASE("a model with more weights than the limit is refused before any is drawn") {
  ModelShape shape = kShape;
  shape.hidden = 1 << 18;
  shape.ffn = 1 << 20;
  CHECK(check_shape(shape).message().ends_with(" weights; expected at most 268435456"));
  shape.ffn = 1;
  CHECK(check_shape(shape) == Status::ok());
}

TEST_CASE("a model that no kernel serves is refused") {
  ModelShape shape = kShape;
  shape.head_dim = 80;
  const Result<EngineRun> run =
      run_engine(drawn_weights(shape, {}), {request_of({1})}, EngineOptions());
  CHECK(run.status().code() == StatusCode::kInvalidInput);
  CHECK(run.status().message().starts_with("model: "));
}

}  // namespace
}  // namespace recto::verify
