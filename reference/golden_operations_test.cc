// Tests the operations on K and V before attention against an independent implementation: fp8
// rounding and cache writes bit for bit, rotary embedding to thirty digits.

#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/json.h"
#include "reference/kv_cache_ops.h"
#include "reference/rotary.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

Json cases_of(const std::string& operation) {
  std::ifstream file("reference/golden/operations/" + operation + ".json");
  REQUIRE(file.is_open());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_json(text).value()["cases"];
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
  for (const auto& digits : lines.get<std::vector<std::string>>()) {
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
    const Json& rows = cases[element_type_name(type)];
    CHECK(rows.size() > 400);
    for (const Json& row : rows) {
      const auto x = std::bit_cast<float>(row[0].get<std::uint32_t>());
      const auto scale = std::bit_cast<float>(row[1].get<std::uint32_t>());
      INFO(x << " / " << scale << " in " << type);
      CHECK(encode_fp8(x, scale, type) == row[2].get<std::uint32_t>());
    }
  }
}

// The rows and pools of one write, for K or V.
struct WrittenTensor {
  std::vector<std::byte> source;
  std::vector<std::byte> pool;
  std::vector<std::byte> expected;
  std::vector<float> scales;
  RowsView rows;
  MutableKvTensorView view;

  WrittenTensor(const Json& write, const Json& tensor)
      : source(bytes_of(tensor["source"])),
        pool(bytes_of(tensor["before"])),
        expected(bytes_of(tensor["after"])),
        scales(tensor["scales"].get<std::vector<float>>()) {
    const auto heads = write["num_kv_heads"].get<std::int64_t>();
    const auto head_dim = tensor["head_dim"].get<std::int64_t>();
    rows = {.data = source.data(),
            .type = type_named(write["source_type"].get<std::string>()),
            .num_rows = std::ssize(write["slot_mapping"]),
            .num_heads = heads,
            .head_dim = head_dim,
            .row_stride = heads * head_dim,
            .head_stride = head_dim};
    view = {.data = pool.data(),
            .type = type_named(write["cache_type"].get<std::string>()),
            .layout = layout_named(write["layout"].get<std::string>()),
            .num_blocks = write["num_blocks"].get<std::int64_t>(),
            .block_size = write["block_size"].get<std::int64_t>(),
            .num_kv_heads = heads,
            .head_dim = head_dim,
            .block_stride = tensor["block_stride"].get<std::int64_t>(),
            .head_stride = tensor["head_stride"].get<std::int64_t>(),
            .slot_stride = tensor["slot_stride"].get<std::int64_t>(),
            .pack_width = tensor.value("pack_width", 0).get<std::int64_t>(),
            .pack_stride = tensor.value("pack_stride", 0).get<std::int64_t>(),
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
    INFO(write["layout"] << ", " << write["source_type"] << " into " << write["cache_type"]);
    WrittenTensor k(write, write["k"]);
    WrittenTensor v(write, write["v"]);
    const auto slots = write["slot_mapping"].get<std::vector<std::int64_t>>();
    CHECK(k.pool != k.expected);
    write_kv({.k = k.rows, .v = v.rows, .slot_mapping = slots, .kv = {.k = k.view, .v = v.view}});
    CHECK(k.pool == k.expected);
    CHECK(v.pool == v.expected);
    ++writes;
  }
  CHECK(writes >= 8);
}

// The error of fp64 itself for a pair (x, y) at this angle: docs/numerics.md, "Rotary embedding".
double own_error(double x, double y, double angle, double base) {
  return ((std::log(base) + 4) * std::abs(angle) + 5) * 0x1p-53 * (std::abs(x) + std::abs(y));
}

TEST_CASE("rotated rows match the golden ones within fp64's error") {
  std::size_t elements = 0;
  for (const Json& golden : cases_of("rotary")) {
    const Json& from = golden["rows"];
    Matrix rows(std::ssize(from), std::ssize(from[0]));
    for (std::int64_t r = 0; r < rows.rows(); ++r) {
      for (std::int64_t d = 0; d < rows.cols(); ++d)
        rows(r, d) = from[static_cast<std::size_t>(r)][static_cast<std::size_t>(d)].get<double>();
    }
    const RotaryOptions options{.pairing = golden["pairing"] == "halves"
                                               ? RotaryPairing::kHalves
                                               : RotaryPairing::kInterleaved,
                                .rotary_dim = golden["rotary_dim"].get<std::int64_t>(),
                                .base = golden["base"].get<double>()};
    const auto first = golden["first_position"].get<std::int64_t>();
    const Matrix rotated = rotate(rows, first, options);
    for (std::int64_t r = 0; r < rows.rows(); ++r) {
      for (std::int64_t d = 0; d < rows.cols(); ++d, ++elements) {
        INFO(golden["pairing"] << " at " << first + r << ", dim " << d);
        const Json& row = golden["expected"][static_cast<std::size_t>(r)];
        const auto text = row[static_cast<std::size_t>(d)].get<std::string>();
        const long double exact = std::strtold(text.c_str(), nullptr);
        const auto error = static_cast<double>(std::abs(rotated(r, d) - exact));
        if (d >= options.rotary_dim) {
          CHECK(error == 0);
          continue;
        }
        // No pair's angle exceeds the position, and no element exceeds the row's largest.
        CHECK(error <= own_error(rows.row(r).cwiseAbs().maxCoeff(), rows(r, d),
                                 static_cast<double>(first + r), options.base));
      }
    }
  }
  CHECK(elements >= 100);
}

}  // namespace
}  // namespace recto::reference
