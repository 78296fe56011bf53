#pragma once

// Addresses of a warp's lanes, and loads of all of them at once. Compiled once for each instruction
// set, as lane_loops.h.

#include <cstring>

#include "verify/ptx/lanes/lane_loops.h"
#include "verify/ptx/lanes/lane_tables.h"

namespace recto::ptx {
namespace {

// Whether all lanes take part.
enum class Lanes : std::uint8_t { kAll, kSome };

// Sums and differences wrap; what is wrong with an address shows in the sign.
[[gnu::always_inline]] inline std::uint64_t fault(std::uint64_t address,
                                                  const AddressRange& range) {
  const std::uint64_t inside = address - range.begin;
  return inside | (range.last - inside) | (0 - (address & range.alignment_mask)) | range.last;
}

template <Lanes kWhich, typename Base>
bool resolve(const Base* base, const AddressRange& range, std::uint64_t origin, LaneMask lanes,
             std::uint64_t* __restrict addresses) {
  const auto offset = static_cast<Base>(range.offset);
  const std::uint64_t any = static_cast<Base>(base[__builtin_ctz(lanes)] + offset);
  std::uint64_t faults = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const std::uint64_t own = static_cast<Base>(base[lane] + offset);
    const std::uint64_t address = kWhich == Lanes::kAll || (lanes >> lane & 1) != 0 ? own : any;
    faults |= fault(address, range);
    addresses[lane] = origin + address;
  }
  return faults >> 63 == 0;
}

bool resolve_addresses(const std::byte* base, const AddressRange& range, std::uint64_t origin,
                       LaneMask lanes, std::uint64_t* addresses) {
  const void* const row = __builtin_assume_aligned(base, 64);
  const auto* const wide = static_cast<const std::uint64_t*>(row);
  const auto* const narrow = static_cast<const std::uint32_t*>(row);
  if (lanes == kAllLanes) {
    return range.width == 8 ? resolve<Lanes::kAll>(wide, range, origin, lanes, addresses)
                            : resolve<Lanes::kAll>(narrow, range, origin, lanes, addresses);
  }
  return range.width == 8 ? resolve<Lanes::kSome>(wide, range, origin, lanes, addresses)
                          : resolve<Lanes::kSome>(narrow, range, origin, lanes, addresses);
}

AddressExtent extent_of(const std::uint64_t* addresses) {
  AddressExtent extent{addresses[0], addresses[0], 0};
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const std::uint64_t address = addresses[lane];
    extent.low = address < extent.low ? address : extent.low;
    extent.high = address > extent.high ? address : extent.high;
    extent.bits |= address;
  }
  return extent;
}

// Whether each lane's address is `step` bytes behind that of the lane before.
bool are_even(const std::uint64_t* addresses, std::uint64_t step) {
  if (addresses[kWarpSize - 1] - addresses[0] != step * (kWarpSize - 1)) return false;
  std::uint64_t uneven = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    uneven |= addresses[lane] ^ (addresses[0] + lane * step);
  }
  return uneven == 0;
}

template <typename Word>
Word* row_at(std::byte* registers, ValuePlace place) {
  return static_cast<Word*>(
      __builtin_assume_aligned(reinterpret_cast<Word*>(registers + place), 64));
}

template <typename Word>
void load_uniform_words(std::byte* registers, const Word* from, const LoadShape& shape) {
  for (unsigned i = 0; i < shape.count; ++i) {
    Word* const row = row_at<Word>(registers, shape.places[i]);
    const Word word = from[i];
    for (unsigned lane = 0; lane < kWarpSize; ++lane) row[lane] = word;
  }
}

void load_uniform(std::byte* registers, std::uint64_t address, const LoadShape& shape) {
  switch (shape.width) {
    case 2:
      return load_uniform_words(registers, reinterpret_cast<std::uint16_t*>(address), shape);
    case 4:
      return load_uniform_words(registers, reinterpret_cast<std::uint32_t*>(address), shape);
    default:
      return load_uniform_words(registers, reinterpret_cast<std::uint64_t*>(address), shape);
  }
}

template <typename Word, unsigned kCount>
void load_contiguous(std::byte* registers, const Word* from, const LoadShape& shape) {
  Word* rows[kCount];
  for (unsigned i = 0; i < kCount; ++i) rows[i] = row_at<Word>(registers, shape.places[i]);
    // Registers are apart from the memory that kernels see.
#pragma GCC ivdep
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    for (unsigned i = 0; i < kCount; ++i) rows[i][lane] = from[lane * kCount + i];
  }
}

