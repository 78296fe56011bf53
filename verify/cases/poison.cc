#include "verify/cases/poison.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/contract.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

std::uint32_t constant_code(Poison poison, ElementType type) {
  switch (poison) {
    case Poison::kZero:
    case Poison::kGarbage:  // drawn code by code
      return reference::encode(0.0, type);
    case Poison::kNaN:
      return reference::encode(std::numeric_limits<double>::quiet_NaN(), type);
    case Poison::kInfinity:
      return reference::encode(std::numeric_limits<double>::infinity(), type);
    case Poison::kTenThousand:
      return reference::encode(1e4, type, reference::Overflow::kSaturate);
  }
  RECTO_UNREACHABLE("every poison has a code");
}

static_assert(std::endian::native == std::endian::little, "codes are stored low byte first");

template <typename NextCode>
void fill_codes(std::span<std::byte> memory, ElementType type, const NextCode& next_code) {
  const auto bytes = static_cast<std::size_t>(element_bytes(type));
  for (std::size_t at = 0; at < memory.size(); at += bytes) {
    const std::uint32_t code = next_code();
    std::memcpy(memory.data() + at, &code, bytes);
  }
}

}  // namespace

PoisonCodes::PoisonCodes(Poison poison, ElementType type, const RandomStream& stream)
    : poison_(poison), type_(type), constant_(constant_code(poison, type)), stream_(stream) {}

std::uint32_t PoisonCodes::next_finite() {
  const std::int64_t spare_bits = 64 - 8 * element_bytes(type_);
  std::uint32_t code = 0;
  do {
    code = static_cast<std::uint32_t>(stream_.next_u64() >> spare_bits);
  } while (!std::isfinite(reference::decode(code, type_)));
  return code;
}

void fill_with(std::span<std::byte> memory, PoisonCodes codes) {
  fill_codes(memory, codes.type(), [&codes] { return codes.next(); });
}

void fill_with_units(std::span<std::byte> memory, ElementType type, RandomStream& stream) {
  fill_codes(memory, type, [&] { return reference::encode(2 * stream.next_unit() - 1, type); });
}

}  // namespace recto::verify
