#include "verify/cases/npz/npy_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <span>

#include "verify/cases/npz/npy_header.h"

namespace recto::verify {
namespace {

static_assert(std::endian::native == std::endian::little, "items are stored low byte first");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionBytes = 2;
constexpr std::size_t kAlignment = 64;

// The size of the field that holds the header's length.
std::optional<std::size_t> length_bytes(std::string_view version) {
  if (version == std::string_view("\x01\x00", kVersionBytes)) return 2;
  if (version == std::string_view("\x02\x00", kVersionBytes)) return 4;
  return std::nullopt;
}

std::size_t low_byte_first(std::string_view bytes) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    number |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return number;
}

// Nothing if the result does not fit 64 bits.
std::optional<std::int64_t> bytes_of(const NpyHeader& header) {
  if (std::ranges::find(header.shape, 0) != header.shape.end()) return 0;
  std::int64_t bytes = header.item_bytes;
  for (const std::int64_t size : header.shape) {
    if (bytes > std::numeric_limits<std::int64_t>::max() / size) return std::nullopt;
    bytes *= size;
  }
  return bytes;
}

// Reorders items whose first index varies fastest, so that the last one does.
std::vector<std::byte> in_c_order(const NpyHeader& header, std::span<const std::byte> items) {
  std::vector<std::byte> ordered(items.size());
  const std::size_t dimensions = header.shape.size();
  std::vector<std::int64_t> strides(dimensions);  // in items, of the array as it is stored
  std::int64_t stride = 1;
  for (std::size_t d = 0; d < dimensions; ++d) {
    strides[d] = stride;
    stride *= header.shape[d];
  }
  const auto bytes = static_cast<std::size_t>(header.item_bytes);
  std::vector<std::int64_t> index(dimensions);
  std::int64_t from = 0;
  for (std::size_t to = 0; to < items.size(); to += bytes) {
    std::copy_n(items.begin() + from * header.item_bytes, bytes,
                ordered.begin() + static_cast<std::ptrdiff_t>(to));
    for (std::size_t d = dimensions; d-- > 0;) {
      from += strides[d];
      if (++index[d] < header.shape[d]) break;
      from -= strides[d] * header.shape[d];
      index[d] = 0;
    }
  }
  return ordered;
}

}  // namespace

NpyArray make_npy_text(std::string_view text) {
  NpyArray array = make_npy_array<char32_t>(NpyType::kText, {}, {text.begin(), text.end()});
  array.item_bytes = std::ssize(array.data);
  return array;
}

std::string npy_bytes(const NpyArray& array) {
  std::string header = npy_header_text(array);
  const std::size_t before = kMagic.size() + kVersionBytes + 2;
  // The items begin aligned, after a line break.
  header.append(kAlignment - 1 - (before + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\x00';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
  return bytes;
}

Result<NpyArray> parse_npy(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return Status::invalid_input("expected the npy format, which begins with \\x93NUMPY");
  }
  bytes.remove_prefix(kMagic.size());
  const std::optional<std::size_t> length = length_bytes(bytes.substr(0, kVersionBytes));
  if (!length) return Status::invalid_input("version: expected 1.0 or 2.0 of the npy format");
  bytes.remove_prefix(kVersionBytes);
  const std::size_t header_bytes = low_byte_first(bytes.substr(0, *length));
  if (bytes.size() < *length || bytes.size() - *length < header_bytes) {
    return Status::invalid_input("header: expected it whole; the file ends within it");
  }
  const Result<NpyHeader> parsed = parse_npy_header(bytes.substr(*length, header_bytes));
  RECTO_RETURN_IF_ERROR(parsed.status());
  const NpyHeader& header = parsed.value();
  bytes.remove_prefix(*length + header_bytes);
  NpyArray array{.type = header.type, .item_bytes = header.item_bytes, .shape = header.shape};
  const std::optional<std::int64_t> expected = bytes_of(header);
  if (!expected || std::ssize(bytes) != *expected) {
    return Status::invalid_input(fmt::format("items: expected {} bytes for {}, found {}",
                                             expected ? std::to_string(*expected) : "2^63 or more",
                                             npy_array_text(array), bytes.size()));
  }
  const std::span<const std::byte> items = std::as_bytes(std::span(bytes));
  // Without items, the other sizes may be anything, and strides would overflow.
  if (header.is_fortran_order && header.shape.size() > 1 && !items.empty()) {
    array.data = in_c_order(header, items);
  } else {
    array.data.assign(items.begin(), items.end());
  }
  return array;
}

}  // namespace recto::verify
