// Tests of the golden-case reader: the resulting views, and the refusal of each kind of damage.

#include "reference/testing/golden_case.h"

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "bazel/testing/catch.h"

namespace recto::reference {
namespace {

std::string text_of(const std::string& name) {
  std::ifstream file("reference/golden/" + name + ".json");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("A slice of a buffer of layers points into the one buffer") {
  Result<GoldenCase> read = parse_golden_case(text_of("slice_of_layers"), "slice_of_layers.json");
  REQUIRE(read.is_ok());
  const GoldenCase golden = std::move(read).value();
  REQUIRE(golden.memory->buffers.size() == 1);
  REQUIRE(golden.attention);
  CHECK_FALSE(golden.decode);
  // [num_blocks, 2, 3 layers, block_size 4, 2 heads, 16 dims] of fp16, layer 1.
  const PagedKvView& kv = golden.attention->kv;
  const std::byte* base = golden.memory->buffers[0].data();
  CHECK(static_cast<const std::byte*>(kv.k.data) - base == 2 * (1 * 4 * 2 * 16));
  CHECK(static_cast<const std::byte*>(kv.v.data) - base == 2 * (4 * 4 * 2 * 16));
  CHECK(kv.v.block_stride == 2 * 3 * 4 * 2 * 16);
  CHECK(kv.v.slot_stride == 2 * 16);
  CHECK(golden.memory->buffers[0].size() ==
        static_cast<std::size_t>(2 * kv.k.num_blocks * kv.k.block_stride));
  CHECK(golden.out.size() == 3 * 4 * 16);
  CHECK(golden.lse_ln.size() == 3 * 4);
}

TEST_CASE("Options and scales are read as they are written") {
  Result<GoldenCase> read = parse_golden_case(text_of("decode_step_fp8_cache"), "x.json");
  REQUIRE(read.is_ok());
  REQUIRE(read.value().decode);
  const DecodeStepInputs& inputs = *read.value().decode;
  CHECK(inputs.options.scale == 0.25F);
  CHECK_FALSE(inputs.options.window);
  CHECK(inputs.kv.k.layout == KvLayout::kPacked);
  CHECK(inputs.kv.k.scale.kind == ScaleKind::kPerKvHead);
  CHECK(inputs.kv.k.scale.data[1] == 1.3F);
  CHECK(inputs.kv.v.scale.kind == ScaleKind::kPerTensor);
  CHECK(inputs.cached_length[1] == 4);
  CHECK(inputs.new_k.type == ElementType::kFp16);
}

TEST_CASE("Damage is refused, with the file's name and what was found") {
  struct Damage {
    const char* from;
    const char* to;
    const char* message;
  };
  const Damage damages[] = {
      {"", "", ""},
      {"\"fp32\"", "\"fp31\"", "type 'fp31'"},
      {"token-major", "minor", "layout 'minor'"},
      {"paged_attention", "attention", "operation 'attention'"},
      {"\"buffer\": 1", "\"buffer\": 2", "buffer 2"},
      {"\"bytes\": [\"", "\"bytes\": [\"x", "bytes 'x"},
      {"\"bytes\": [\"", "\"bytes\": [\"0", "bytes '0"},
      {"\"0.", "\"O.", "number 'O."},
      {"\"causal\": true", "\"causal\": 1", "must be boolean"},
      {"\"slot_stride\"", "\"slot_strife\"", "'slot_stride' not found"},
      {"{", "", "parse error"},
  };
  for (const Damage& damage : damages) {
    INFO(damage.from << " -> " << damage.to);
    std::string text = text_of("decode_without_options");
    const std::string from = damage.from;
    const std::size_t where = text.find(from);
    REQUIRE(where != std::string::npos);
    text.replace(where, from.size(), damage.to);
    const Result<GoldenCase> read = parse_golden_case(text, "x.json");
    CHECK(read.is_ok() == from.empty());
    if (from.empty()) continue;
    CHECK_THAT(read.status().message(), Catch::Matchers::ContainsSubstring("x.json: "));
    CHECK_THAT(read.status().message(), Catch::Matchers::ContainsSubstring(damage.message));
  }
}

TEST_CASE("A folder without cases is refused") {
  CHECK(load_golden_cases("reference/golden").is_ok());
  CHECK_FALSE(load_golden_cases("reference/nowhere").is_ok());
  CHECK_FALSE(load_golden_cases("reference").is_ok());
}

}  // namespace
}  // namespace recto::reference