template <typename Word>
void load_scattered(std::byte* registers, const std::uint64_t* addresses, const LoadShape& shape) {
  for (unsigned i = 0; i < shape.count; ++i) {
    Word* const row = row_at<Word>(registers, shape.places[i]);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      row[lane] = reinterpret_cast<const Word*>(addresses[lane])[i];
    }
  }
}

// Two matrices of 4 x 4, side by side; passed by reference, because not all machines have registers
// for them.
using Eight = std::uint32_t __attribute__((vector_size(32)));
[[gnu::always_inline]] inline void interleave(const Eight& a, const Eight& b, Eight* to) {
  to[0] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
  to[1] = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}

// Four words of 32 bits from each lane: those of four lanes are a matrix, of which two are
// transposed at a time.
void load_fours(std::byte* registers, const std::uint64_t* addresses, const ValuePlace* places) {
  using Four = std::uint32_t __attribute__((vector_size(16)));
  for (unsigned lane = 0; lane < kWarpSize; lane += 8) {
    Eight in[4];
    for (unsigned i = 0; i < 4; ++i) {
      Four low;
      Four high;
      std::memcpy(&low, reinterpret_cast<const std::byte*>(addresses[lane + i]), sizeof(Four));
      std::memcpy(&high, reinterpret_cast<const std::byte*>(addresses[lane + i + 4]), sizeof(Four));
      in[i] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    }
    Eight even[2];
    Eight uneven[2];
    Eight out[4];
    interleave(in[0], in[2], even);
    interleave(in[1], in[3], uneven);
    interleave(even[0], uneven[0], out);
    interleave(even[1], uneven[1], out + 2);
    for (unsigned i = 0; i < 4; ++i) {
      std::memcpy(registers + places[i] + sizeof(std::uint32_t) * lane, &out[i], sizeof(Eight));
    }
  }
}

template <typename Word>
void load_words(std::byte* registers, const std::uint64_t* addresses, const LoadShape& shape) {
  const Word* const first = reinterpret_cast<const Word*>(addresses[0]);
  if (are_even(addresses, 0)) return load_uniform(registers, addresses[0], shape);
  if (are_even(addresses, shape.count * sizeof(Word))) {
    if (shape.count == 1) return load_contiguous<Word, 1>(registers, first, shape);
    if (shape.count == 2) return load_contiguous<Word, 2>(registers, first, shape);
    if (shape.count == 4) return load_contiguous<Word, 4>(registers, first, shape);
  }
  if (sizeof(Word) == 4 && shape.count == 4) return load_fours(registers, addresses, shape.places);
  load_scattered<Word>(registers, addresses, shape);
}

void load_all_lanes(std::byte* registers, const std::uint64_t* addresses, const LoadShape& shape) {
  switch (shape.width) {
    case 2:
      return load_words<std::uint16_t>(registers, addresses, shape);
    case 4:
      return load_words<std::uint32_t>(registers, addresses, shape);
    default:
      return load_words<std::uint64_t>(registers, addresses, shape);
  }
}

template <typename Base>
bool are_equal(const Base* base) {
  if (base[0] != base[kWarpSize - 1]) return false;
  Base apart = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) apart |= base[lane] ^ base[0];
  return apart == 0;
}

// Many addresses are the same for all lanes: one look at it is enough.
template <typename Base>
bool load_from(std::byte* registers, const Base* base, const AddressRange& range,
               std::uint64_t origin, const LoadShape& shape) {
  alignas(64) std::uint64_t addresses[kWarpSize];
  if (are_equal(base)) {
    const std::uint64_t address = static_cast<Base>(base[0] + static_cast<Base>(range.offset));
    if (fault(address, range) >> 63 != 0) return false;
    load_uniform(registers, origin + address, shape);
    return true;
  }
  if (!resolve<Lanes::kAll>(base, range, origin, kAllLanes, addresses)) return false;
  load_all_lanes(registers, addresses, shape);
  return true;
}

bool load(std::byte* registers, ValuePlace base, const AddressRange& range, std::uint64_t origin,
          const LoadShape& shape) {
  return range.width == 8
             ? load_from(registers, row_at<std::uint64_t>(registers, base), range, origin, shape)
             : load_from(registers, row_at<std::uint32_t>(registers, base), range, origin, shape);
}

}  // namespace
}  // namespace recto::ptx
