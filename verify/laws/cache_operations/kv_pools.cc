#include "verify/laws/cache_operations/kv_pools.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/contract.h"
#include "core/element_type.h"
#include "reference/rounding.h"
#include "verify/laws/cache_operations/slot_contents.h"

namespace recto::verify {
namespace {

void change_codes(std::vector<std::byte>& pool) {
  for (std::byte& byte : pool) byte ^= std::byte{0x55};
}

std::uint32_t code_at(const std::vector<std::byte>& pool, std::int64_t element,
                      std::int64_t bytes) {
  std::uint32_t code = 0;
  std::memcpy(&code, pool.data() + element * bytes, static_cast<std::size_t>(bytes));
  return code;
}

std::string slot_text(const SlotPlace& place) {
  return fmt::format("block {}, slot {}, head {}", place.block, place.slot, place.head);
}

// Whether one code matches another.
class CodeMatch {
 public:
  CodeMatch(ElementType type, NanCodes nans)
      : type_(type), any_nan_(nans == NanCodes::kAnyOfFp8 && is_fp8(type)) {}

  bool operator()(std::uint32_t a, std::uint32_t b) const {
    return a == b || (any_nan_ && is_nan(a) && is_nan(b));
  }

 private:
  bool is_nan(std::uint32_t code) const { return std::isnan(reference::decode(code, type_)); }

  ElementType type_;
  bool any_nan_;
};

bool are_same(const std::vector<std::byte>& a, const std::vector<std::byte>& b, ElementType type,
              NanCodes nans) {
  if (a == b) return true;
  const CodeMatch matches(type, nans);
  const std::int64_t bytes = element_bytes(type);
  for (std::int64_t i = 0; i < std::ssize(a) / bytes; ++i)
    if (!matches(code_at(a, i, bytes), code_at(b, i, bytes))) return false;
  return true;
}

std::string differences(const char* name, const WrittenMemory& pool, const KvTensorView& cache,
                        NanCodes nans) {
  const std::int64_t bytes = element_bytes(cache.type);
  const CodeMatch matches(cache.type, nans);
  std::int64_t wrong = 0;
  std::string first;
  for (std::int64_t i = 0; i < std::ssize(pool.expected) / bytes; ++i) {
    const std::uint32_t wanted = code_at(pool.expected, i, bytes);
    const std::uint32_t got = code_at(pool.seen, i, bytes);
    if (matches(got, wanted)) continue;
    if (wrong++ > 0) continue;
    first = fmt::format("{}: seen {:#x}, expected {:#x}\n  {}", element_text(cache, i, slot_text),
                        got, wanted, found_instead(pool, cache, i, slot_text));
  }
  if (wrong == 0) return "";
  return fmt::format("{} of the pool of {} wrong, first in {}\n",
                     wrong == 1 ? "1 code" : fmt::format("{} codes", wrong),
                     fmt::format("{} {}", name, wrong == 1 ? "is" : "are"), first);
}

}  // namespace

std::int64_t num_codes(const KvPools& pools, const PagedKvView& kv) {
  return (std::ssize(pools.k) + std::ssize(pools.v)) / element_bytes(kv.k.type);
}

KvPools other_pools(const PagedKvView& kv) {
  KvPools pools = copied_pools(kv);
  change_codes(pools.k);
  change_codes(pools.v);
  return pools;
}

bool are_same_codes(const KvPools& a, const KvPools& b, const PagedKvView& kv, NanCodes nans) {
  RECTO_CHECK_EQ(a.k.size(), b.k.size());
  RECTO_CHECK_EQ(a.v.size(), b.v.size());
  return are_same(a.k, b.k, kv.k.type, nans) && are_same(a.v, b.v, kv.v.type, nans);
}

std::string pool_differences(const WrittenPools& pools, const PagedKvView& kv, NanCodes nans) {
  const auto& [before, expected, seen] = pools;
  for (const KvPools* other : {&before, &seen}) {
    RECTO_CHECK_EQ(other->k.size(), expected.k.size());
    RECTO_CHECK_EQ(other->v.size(), expected.v.size());
  }
  return differences("K", {before.k, expected.k, seen.k}, kv.k, nans) +
         differences("V", {before.v, expected.v, seen.v}, kv.v, nans);
}

}  // namespace recto::verify
