// What is done to K and V before attention, against an implementation that is not ours: rounding to
// fp8 and writing into caches bit for bit, rotary embedding to thirty digits.

#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_ops.h"
#include "reference/rotary.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

using Json = nlohmann::json;

Json cases_of(const std::string& operation) {
  std::ifstream file("reference/golden/operations/" + operation + ".json");
  REQUIRE(file.is_open());
  return Json::parse(file).at("cases");
}

ElementType type_named(const std::string& name) {
  for (const ElementType type : kElementTypes) {
    if (name == element_type_name(type)) return type;
  }
  FAIL("no type " << name);
  return {};
}

KvLayout layout_named(const std::string& name) {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    if (name == kv_layout_name(layout)) return layout;
  }
  FAIL("no layout " << name);
  return {};
}

std::vector<std::byte> bytes_of(const Json& lines) {
  std::vector<std::byte> bytes;
  for (const std::string digits : lines) {
    for (std::size_t i = 0; i < digits.size(); i += 2) {
      unsigned value = 0;
      REQUIRE(std::from_chars(&digits[i], &digits[i] + 2, value, 16).ptr == &digits[i] + 2);
      bytes.push_back(static_cast<std::byte>(value));
    }
  }
  return bytes;
}

TEST_CASE("fp8 caches store the golden codes") {
  const Json cases = cases_of("fp8_rounding");
  for (const ElementType type : {ElementType::kE4m3, ElementType::kE5m2}) {
    const Json& rows = cases.at(element_type_name(type));
    CHECK(rows.size() > 400);
    for (const Json& row : rows) {
      const auto x = std::bit_cast<float>(row.at(0).get<std::uint32_t>());
      const auto scale = std::bit_cast<float>(row.at(1).get<std::uint32_t>());
      INFO(x << " / " << scale << " in " << type);
      CHECK(encode_fp8(x, scale, type) == row.at(2).get<std::uint32_t>());
    }
  }
}

// K or V of one write.
struct WrittenTensor {
  std::vector<std::byte> source;
  std::vector<std::byte> pool;
  std::vector<std::byte> expected;
  std::vector<float> scales;
  RowsView rows;
  MutableKvTensorView view;

  WrittenTensor(const Json& write, const Json& tensor)
      : source(bytes_of(tensor.at("source"))),
        pool(bytes_of(tensor.at("before"))),
        expected(bytes_of(tensor.at("after"))),
        scales(tensor.at("scales").get<std::vector<float>>()) {
    const std::int64_t heads = write.at("num_kv_heads");
    const std::int64_t head_dim = tensor.at("head_dim");
    rows = {.data = source.data(),
            .type = type_named(write.at("source_type")),
            .num_rows = std::ssize(write.at("slot_mapping")),
            .num_heads = heads,
            .head_dim = head_dim,
            .row_stride = heads * head_dim,
            .head_stride = head_dim};
    view = {.data = pool.data(),
            .type = type_named(write.at("cache_type")),
            .layout = layout_named(write.at("layout")),
            .num_blocks = write.at("num_blocks"),
            .block_size = write.at("block_size"),
            .num_kv_heads = heads,
            .head_dim = head_dim,
            .block_stride = tensor.at("block_stride"),
            .head_stride = tensor.at("head_stride"),
            .slot_stride = tensor.at("slot_stride"),
            .pack_width = tensor.value("pack_width", std::int64_t{0}),
            .pack_stride = tensor.value("pack_stride", std::int64_t{0}),
            .scale = {.kind = scales.empty()       ? ScaleKind::kNone
                              : scales.size() == 1 ? ScaleKind::kPerTensor
                                                   : ScaleKind::kPerKvHead,
                      .data = scales.empty() ? nullptr : scales.data()}};
  }
  WrittenTensor(const WrittenTensor&) = delete;
  WrittenTensor& operator=(const WrittenTensor&) = delete;
};

TEST_CASE("written caches hold the golden bytes, and nothing else has changed") {
  std::size_t writes = 0;
  for (const Json& write : cases_of("kv_write")) {
    INFO(write.at("layout") << ", " << write.at("source_type") << " into "
                            << write.at("cache_type"));
    WrittenTensor k(write, write.at("k"));
    WrittenTensor v(write, write.at("v"));
    const auto slots = write.at("slot_mapping").get<std::vector<std::int64_t>>();
    CHECK(k.pool != k.expected);
    write_kv({.k = k.rows, .v = v.rows, .slot_mapping = slots, .kv = {.k = k.view, .v = v.view}});
    CHECK(k.pool == k.expected);
    CHECK(v.pool == v.expected);
    ++writes;
  }
  CHECK(writes >= 8);
}

// docs/numerics.md, "Rotary embedding": what fp64 itself errs by, of a pair (x, y) at this angle.
double own_error(double x, double y, double angle, double base) {
  return ((std::log(base) + 4) * std::abs(angle) + 5) * 0x1p-53 * (std::abs(x) + std::abs(y));
}

TEST_CASE("rotated rows are the golden ones, within what fp64 errs by") {
  std::size_t elements = 0;
  for (const Json& golden : cases_of("rotary")) {
    const Json& from = golden.at("rows");
    Matrix rows(std::ssize(from), std::ssize(from.at(0)));
    for (std::int64_t r = 0; r < rows.rows(); ++r) {
      for (std::int64_t d = 0; d < rows.cols(); ++d)
        rows(r, d) = from.at(static_cast<std::size_t>(r)).at(static_cast<std::size_t>(d));
    }
    const RotaryOptions options{.pairing = golden.at("pairing") == "halves"
                                               ? RotaryPairing::kHalves
                                               : RotaryPairing::kInterleaved,
                                .rotary_dim = golden.at("rotary_dim"),
                                .base = golden.at("base")};
    const std::int64_t first = golden.at("first_position");
    const Matrix rotated = rotate(rows, first, options);
    for (std::int64_t r = 0; r < rows.rows(); ++r) {
      for (std::int64_t d = 0; d < rows.cols(); ++d, ++elements) {
        INFO(golden.at("pairing") << " at " << first + r << ", dim " << d);
        const std::string text =
            golden.at("expected").at(static_cast<std::size_t>(r)).at(static_cast<std::size_t>(d));
        const long double exact = std::strtold(text.c_str(), nullptr);
        const auto error = static_cast<double>(std::abs(rotated(r, d) - exact));
        if (d >= options.rotary_dim) {
          CHECK(error == 0);
          continue;
        }
        // No pair's angle is larger than the position, no partner than the row's largest.
        CHECK(error <= own_error(rows.row(r).cwiseAbs().maxCoeff(), rows(r, d),
                                 static_cast<double>(first + r), options.base));
      }
    }
  }
  CHECK(elements >= 100);
}

}  // namespace
}  // namespace recto::reference
