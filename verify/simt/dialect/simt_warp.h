#pragma once

// The thread's place and its shared memory; warp-wide operations: shuffles, votes, matches,
// reductions, __syncwarp. Values and corner cases follow the CUDA C++ Programming Guide and the PTX
// ISA.

#include <bit>
#include <cstdint>
#include <cstring>

#include "verify/simt/executor/device_api.h"
#include "verify/simt/executor/unobserved.h"

#define RECTO_SIMT_SITE ::recto::simt::Site site = {__builtin_FILE(), __builtin_LINE()}

#define threadIdx (::recto::simt::current_thread->thread_index)
#define blockIdx (::recto::simt::current_thread->block_index)
#define blockDim (::recto::simt::current_thread->block_dim)
#define gridDim (::recto::simt::current_thread->grid_dim)
#define warpSize 32

// Declares type& name, a variable in the thread block's shared memory.
#define RECTO_SIMT_SHARED(name, type, alignment)                                  \
  static constinit const ::recto::simt::SharedVariable name##_shared_variable = { \
      #name, sizeof(type), alignment, {__FILE__, __LINE__}};                      \
  type& name = *static_cast<type*>(::recto::simt::device::shared_variable(name##_shared_variable))

namespace recto::simt::device {

RECTO_SIMT_UNOBSERVED inline unsigned lane() { return current_thread->linear % kWarpSize; }

template <typename Visit>
RECTO_SIMT_UNOBSERVED void for_each_lane(std::uint32_t mask, Visit visit) {
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    visit(static_cast<unsigned>(__builtin_ctz(left)));
  }
}

struct ShuffleRequest {
  std::uint64_t value = 0;  // before: the given value; after: the received one
  unsigned source = 0;
};

RECTO_SIMT_UNOBSERVED inline void combine_shuffle(void* const* payloads, std::uint32_t mask) {
  std::uint64_t taken[kWarpSize];
  for_each_lane(mask, [&](unsigned lane) RECTO_SIMT_UNOBSERVED {
    const unsigned source = static_cast<const ShuffleRequest*>(payloads[lane])->source;
    if ((mask >> source & 1) == 0) refuse_shuffle(lane, source);
    taken[lane] = static_cast<const ShuffleRequest*>(payloads[source])->value;
  });
  for_each_lane(mask, [&](unsigned lane) RECTO_SIMT_UNOBSERVED {
    static_cast<ShuffleRequest*>(payloads[lane])->value = taken[lane];
  });
}

inline constexpr Collective kShuffle = {"__shfl_sync", &combine_shuffle};
inline constexpr Collective kShuffleUp = {"__shfl_up_sync", &combine_shuffle};
inline constexpr Collective kShuffleDown = {"__shfl_down_sync", &combine_shuffle};
inline constexpr Collective kShuffleXor = {"__shfl_xor_sync", &combine_shuffle};

template <typename T>
RECTO_SIMT_UNOBSERVED T shuffle(std::uint32_t mask, T value, unsigned source,
                                const Collective& what, Site site) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t), "shuffles take at most 8 bytes");
  ShuffleRequest request{.source = source};
  __builtin_memcpy(&request.value, &value, sizeof value);
  collective(mask, &request, what, site);
  __builtin_memcpy(&value, &request.value, sizeof value);
  return value;
}

// The lanes within which a shuffle of `width` stays, from `begin` to `end`, both included.
struct Segment {
  unsigned lane;
  unsigned begin;
  unsigned end;
};
RECTO_SIMT_UNOBSERVED inline Segment segment(int width, Site site) {
  if (width < 1 || width > 32 || (width & (width - 1)) != 0) refuse_width(width, site);
  const unsigned others = static_cast<unsigned>(width) - 1;
  const unsigned own = lane();
  return {own, own & ~others, own | others};
}

struct VoteRequest {
  std::uint64_t value = 0;
  std::uint32_t result = 0;
};

RECTO_SIMT_UNOBSERVED inline VoteRequest& vote_of(void* const* payloads, unsigned lane) {
  return *static_cast<VoteRequest*>(payloads[lane]);
}

