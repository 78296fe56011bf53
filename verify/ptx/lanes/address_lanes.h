#pragma once

// Addresses of a warp's lanes, and loads of many of them at once. Compiled once for each
// instruction set, as lane_loops.h.

#include <cstring>

#include "verify/ptx/lanes/lane_loops.h"
#include "verify/ptx/lanes/lane_tables.h"

namespace recto::ptx {
namespace {

// Whether all lanes take part.
enum class Lanes : std::uint8_t { kAll, kSome };

// Sums and differences wrap; what is out of a range shows in a sign.
template <Lanes kWhich, typename Base>
AddressSummary sum_up(const Base* base, const AddressRange& range, LaneMask lanes,
                      std::uint64_t* addresses) {
  const auto offset = static_cast<Base>(range.offset);
  const auto first_lane = static_cast<unsigned>(__builtin_ctz(lanes));
  const std::uint64_t first = static_cast<Base>(base[first_lane] + offset);
  std::uint64_t outside = 0;
  std::uint64_t bits = 0;
  std::uint64_t apart = 0;
  std::uint64_t uneven = 0;
  std::uint64_t expected = first;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const std::uint64_t own = static_cast<Base>(base[lane] + offset);
    const std::uint64_t address = kWhich == Lanes::kAll || (lanes >> lane & 1) != 0 ? own : first;
    addresses[lane] = address;
    const std::uint64_t inside = address - range.begin;
    outside |= inside | (range.last - inside);
    bits |= address;
    apart |= address ^ first;
    uneven |= own ^ expected;
    expected += range.bytes;
  }
  return {(outside >> 63) == 0 && range.last >> 63 == 0, (bits & range.alignment_mask) == 0,
          apart == 0, uneven == 0 && lanes == kAllLanes};
}

AddressSummary sum_up_addresses(const std::byte* base, const AddressRange& range, LaneMask lanes,
                                std::uint64_t* addresses) {
  const void* const row = __builtin_assume_aligned(base, 64);
  const auto* const wide = static_cast<const std::uint64_t*>(row);
  const auto* const narrow = static_cast<const std::uint32_t*>(row);
  if (lanes == kAllLanes) {
    return range.width == 8 ? sum_up<Lanes::kAll>(wide, range, lanes, addresses)
                            : sum_up<Lanes::kAll>(narrow, range, lanes, addresses);
  }
  return range.width == 8 ? sum_up<Lanes::kSome>(wide, range, lanes, addresses)
                          : sum_up<Lanes::kSome>(narrow, range, lanes, addresses);
}

template <typename Word, unsigned kCount>
void load_contiguous(std::byte* registers, const std::byte* memory, const ValuePlace* places) {
  Word* rows[kCount];
  for (unsigned i = 0; i < kCount; ++i) {
    rows[i] = static_cast<Word*>(
        __builtin_assume_aligned(reinterpret_cast<Word*>(registers + places[i]), 64));
  }
  const Word* const from = reinterpret_cast<const Word*>(memory);
  // Registers are apart from the memory that kernels see.
#pragma GCC ivdep
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    for (unsigned i = 0; i < kCount; ++i) rows[i][lane] = from[lane * kCount + i];
  }
}

template <typename Word, unsigned kCount>
void load_scattered(std::byte* registers, const std::uint64_t* addresses,
                    const ValuePlace* places) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const Word* const from = reinterpret_cast<const Word*>(addresses[lane]);
    for (unsigned i = 0; i < kCount; ++i) {
      reinterpret_cast<Word*>(registers + places[i])[lane] = from[i];
    }
  }
}

template <typename Word>
void load_uniform(std::byte* registers, const std::byte* memory, const ValuePlace* places,
                  unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    Word* const row = static_cast<Word*>(
        __builtin_assume_aligned(reinterpret_cast<Word*>(registers + places[i]), 64));
    const Word word = reinterpret_cast<const Word*>(memory)[i];
    for (unsigned lane = 0; lane < kWarpSize; ++lane) row[lane] = word;
  }
}

template <typename Word>
bool load_words(std::byte* registers, const std::uint64_t* addresses, const AddressSummary& summary,
                const ValuePlace* places, unsigned count) {
  const auto* const memory = reinterpret_cast<const std::byte*>(addresses[0]);
  if (summary.is_uniform) {
    load_uniform<Word>(registers, memory, places, count);
    return true;
  }
  if (summary.is_contiguous) {
    switch (count) {
      case 1:
        load_contiguous<Word, 1>(registers, memory, places);
        return true;
      case 2:
        load_contiguous<Word, 2>(registers, memory, places);
        return true;
      case 4:
        load_contiguous<Word, 4>(registers, memory, places);
        return true;
      default:
        return false;
    }
  }
  switch (count) {
    case 1:
      load_scattered<Word, 1>(registers, addresses, places);
      return true;
    case 2:
      load_scattered<Word, 2>(registers, addresses, places);
      return true;
    case 4:
      load_scattered<Word, 4>(registers, addresses, places);
      return true;
    default:
      return false;
  }
}

bool load_all_lanes(std::byte* registers, const std::uint64_t* addresses,
                    const AddressSummary& summary, const LoadShape& shape) {
  switch (shape.width) {
    case 2:
      return load_words<std::uint16_t>(registers, addresses, summary, shape.places, shape.count);
    case 4:
      return load_words<std::uint32_t>(registers, addresses, summary, shape.places, shape.count);
    default:
      return load_words<std::uint64_t>(registers, addresses, summary, shape.places, shape.count);
  }
}

}  // namespace
}  // namespace recto::ptx
