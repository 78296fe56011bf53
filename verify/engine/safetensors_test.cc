#include "verify/engine/safetensors.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/engine/safetensors_test_file.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using Shape = std::vector<std::int64_t>;

std::string entry(const std::string& name, const std::string& type, const std::string& shape,
                  const std::string& offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{}]}})", name, type, shape,
                     offsets);
}

Status status_of(const std::string& header, const std::string& data) {
  return SafetensorsFile::parse("file", safetensors_bytes(header, data)).status();
}

TEST_CASE("tensors of each type are read") {
  const std::string header =
      "{" + entry("f32", "F32", "2", "0,8") + "," + entry("f16", "F16", "1,2", "8,12") + "," +
      entry("bf16", "BF16", "", "12,14") + "," + entry("e4m3", "F8_E4M3", "1", "14,15") + "," +
      entry("e5m2", "F8_E5M2", "1", "15,16") + R"(,"__metadata__":{"format":"pt"}})";
  const std::string data = bytes_of({1.5F, -2.0F}) + std::string("\x00\x3c\x00\xc0", 4) +
                           std::string("\x80\x3f", 2) + "\x38" + "\x3c";
  const auto file = SafetensorsFile::parse("file", safetensors_bytes(header + "  ", data));
  REQUIRE(file.status() == Status::ok());
  CHECK(file.value().entries().size() == 5);
  CHECK(file.value().values("f32", Shape{2}).value() == std::vector{1.5, -2.0});
  CHECK(file.value().values("f16", Shape{1, 2}).value() == std::vector{1.0, -2.0});
  CHECK(file.value().values("bf16", Shape{}).value() == std::vector{1.0});
  CHECK(file.value().values("e4m3", Shape{1}).value() == std::vector{1.0});
  CHECK(file.value().values("e5m2", Shape{1}).value() == std::vector{1.0});
}

TEST_CASE("a tensor that is missing, or has another shape or type, is refused") {
  const std::string header =
      "{" + entry("a", "F32", "2", "0,8") + "," + entry("b", "I64", "1", "8,16") + "}";
  const auto file =
      SafetensorsFile::parse("file", safetensors_bytes(header, std::string(16, '\0')));
  REQUIRE(file.status() == Status::ok());
  CHECK(file.value().values("c", Shape{2}).status().message() ==
        "file: tensor \"c\": expected, but missing");
  CHECK(file.value().values("a", Shape{1, 2}).status().message() ==
        "file: tensor \"a\": shape [2]; expected [1, 2]");
  CHECK(file.value().values("b", Shape{1}).status().message() ==
        "file: tensor \"b\": dtype I64; expected F32, F16, BF16, F8_E4M3 or F8_E5M2");
}

TEST_CASE("a length beyond the file is refused, and one up to its end is not") {
  CHECK(SafetensorsFile::parse("file", "1234567").status().message() ==
        "file: 7 bytes; expected the header's length in the first 8");
  CHECK(SafetensorsFile::parse("file", safetensors_bytes("{}", "")).status() == Status::ok());
  std::string bytes = safetensors_bytes("{}", "");
  bytes[0] = 3;
  CHECK(SafetensorsFile::parse("file", bytes).status().message() ==
        "file: header length = 3; expected at most 2, the bytes after it or the format's limit");
  bytes[7] = '\xff';
  CHECK(SafetensorsFile::parse("file", bytes).status().code() == StatusCode::kInvalidInput);
}

struct WrongHeader {
  std::string header;
  std::string message;
};