RECTO_SIMT_UNOBSERVED inline void combine_ballot(void* const* payloads, std::uint32_t mask) {
  std::uint32_t ballot = 0;
  for_each_lane(mask, [&](unsigned lane) RECTO_SIMT_UNOBSERVED {
    if (vote_of(payloads, lane).value != 0) ballot |= std::uint32_t{1} << lane;
  });
  for_each_lane(
      mask, [&](unsigned lane) RECTO_SIMT_UNOBSERVED { vote_of(payloads, lane).result = ballot; });
}

// result: the lanes that have this lane's value.
RECTO_SIMT_UNOBSERVED inline void combine_match(void* const* payloads, std::uint32_t mask) {
  for_each_lane(mask, [&](unsigned lane) RECTO_SIMT_UNOBSERVED {
    VoteRequest& own = vote_of(payloads, lane);
    own.result = 0;
    for_each_lane(mask, [&](unsigned other) RECTO_SIMT_UNOBSERVED {
      if (vote_of(payloads, other).value == own.value) own.result |= std::uint32_t{1} << other;
    });
  });
}

RECTO_SIMT_UNOBSERVED inline void combine_nothing(void* const*, std::uint32_t) {}

// Operation is a type with static std::uint32_t apply(std::uint32_t, std::uint32_t).
template <typename Operation>
RECTO_SIMT_UNOBSERVED void combine_reduction(void* const* payloads, std::uint32_t mask) {
  auto result = static_cast<std::uint32_t>(
      vote_of(payloads, static_cast<unsigned>(std::countr_zero(mask))).value);
  for_each_lane(mask & (mask - 1), [&](unsigned lane) RECTO_SIMT_UNOBSERVED {
    result = Operation::apply(result, static_cast<std::uint32_t>(vote_of(payloads, lane).value));
  });
  for_each_lane(
      mask, [&](unsigned lane) RECTO_SIMT_UNOBSERVED { vote_of(payloads, lane).result = result; });
}

inline constexpr Collective kBallot = {"__ballot_sync", &combine_ballot};
inline constexpr Collective kAny = {"__any_sync", &combine_ballot};
inline constexpr Collective kAll = {"__all_sync", &combine_ballot};
inline constexpr Collective kMatchAny = {"__match_any_sync", &combine_match};
inline constexpr Collective kWarpBarrier = {"__syncwarp", &combine_nothing, true};

RECTO_SIMT_UNOBSERVED inline std::uint32_t vote(std::uint32_t mask, std::uint64_t value,
                                                const Collective& what, Site site) {
  VoteRequest request{.value = value};
  collective(mask, &request, what, site);
  return request.result;
}

template <typename T>
RECTO_SIMT_UNOBSERVED std::uint64_t bits_of(T value) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}

}  // namespace recto::simt::device

template <typename T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, RECTO_SIMT_SITE) {
  const auto [lane, begin, end] = recto::simt::device::segment(width, site);
  const unsigned from = begin | (static_cast<unsigned>(source) & (end - begin));
  return recto::simt::device::shuffle(mask, value, from, recto::simt::device::kShuffle, site);
}

template <typename T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, RECTO_SIMT_SITE) {
  const auto [lane, begin, end] = recto::simt::device::segment(width, site);
  const unsigned from = lane - begin < delta ? lane : lane - delta;
  return recto::simt::device::shuffle(mask, value, from, recto::simt::device::kShuffleUp, site);
}

template <typename T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, RECTO_SIMT_SITE) {
  const auto [lane, begin, end] = recto::simt::device::segment(width, site);
  const unsigned from = end - lane < delta ? lane : lane + delta;
  return recto::simt::device::shuffle(mask, value, from, recto::simt::device::kShuffleDown, site);
}

