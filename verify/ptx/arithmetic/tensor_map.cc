#include "verify/ptx/arithmetic/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "verify/ptx/arithmetic/rounding.h"

namespace recto::ptx {
namespace {

constexpr std::uint64_t kStrideEnd = std::uint64_t{1} << 40;
constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 32;
constexpr std::uint32_t kStepMax = 8;
constexpr std::uint64_t kMagic = 0x70616d2d6f746372;

// Sizes up to 2^32 are stored less 1, so that the map fits.
struct StoredMap {
  std::uint64_t magic;
  std::uint64_t global_address;
  std::uint64_t strides[kTensorRankMax];
  std::uint32_t sizes_less_one[kTensorRankMax];
  std::uint16_t box[kTensorRankMax];
  std::uint8_t steps[kTensorRankMax];
  std::uint8_t element;
  std::uint8_t fill;
  std::uint8_t swizzle;
  std::uint8_t rank;
};
static_assert(sizeof(StoredMap) <= sizeof(TensorMapBytes));
static_assert(std::is_trivially_copyable_v<StoredMap>);

bool is_float(TensorElement element) {
  return element == TensorElement::kF16 || element == TensorElement::kF32 ||
         element == TensorElement::kF64 || element == TensorElement::kBf16;
}

Status refused(const std::string& argument, std::uint64_t value, const std::string& expected) {
  return Status::invalid_input("tensor map: " + argument + " = " + std::to_string(value) +
                               "; expected " + expected);
}

std::string at(const char* argument, int i) {
  return std::string(argument) + "[" + std::to_string(i) + "]";
}

Status checked_dimension(const TensorMap& map, int i) {
  const auto d = static_cast<std::size_t>(i);
  if (map.sizes[d] == 0 || map.sizes[d] > kSizeMax) {
    return refused(at("globalDim", i), map.sizes[d], "1 to 2^32");
  }
  if (map.box[d] == 0 || map.box[d] > kTensorBoxMax) {
    return refused(at("boxDim", i), map.box[d], "1 to 256");
  }
  if (i == 0) return Status::ok();
  if (map.strides[d] % 16 != 0 || map.strides[d] >= kStrideEnd) {
    return refused(at("globalStrides", i - 1), map.strides[d], "a multiple of 16 below 2^40");
  }
  if (map.steps[d] == 0 || map.steps[d] > kStepMax) {
    return refused(at("elementStrides", i), map.steps[d], "1 to 8");
  }
  return Status::ok();
}

// Elements of a box in a dimension.
std::uint32_t count(const TensorMap& map, std::size_t dimension) {
  if (dimension == 0) return map.box[0];
  const std::uint32_t step = map.steps[dimension];
  return (map.box[dimension] + step - 1) / step;
}

std::uint32_t line_bytes(const TensorMap& map) { return map.box[0] * element_bytes(map.element); }

}  // namespace

std::uint32_t element_bytes(TensorElement element) {
  switch (element) {
    case TensorElement::kU8:
      return 1;
    case TensorElement::kU16:
    case TensorElement::kF16:
    case TensorElement::kBf16:
      return 2;
    case TensorElement::kU32:
    case TensorElement::kS32:
    case TensorElement::kF32:
      return 4;
    case TensorElement::kU64:
    case TensorElement::kS64:
    case TensorElement::kF64:
      return 8;
  }
  return 0;
}

Status checked(const TensorMap& map) {
  if (map.rank < 1 || map.rank > kTensorRankMax) {
    return refused("tensorRank", static_cast<std::uint64_t>(map.rank), "1 to 5");
  }
  if (map.global_address % 16 != 0) {
    return refused("globalAddress", map.global_address, "a multiple of 16");
  }
  for (int i = 0; i < map.rank; ++i) {
    if (Status status = checked_dimension(map, i); !status.is_ok()) return status;
  }
  const std::uint32_t bytes = line_bytes(map);
  if (bytes % 16 != 0) {
    return refused("boxDim[0] in bytes", bytes, "a multiple of 16");
  }
  const std::uint32_t width = swizzle_bytes(map.swizzle);
  if (map.swizzle != Swizzle::kNone && bytes > width) {
    return refused("boxDim[0] in bytes", bytes, "at most the swizzle's " + std::to_string(width));
  }
  if (map.swizzle != Swizzle::kNone && bytes < width && map.rank > 1) {
    return refused("boxDim[0] in bytes", bytes,
                   "the swizzle's " + std::to_string(width) + " (shorter lines are not supported)");
  }
  if (map.fill == TensorFill::kNan && !is_float(map.element)) {
    return Status::invalid_input("tensor map: oobFill is NaN; expected zero for integers");
  }
  return Status::ok();
}

Result<TensorMapBytes> encode_tiled(const TensorMap& map) {
  RECTO_RETURN_IF_ERROR(checked(map));
  StoredMap stored = {};
  stored.magic = kMagic;
  stored.global_address = map.global_address;
  for (std::size_t i = 0; i < kTensorRankMax; ++i) {
    stored.strides[i] = map.strides[i];
    stored.sizes_less_one[i] = static_cast<std::uint32_t>(map.sizes[i] - 1);
    stored.box[i] = static_cast<std::uint16_t>(map.box[i]);
    stored.steps[i] = static_cast<std::uint8_t>(map.steps[i]);
  }
  stored.element = static_cast<std::uint8_t>(map.element);
  stored.fill = static_cast<std::uint8_t>(map.fill);
  stored.swizzle = static_cast<std::uint8_t>(map.swizzle);
  stored.rank = static_cast<std::uint8_t>(map.rank);
  TensorMapBytes bytes = {};
  std::memcpy(bytes.bytes.data(), &stored, sizeof stored);
  return bytes;
}

Result<TensorMap> decoded_tensor_map(const TensorMapBytes& bytes) {
  StoredMap stored;
  std::memcpy(&stored, bytes.bytes.data(), sizeof stored);
  if (stored.magic != kMagic || stored.element > static_cast<unsigned>(TensorElement::kBf16) ||
      stored.fill > static_cast<unsigned>(TensorFill::kNan) ||
      stored.swizzle > static_cast<unsigned>(Swizzle::k128Bytes)) {
    return Status::invalid_input("tensor map: the 128 bytes are not an encoded map");
  }
  TensorMap map = {.element = static_cast<TensorElement>(stored.element),
                   .fill = static_cast<TensorFill>(stored.fill),
                   .swizzle = static_cast<Swizzle>(stored.swizzle),
                   .rank = stored.rank,
                   .global_address = stored.global_address};
  for (std::size_t i = 0; i < kTensorRankMax; ++i) {
    map.strides[i] = stored.strides[i];
    // A dimension beyond the rank has size 0, which wraps.
    const auto size_less_one = stored.sizes_less_one[i];
    map.sizes[i] = i < stored.rank ? std::uint64_t{size_less_one} + 1 : 0;
    map.box[i] = stored.box[i];
    map.steps[i] = stored.steps[i];
  }
  if (Status status = checked(map); !status.is_ok()) return status;
  return map;
}

std::uint32_t box_bytes(const TensorMap& map) {
  std::uint32_t bytes = line_bytes(map);
  for (int i = 1; i < map.rank; ++i) bytes *= count(map, static_cast<std::size_t>(i));
  return bytes;
}

std::vector<BoxLine> box_lines(const TensorMap& map,
                               const std::array<std::int32_t, kTensorRankMax>& coordinates) {
  const std::uint32_t bytes = line_bytes(map);
  const auto element = static_cast<std::int64_t>(element_bytes(map.element));
  // The innermost dimension is the same in all lines.
  const auto clamped = [&](std::int64_t elements) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(elements * element, 0, bytes));
  };
  const std::int64_t first = coordinates[0];
  const std::uint32_t begin = clamped(-first);
  const std::uint32_t end = clamped(static_cast<std::int64_t>(map.sizes[0]) - first);
  std::vector<BoxLine> lines(box_bytes(map) / bytes);
  for (std::uint32_t i = 0; i < lines.size(); ++i) {
    std::uint64_t address = map.global_address + static_cast<std::uint64_t>(first * element);
    bool is_inside = begin < end;
    std::uint32_t rest = i;
    for (std::size_t d = 1; d < static_cast<std::size_t>(map.rank); ++d) {
      const std::int64_t at_step = rest % count(map, d) * map.steps[d];
      rest /= count(map, d);
      const std::int64_t coordinate = coordinates[d] + at_step;
      is_inside &= coordinate >= 0 && coordinate < static_cast<std::int64_t>(map.sizes[d]);
      address += static_cast<std::uint64_t>(coordinate) * map.strides[d];
    }
    lines[i] = {.shared_offset = i * bytes,
                .global_address = address,
                .begin = is_inside ? begin : 0,
                .end = is_inside ? end : 0};
  }
  return lines;
}

std::uint64_t fill_pattern(const TensorMap& map) {
  if (map.fill == TensorFill::kZero) return 0;
  switch (map.element) {
    case TensorElement::kF32:
      return kNan32;
    case TensorElement::kF64:
      return kNan64;
    default:
      return kF16.nan();  // and of bf16
  }
}

}  // namespace recto::ptx