TEST_CASE("headers that are not right are refused by name") {
  const std::string data(8, '\0');
  CHECK(status_of("{" + entry("a", "F32", "2", "0,8") + "}", data) == Status::ok());
  const std::vector<WrongHeader> headers = {
      {"[]", "file: header: expected a JSON object"},
      {"{", "file: header: expected a JSON object"},
      {"{" + entry("\xff", "F32", "2", "0,8") + "}", "file: header: expected a JSON object"},
      {"{" + entry("\\ud800", "F32", "2", "0,8") + "}", "file: header: expected a JSON object"},
      {std::string(100'000, '['), "file: header: expected a JSON object"},
      {R"({"a":1})", "file: tensor \"a\": expected an object"},
      {R"({"a":{"dtype":"F32","shape":[2]}})",
       "file: tensor \"a\": data_offsets: expected, but missing"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})",
       "file: tensor \"a\": expected dtype, shape and data_offsets, and nothing else"},
      {"{" + entry("a", "F33", "2", "0,8") + "}",
       "file: tensor \"a\": dtype: expected a type of the format, such as \"F32\""},
      {"{" + entry("a", "F32", "-2", "0,8") + "}",
       "file: tensor \"a\": shape: expected numbers of elements from 0 to 2^63 - 1"},
      {"{" + entry("a", "F32", "2.0", "0,8") + "}",
       "file: tensor \"a\": shape: expected numbers of elements from 0 to 2^63 - 1"},
      {"{" + entry("a", "F32", "18446744073709551616", "0,8") + "}",
       "file: tensor \"a\": shape: expected numbers of elements from 0 to 2^63 - 1"},
      {"{" + entry("a", "F32", "0,18446744073709551615", "0,8") + "}",
       "file: tensor \"a\": shape: expected numbers of elements from 0 to 2^63 - 1"},
      {"{" + entry("a", "F32", "2", "0,18446744073709551615") + "}",
       "file: tensor \"a\": data_offsets: expected two numbers of bytes"},
      {"{" + entry("a", "F32", "2", "0,9223372036854775807") + "}",
       "file: tensor \"a\": data_offsets: 0 to 9223372036854775807; expected an ascending pair "
       "within the 8 bytes of data"},
      {"{" + entry("a", "F32", "2", "0,8,9") + "}",
       "file: tensor \"a\": data_offsets: expected two numbers of bytes"},
      {"{" + entry("a", "F32", "2", "1,9") + "}",
       "file: tensor \"a\": data_offsets: 1 to 9; expected an ascending pair within the 8 bytes of "
       "data"},
      {"{" + entry("a", "F32", "2", "8,0") + "}",
       "file: tensor \"a\": data_offsets: 8 to 0; expected an ascending pair within the 8 bytes of "
       "data"},
      {"{" + entry("a", "F32", "3", "0,8") + "}",
       "file: tensor \"a\": data_offsets: 8 bytes; expected 12 for F32 of shape [3]"},
      {"{" + entry("a", "F32", "4294967296,4294967296", "0,8") + "}",
       "file: tensor \"a\": data_offsets: 8 bytes; expected 2^63 or more for F32 of shape "
       "[4294967296, 4294967296]"},
      {"{" + entry("a", "F32", "1", "0,4") + "," + entry("a", "F32", "1", "4,8") + "}",
       "file: header: \"a\" is given twice; expected once"},
      {"{" + entry("a", "F32", "2", "0,8") + "," + entry("b", "F32", "1", "4,8") + "}",
       "file: tensor \"b\": begins at byte 4; expected 8, the end of the tensor before"},
      {"{" + entry("a", "F32", "1", "4,8") + "}",
       "file: tensor \"a\": begins at byte 4; expected 0, the end of the tensor before"},
      {"{" + entry("a", "F32", "1", "0,4") + "}",
       "file: 8 bytes of data; expected 4, the end of the last tensor"}};
  for (const WrongHeader& wrong : headers) {
    INFO(wrong.header);
    const Status status = status_of(wrong.header, data);
    CHECK(status.code() == StatusCode::kInvalidInput);
    CHECK(status.message() == wrong.message);
  }
}

TEST_CASE("files with any byte changed, or cut off anywhere, are read or refused") {
  const std::string right = safetensors_bytes(
      "{" + entry("a", "F32", "2", "0,8") + "," + entry("b", "F16", "2,1", "8,12") + "}",
      std::string(12, '\1'));
  RandomStream stream(1);
  std::int64_t refused = 0;
  for (std::size_t at = 0; at < right.size(); ++at) {
    CHECK_FALSE(SafetensorsFile::parse("file", right.substr(0, at)).is_ok());
    for (int i = 0; i < 20; ++i) {
      std::string bytes = right;
      bytes[at] = static_cast<char>(stream.next_below(256));
      const auto file = SafetensorsFile::parse("file", bytes);
      refused += file.is_ok() ? 0 : 1;
      if (!file.is_ok()) continue;
      for (const auto& [name, found] : file.value().entries()) {
        static_cast<void>(file.value().values(name, found.shape).status());
      }
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("files are read from disk, and one that does not exist is named") {
  CHECK(SafetensorsFile::read("no/such.safetensors").status().message() ==
        "no/such.safetensors: No such file or directory; expected a safetensors file");
  CHECK(SafetensorsFile::read("/dev/zero").status().message() ==
        "/dev/zero: expected a file, found a device, whose data may never end; expected a "
        "safetensors "
        "file");
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/a.safetensors";
  SafetensorsText text;
  text.add("a", "2", {1.0F, 2.0F});
  std::ofstream(path, std::ios::binary) << text.bytes();
  const auto file = SafetensorsFile::read(path);
  REQUIRE(file.status() == Status::ok());
  CHECK(file.value().values("a", Shape{2}).value() == std::vector{1.0, 2.0});
  std::remove(path.c_str());
}

ModelShape small_shape() {
  return {.vocabulary = 3,
          .hidden = 2,
          .layers = 1,
          .num_q_heads = 2,
          .num_kv_heads = 1,
          .head_dim = 2,
          .ffn = 3,
          .has_qk_norm = true};
}

std::vector<float> floats(const double* values, std::int64_t count) {
  return {values, values + count};
}

void add(SafetensorsText& text, const std::string& name, const Matrix& matrix) {
  text.add(name, fmt::format("{},{}", matrix.rows(), matrix.cols()),
           floats(matrix.data(), matrix.size()));
}
void add(SafetensorsText& text, const std::string& name, const reference::Vector& vector) {
  text.add(name, fmt::format("{}", vector.size()), floats(vector.data(), vector.size()));
}

SafetensorsText file_of(const ModelWeights& weights) {
  SafetensorsText text;
  add(text, "model.embed_tokens.weight", weights.embedding);
  const LayerWeights& layer = weights.layers.front();
  const std::string name = "model.layers.0.";
  add(text, name + "input_layernorm.weight", layer.attention_norm);
  add(text, name + "self_attn.q_proj.weight", layer.q);
  add(text, name + "self_attn.k_proj.weight", layer.k);
  add(text, name + "self_attn.v_proj.weight", layer.v);
  add(text, name + "self_attn.q_norm.weight", layer.q_norm);
  add(text, name + "self_attn.k_norm.weight", layer.k_norm);
  add(text, name + "self_attn.o_proj.weight", layer.o);
  add(text, name + "post_attention_layernorm.weight", layer.ffn_norm);
  add(text, name + "mlp.gate_proj.weight", layer.gate);
  add(text, name + "mlp.up_proj.weight", layer.up);
  add(text, name + "mlp.down_proj.weight", layer.down);
  add(text, "model.norm.weight", weights.final_norm);
  return text;
}

SafetensorsFile parsed(const SafetensorsText& text) {
  return SafetensorsFile::parse("file", text.bytes()).value();
}

TEST_CASE("written weights are read back, with an output head of their own or without") {
  const ModelWeights weights = drawn_weights(small_shape(), {.seed = 3});
  SafetensorsText text = file_of(weights);
  const ModelWeights tied = weights_of(parsed(text), small_shape()).value();
  CHECK(tied.head == weights.embedding);
  add(text, "lm_head.weight", weights.head);
  const ModelWeights read = weights_of(parsed(text), small_shape()).value();
  CHECK(read.head == weights.head);
  CHECK(read.embedding == weights.embedding);
  CHECK(read.final_norm == weights.final_norm);
  const LayerWeights& layer = read.layers.front();
  const LayerWeights& written = weights.layers.front();
  CHECK(layer.q == written.q);
  CHECK(layer.k == written.k);
  CHECK(layer.v == written.v);
  CHECK(layer.o == written.o);
  CHECK(layer.q_norm == written.q_norm);
  CHECK(layer.k_norm == written.k_norm);
  CHECK(layer.attention_norm == written.attention_norm);
  CHECK(layer.ffn_norm == written.ffn_norm);
  CHECK(layer.gate == written.gate);
  CHECK(layer.up == written.up);
  CHECK(layer.down == written.down);
}

TEST_CASE("a shape that the file does not have is refused by the tensor that differs") {
  const SafetensorsFile file = parsed(file_of(drawn_weights(small_shape(), {.seed = 3})));
  ModelShape shape = small_shape();
  shape.ffn = 4;
  CHECK(weights_of(file, shape).status().message() ==
        "file: tensor \"model.layers.0.mlp.gate_proj.weight\": shape [3, 2]; expected [4, 2]");
  shape = small_shape();
  shape.layers = 2;
  CHECK(weights_of(file, shape).status().message() ==
        "file: tensor \"model.layers.1.input_layernorm.weight\": expected, but missing");
  shape = small_shape();
  shape.num_q_heads = 3;
  shape.num_kv_heads = 2;
  CHECK(weights_of(file, shape).status().message() ==
        "model: num_q_heads = 3; expected a multiple of num_kv_heads, which is 2");
}

TEST_CASE("numbers that are not finite are refused") {
  ModelWeights weights = drawn_weights(small_shape(), {.seed = 3});
  weights.layers.front().v(1, 1) = std::numeric_limits<double>::quiet_NaN();
  CHECK(weights_of(parsed(file_of(weights)), small_shape()).status().message() ==
        "tensor \"model.layers.0.self_attn.v_proj.weight\": element 3 is nan; expected finite "
        "numbers");
}

}  // namespace
}  // namespace recto::verify
