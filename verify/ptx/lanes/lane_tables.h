#pragma once

// What is compiled for several instruction sets: all lane forms, and functions for the addresses of
// a warp.

#include <span>

#include "verify/ptx/lanes/step.h"

namespace recto::ptx {

// Where addresses should be.
struct AddressRange {
  Width width = 8;  // of the row with the addresses
  std::uint64_t offset = 0;
  std::uint64_t begin = 0;
  std::uint64_t last = 0;  // the largest distance from `begin`; nothing fits if it is negative
  std::uint64_t alignment_mask = 0;
};

struct AddressExtent {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t bits = 0;  // of all addresses
};

// Registers of `width` bytes that are loaded from elements of the same size.
struct LoadShape {
  Width width = 4;
  std::uint8_t count = 1;
  const ValuePlace* places = nullptr;  // [count]
};

struct LaneTables {
  // Forms, in no order.
  std::span<const LaneForm> integers;
  std::span<const LaneForm> floats;
  std::span<const LaneForm> conversions;
  std::span<const LaneForm> approximations;
  // Fills in the lanes' addresses, which begin at `origin`; lanes outside the mask, which is not
  // empty, get that of another. False if one is out of the range or misaligned.
  bool (*resolve_addresses)(const std::byte* base, const AddressRange& range, std::uint64_t origin,
                            LaneMask lanes, std::uint64_t* addresses) = nullptr;
  AddressExtent (*extent_of)(const std::uint64_t* addresses) = nullptr;
  void (*load_all_lanes)(std::byte* registers, const std::uint64_t* addresses,
                         const LoadShape& shape) = nullptr;
  // Both for all lanes. False, and nothing is loaded, if an address is wrong.
  bool (*load)(std::byte* registers, ValuePlace base, const AddressRange& range,
               std::uint64_t origin, const LoadShape& shape) = nullptr;
};

LaneTables portable_lane_tables();
// AVX2, FMA and F16C; AVX-512. Both are empty on machines other than x86-64.
LaneTables avx2_lane_tables();
LaneTables avx512_lane_tables();

// The best for this machine.
const LaneTables& lane_tables();

}  // namespace recto::ptx
