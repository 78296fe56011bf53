#pragma once

// What is compiled for two instruction sets: all lane forms, and functions for the addresses of a
// warp.

#include <span>

#include "verify/ptx/lanes/step.h"

namespace recto::ptx {

// Addresses of accesses of `bytes` bytes each, and where they should be.
struct AddressRange {
  Width width = 8;  // of the row with the addresses
  std::uint64_t offset = 0;
  std::uint64_t begin = 0;
  std::uint64_t last = 0;  // the largest distance from `begin`, below 2^63
  std::uint32_t bytes = 0;
  std::uint64_t alignment_mask = 0;
};

struct AddressSummary {
  bool is_inside = false;
  bool is_aligned = false;
  bool is_uniform = false;
  bool is_contiguous = false;  // of all 32 lanes, in order and without gaps
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
  // Fills in the lanes' addresses; lanes outside the mask, which is not empty, get that of another.
  AddressSummary (*sum_up_addresses)(const std::byte* base, const AddressRange& range,
                                     LaneMask lanes, std::uint64_t* addresses) = nullptr;
  // Loads for all lanes. False if there is no such shape.
  bool (*load_all_lanes)(std::byte* registers, const std::uint64_t* addresses,
                         const AddressSummary& summary, const LoadShape& shape) = nullptr;
};

LaneTables portable_lane_tables();
// AVX2, FMA and F16C; empty on machines other than x86-64.
LaneTables avx2_lane_tables();

// The best for this machine.
const LaneTables& lane_tables();

}  // namespace recto::ptx
