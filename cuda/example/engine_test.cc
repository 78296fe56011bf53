// Compares the engine's answers with those of the same model without a cache, whatever was found
// cached, shared, copied or preempted.

#include "cuda/example/engine.h"

#include "bazel/testing/catch.h"

namespace recto::cache::example {
namespace {

using Catch::Matchers::ContainsSubstring;

std::vector<TokenId> without_cache(const Request& request, std::int32_t sample) {
  std::vector<TokenId> tokens = request.prompt;
  for (std::int64_t i = 0; i < request.num_outputs; ++i) {
    std::int64_t sum = 0;
    for (std::size_t at = 0; at < tokens.size(); ++at) {
      sum += static_cast<std::int64_t>(at + 1) * tokens[at];
    }
    tokens.push_back(next_token(sum, std::ssize(tokens), sample));
  }
  return tokens;
}

// A request that begins with the common system prompt of 13 tokens.
Request request(std::int32_t name) {
  Request request{.name = name, .num_outputs = 5 + name % 7, .num_samples = 1 + name % 3};
  for (TokenId token = 1; token <= 13; ++token) request.prompt.push_back(token);
  for (TokenId token = 0; token <= name % 9; ++token) request.prompt.push_back(100 * name + token);
  return request;
}

CacheOptions options(std::int64_t num_blocks) {
  CacheOptions options;
  options.num_blocks = BlockCount(num_blocks);
  options.block_size = TokenCount(4);
  options.max_blocks_per_sequence = BlockCount(10);
  return options;
}

Engine served(std::int64_t num_blocks, std::int32_t num_requests) {
  Engine engine = Engine::create(options(num_blocks), {}).value();
  for (std::int32_t name = 0; name < num_requests; ++name) {
    CHECK(engine.submit(request(name)) == Status::ok());
  }
  while (engine.step()) {
  }
  return engine;
}

TEST_CASE("answers equal those of the model without a cache, in pools of any size") {
  std::int64_t preemptions = 0;
  for (const std::int64_t num_blocks : {9, 12, 16, 24, 200}) {
    INFO(num_blocks << " blocks");
    const Engine engine = served(num_blocks, 30);
    CHECK(engine.answers().size() == 60);  // of 30 requests with 1, 2 or 3 samples
    for (const Answer& answer : engine.answers()) {
      INFO("request " << answer.request << ", sample " << answer.sample);
      CHECK(answer.status == Status::ok());
      CHECK(answer.tokens == without_cache(request(answer.request), answer.sample));
    }
    CHECK(engine.num_copies() > 0);
    CHECK(engine.manager().statistics().hit_tokens > 0);
    CHECK(engine.manager().num_sequences() == 0);
    CHECK(engine.manager().states().used == TokenCount(0));
    preemptions += engine.num_preemptions();
    if (num_blocks == 200) CHECK(engine.num_preemptions() == 0);
  }
  CHECK(preemptions > 0);
}

TEST_CASE("a request too large for the whole pool is answered with the blocks it needs") {
  const Engine engine = served(4, 3);
  CHECK(engine.answers().size() == 6);
  for (const Answer& answer : engine.answers()) {
    CHECK(answer.status.code() == StatusCode::kExhausted);
    CHECK_THAT(answer.status.message(), ContainsSubstring("resume: needs 1 blocks besides"));
  }
  CHECK(engine.manager().num_sequences() == 0);
}

TEST_CASE("invalid requests and engine options are refused by name") {
  Engine engine = Engine::create(options(20), {}).value();
  Request long_prompt = request(0);
  long_prompt.prompt.resize(40);
  CHECK(engine.submit(long_prompt) ==
        Status::invalid_input("engine: tokens of the prompt = 40; expected 1 to 39"));
  long_prompt.prompt.resize(39);
  long_prompt.num_outputs = 1;
  CHECK(engine.submit(long_prompt) == Status::ok());
  Request empty;
  CHECK(engine.submit(empty) ==
        Status::invalid_input("engine: tokens of the prompt = 0; expected 1 to 39"));
  Request many = request(0);
  many.num_samples = 7;
  CHECK(engine.submit(many) == Status::invalid_input("engine: num_samples = 7; expected 1 to 6"));
  CHECK(Engine::create(options(20), {.max_rows = 0}).status().code() == StatusCode::kInvalidInput);
  CHECK(Engine::create(options(20), {.max_chunk = 0}).status().code() == StatusCode::kInvalidInput);
  CacheOptions two_groups = options(20);
  two_groups.groups.resize(2);
  CHECK(Engine::create(two_groups, {}).status() ==
        Status::invalid_input("engine: number of groups = 2; expected 1 to 1"));
}

}  // namespace
}  // namespace recto::cache::example
