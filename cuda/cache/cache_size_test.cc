#include "cuda/cache/cache_size.h"

#include <limits>
#include <string>

#include "bazel/testing/catch.h"

namespace recto::cache {
namespace {

// Four layers of one head: a token takes 2 * 4 * 16 * 2 bytes, a block of 16 tokens 4096.
CacheSizeRequest small_request() {
  CacheSizeRequest request;
  request.model.name = "small";
  request.model.num_layers = 4;
  request.model.num_q_heads = 1;
  request.model.num_kv_heads = 1;
  request.model.head_dim = 16;
  request.gpu.name = "card";
  request.gpu.memory = ByteCount(1'000'000);
  request.pool.memory_utilization = 0.5;
  request.pool.reserve = ByteCount(50'000);
  request.weights = ByteCount(150'000);
  return request;
}

TEST_CASE("a card without room for a block of each group is refused with the figures") {
  CacheSizeRequest request = small_request();
  for (const std::int64_t weights : {450'001, 450'000 - 4095}) {
    request.weights = ByteCount(weights);
    CHECK(size_cache(request).status() ==
          Status::exhausted("cache size: small on card: of 500000 usable bytes, weights take " +
                            std::to_string(weights) +
                            " and the reserve 50000, which leaves no room for 1 blocks of 4096, "
                            "one for each group"));
  }
  request.weights = ByteCount(450'000 - 4096);
  CHECK(size_cache(request).value().num_blocks == BlockCount(1));
  request.weights = ByteCount(std::numeric_limits<std::int64_t>::max());
  CHECK(size_cache(request).status().code() == StatusCode::kExhausted);
}

TEST_CASE("the memory left by weights and reserve is divided into blocks") {
  CacheSizeRequest request = small_request();
  request.host_memory = ByteCount(12'287);
  const CacheSize size = size_cache(request).value();
  CHECK(size.block_bytes == ByteCount(2 * 4 * 16 * 2 * 16));
  CHECK(size.num_blocks == BlockCount(300'000 / 4096));
  CHECK(size.remainder_bytes == ByteCount(300'000 % 4096));
  CHECK(size.host_blocks == BlockCount(2));
  CHECK(size.max_tokens == TokenCount(73 * 16));
}

TEST_CASE("the cache's size agrees with the sizing of pools, whose weights are the model's") {
  CacheSizeRequest request;
  request.model = find_model("llama-3.1-8b").value();
  request.gpu = find_gpu("a100-80").value();
  for (const std::int64_t ranks : {1, 2, 8}) {
    request.pool.shape.tensor_parallel = ranks;
    const PoolSize pool = size_pool(request.model, request.gpu, request.pool).value();
    const CacheSize size = size_cache(request).value();
    CHECK(size.num_blocks == pool.blocks);
    CHECK(size.block_bytes == pool.block_bytes);
    CHECK(size.remainder_bytes == pool.remainder_bytes);
  }
}

TEST_CASE("blocks of several groups are smaller, and a sequence needs one in each group") {
  CacheSizeRequest request = small_request();
  request.num_groups = 4;
  const CacheSize size = size_cache(request).value();
  CHECK(size.block_bytes == ByteCount(1024));
  CHECK(size.num_blocks == BlockCount(300'000 / 1024));
  CHECK(size.max_tokens == TokenCount(292 / 4 * 16));
}

TEST_CASE("invalid requests are refused by name") {
  const auto refusal = [](auto change) {
    CacheSizeRequest request = small_request();
    change(request);
    return size_cache(request).status();
  };
  using R = CacheSizeRequest;
  CHECK(refusal([](R& r) { r.num_groups = 3; }) ==
        Status::invalid_input("cache size: number of groups = 3; expected a divisor of the 4 "
                              "layers of small"));
  CHECK(refusal([](R& r) { r.num_groups = 0; }).code() == StatusCode::kInvalidInput);
  CHECK(refusal([](R& r) { r.weights = ByteCount(-1); }) ==
        Status::invalid_input("cache size: weight bytes = -1; expected 0 or more"));
  CHECK(refusal([](R& r) { r.host_memory = ByteCount(-1); }).code() == StatusCode::kInvalidInput);
  CHECK(refusal([](R& r) { r.pool.reserve = ByteCount(-1); }).code() == StatusCode::kInvalidInput);
  CHECK(refusal([](R& r) { r.pool.memory_utilization = 1.1; }).code() == StatusCode::kInvalidInput);
  CHECK(refusal([](R& r) { r.pool.shape.block_size = TokenCount(0); }).code() ==
        StatusCode::kInvalidInput);
  CHECK(refusal([](R& r) { r.model.num_layers = 0; }) ==
        Status::invalid_input("cache size: model 'small', field 'num_layers': 0; expected 1 to "
                              "10000"));
  CHECK(refusal([](R& r) { r.model.num_kv_heads = 0; }) ==
        Status::invalid_input("cache size: model 'small', field 'num_kv_heads': 0; expected 1 to "
                              "10000"));
  CHECK(refusal([](R& r) { r.model.head_dim = 0; }) ==
        Status::invalid_input("cache size: model 'small', field 'head_dim': 0; expected 1 to "
                              "10000"));
  CHECK(refusal([](R& r) { r.gpu.memory = ByteCount(0); }) ==
        Status::invalid_input("cache size: GPU 'card', field 'memory': 0; expected 1 to "
                              "1000000000000000 bytes"));
  // The weights are given in bytes, or computed from the model.
  CHECK(refusal([](R& r) { r.weights.reset(); }) ==
        Status::invalid_input("cache size: model 'small', field 'parameter_count': 0; expected 1 "
                              "to 1000000000000000"));
  CHECK(size_cache({}).status().code() == StatusCode::kInvalidInput);
}

}  // namespace
}  // namespace recto::cache