template <typename T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, RECTO_SIMT_SITE) {
  const auto [lane, begin, end] = recto::simt::device::segment(width, site);
  const unsigned source = lane ^ static_cast<unsigned>(bits);
  const unsigned from = source > end ? lane : source;
  return recto::simt::device::shuffle(mask, value, from, recto::simt::device::kShuffleXor, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, RECTO_SIMT_SITE) {
  return recto::simt::device::vote(mask, predicate != 0, recto::simt::device::kBallot, site);
}

inline int __any_sync(unsigned mask, int predicate, RECTO_SIMT_SITE) {
  return recto::simt::device::vote(mask, predicate != 0, recto::simt::device::kAny, site) != 0;
}

inline int __all_sync(unsigned mask, int predicate, RECTO_SIMT_SITE) {
  // True if no participating lane has a false predicate.
  return recto::simt::device::vote(mask, predicate == 0, recto::simt::device::kAll, site) == 0;
}

template <typename T>
inline unsigned __match_any_sync(unsigned mask, T value, RECTO_SIMT_SITE) {
  return recto::simt::device::vote(mask, recto::simt::device::bits_of(value),
                                   recto::simt::device::kMatchAny, site);
}

inline void __syncwarp(unsigned mask = 0xffffffff, RECTO_SIMT_SITE) {
  recto::simt::device::collective(mask, nullptr, recto::simt::device::kWarpBarrier, site);
}

// The lanes that run together with this one: CUDA guarantees no more than the lane itself.
inline unsigned __activemask() { return 1U << recto::simt::device::lane(); }

#define RECTO_SIMT_REDUCTION(type, name, expression)                                               \
  namespace recto::simt::device {                                                                  \
  struct Reduce_##type##_##name {                                                                  \
    RECTO_SIMT_UNOBSERVED static std::uint32_t apply(std::uint32_t a_bits, std::uint32_t b_bits) { \
      const auto a = static_cast<type>(a_bits);                                                    \
      const auto b = static_cast<type>(b_bits);                                                    \
      return static_cast<std::uint32_t>(expression);                                               \
    }                                                                                              \
  };                                                                                               \
  }                                                                                                \
  inline type __reduce_##name##_sync(unsigned mask, type value, RECTO_SIMT_SITE) {                 \
    using Operation = ::recto::simt::device::Reduce_##type##_##name;                               \
    static constexpr ::recto::simt::Collective kReduce = {                                         \
        "__reduce_" #name "_sync", &::recto::simt::device::combine_reduction<Operation>};          \
    return static_cast<type>(                                                                      \
        ::recto::simt::device::vote(mask, static_cast<std::uint32_t>(value), kReduce, site));      \
  }

RECTO_SIMT_REDUCTION(unsigned, add, a + b)
RECTO_SIMT_REDUCTION(unsigned, min, a < b ? a : b)
RECTO_SIMT_REDUCTION(unsigned, max, a > b ? a : b)
RECTO_SIMT_REDUCTION(unsigned, and, (a & b))
RECTO_SIMT_REDUCTION(unsigned, or, (a | b))
RECTO_SIMT_REDUCTION(unsigned, xor, (a ^ b))
RECTO_SIMT_REDUCTION(int, min, a < b ? a : b)
RECTO_SIMT_REDUCTION(int, max, a > b ? a : b)
#undef RECTO_SIMT_REDUCTION

inline int __reduce_add_sync(unsigned mask, int value, RECTO_SIMT_SITE) {
  return static_cast<int>(__reduce_add_sync(mask, static_cast<unsigned>(value), site));
}

inline void __syncthreads(RECTO_SIMT_SITE) {
  recto::simt::device::block_barrier(recto::simt::BarrierReduction::kNone, 0, "__syncthreads",
                                     site);
}
inline int __syncthreads_count(int predicate, RECTO_SIMT_SITE) {
  return recto::simt::device::block_barrier(recto::simt::BarrierReduction::kCount, predicate,
                                            "__syncthreads_count", site);
}
inline int __syncthreads_and(int predicate, RECTO_SIMT_SITE) {
  return recto::simt::device::block_barrier(recto::simt::BarrierReduction::kAnd, predicate,
                                            "__syncthreads_and", site);
}
inline int __syncthreads_or(int predicate, RECTO_SIMT_SITE) {
  return recto::simt::device::block_barrier(recto::simt::BarrierReduction::kOr, predicate,
                                            "__syncthreads_or", site);
}
