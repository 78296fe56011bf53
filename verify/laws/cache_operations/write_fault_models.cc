#include "verify/laws/cache_operations/write_fault_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "reference/kv_cache_ops.h"

namespace recto::verify {
namespace {

using Slots = std::vector<std::int64_t>;

constexpr std::size_t kPartsShown = 16;
constexpr std::size_t kTokensMin = 8;  // a grid's limit is a power of two, at least this

class WriteTrial {
 public:
  WriteTrial(const KvWriteInputs& write, const PagedKvView& kv, const WrittenPools& pools)
      : write_(write), kv_(kv), pools_(pools) {}

  const KvWriteInputs& write() const { return write_; }
  Slots slots() const { return {write_.slot_mapping.begin(), write_.slot_mapping.end()}; }
  std::int64_t num_slots() const { return kv_.k.num_blocks * kv_.k.block_size; }

  // The pools after a write of these rows, slots and scales.
  KvPools after(KvWriteInputs wrong) const {
    KvPools pools = pools_.before;
    MutablePagedKvView views = pools.over(kv_);
    views.k.scale = wrong.kv.k.scale;
    views.v.scale = wrong.kv.v.scale;
    wrong.kv = views;
    reference::write_kv(wrong);
    return pools;
  }
  KvPools after(const Slots& slots) const {
    KvWriteInputs wrong = write_;
    wrong.slot_mapping = slots;
    return after(wrong);
  }

  bool explains(const KvPools& faulty) {
    if (are_same_codes(faulty, pools_.expected, kv_, NanCodes::kAnyOfFp8)) return false;
    ++report_.tried;
    return are_same_codes(faulty, pools_.seen, kv_, NanCodes::kAnyOfFp8);
  }
  void name(const std::string& what) { report_.fitting.push_back(what); }
  void add(const std::string& what, const KvPools& faulty) {
    if (explains(faulty)) name(what);
  }

  FaultReport take() {
    const auto written = std::ranges::count_if(write_.slot_mapping, [](auto s) { return s >= 0; });
    if (written == 1 && !report_.fitting.empty()) report_.weak = "only one token is written";
    return std::move(report_);
  }

 private:
  const KvWriteInputs& write_;
  const PagedKvView& kv_;
  const WrittenPools& pools_;
  FaultReport report_;
};

// Moves each token with a slot to the slot that `find` returns; outside the pool nothing is
// written.
KvPools moved(const WriteTrial& trial, const std::function<std::int64_t(std::int64_t own)>& find) {
  Slots slots = trial.slots();
  for (std::int64_t& slot : slots) {
    if (slot < 0) continue;
    const std::int64_t found = find(slot);
    slot = found >= 0 && found < trial.num_slots() ? found : -1;
  }
  return trial.after(slots);
}

// If several tokens share a slot, the first or the last wins. The slot's own token hides the fault.
bool takes_padding_for(WriteTrial& trial, std::int64_t slot) {
  const Slots own = trial.slots();
  const auto is_padding = [](std::int64_t token) { return token == -1; };
  const auto first = std::ranges::find_if(own, is_padding) - own.begin();
  const auto last = own.rend() - std::find_if(own.rbegin(), own.rend(), is_padding) - 1;
  bool fits = false;
  for (const auto winner : {first, last}) {
    Slots slots = own;
    std::ranges::replace(slots, slot, std::int64_t{-1});
    slots[static_cast<std::size_t>(winner)] = slot;
    fits = trial.explains(trial.after(slots)) || fits;
    if (first == last) break;
  }
  return fits;
}

void add_padding(WriteTrial& trial) {
  const Slots own = trial.slots();
  const auto first = std::ranges::find(own, -1);
  if (first == own.end()) return;
  Slots slots = own;
  std::fill(slots.begin() + (first - own.begin()), slots.end(), -1);
  trial.add("tokens after the first slot -1 are not written", trial.after(slots));
  if (takes_padding_for(trial, 0)) trial.name("tokens of slot -1 are written to slot 0");
  if (takes_padding_for(trial, trial.num_slots() - 1))
    trial.name("tokens of slot -1 are written to the last slot of the pool");
  slots.clear();
  std::ranges::copy_if(own, std::back_inserter(slots), [](auto slot) { return slot >= 0; });
  slots.resize(own.size(), -1);
  trial.add("rows of K and V are counted without those of slot -1", trial.after(slots));
}

void add_places(WriteTrial& trial) {
  const std::int64_t block_size = trial.write().kv.k.block_size;
  struct Place {
    const char* what;
    std::function<std::int64_t(std::int64_t)> find;
  };
  const Place places[] = {
      {"each token is written to the slot after its own", [](auto own) { return own + 1; }},
      {"each token is written to the slot before its own", [](auto own) { return own - 1; }},
      {"each token is written to the same slot of the block after its own",
       [=](auto own) { return own + block_size; }},
      {"each token is written to the same slot of the block before its own",
       [=](auto own) { return own - block_size; }},
      {"each token is written to the first slot of its block",
       [=](auto own) { return own / block_size * block_size; }},
      {"each token is written to its slot of the first block",
       [=](auto own) { return own % block_size; }}};
  for (const auto& [what, find] : places) trial.add(what, moved(trial, find));
}

void add_counts(WriteTrial& trial) {
  const Slots own = trial.slots();
  const auto first_of = [&](std::size_t count) {
    Slots slots = own;
    std::fill(slots.begin() + static_cast<std::ptrdiff_t>(count), slots.end(), -1);
    return trial.after(slots);
  };
  trial.add("nothing is written", first_of(0));
  const std::size_t last = own.size() - 1;
  for (std::size_t count = kTokensMin; count < last; count *= 2)
    trial.add(fmt::format("only the first {} tokens are written", count), first_of(count));
  if (last > 0) trial.add("the last token is not written", first_of(last));
}

void add_tensors(WriteTrial& trial) {
  const KvWriteInputs& write = trial.write();
  const KvPools right = trial.after(write);
  const KvPools none = trial.after(Slots(write.slot_mapping.size(), -1));
  trial.add("K is not written", {.k = none.k, .v = right.v});
  trial.add("V is not written", {.k = right.k, .v = none.v});
  if (write.k.head_dim != write.v.head_dim) return;
  KvWriteInputs exchanged = write;
  std::swap(exchanged.k, exchanged.v);
  const KvPools other = trial.after(exchanged);
  trial.add("K and V are exchanged", other);
  trial.add("K is written in place of V, too", {.k = right.k, .v = other.v});
  trial.add("V is written in place of K, too", {.k = other.k, .v = right.v});
}

void add_scales(WriteTrial& trial) {
  const KvScale k = trial.write().kv.k.scale;
  const KvScale v = trial.write().kv.v.scale;
  const auto scaled = [&](const KvScale& of_k, const KvScale& of_v) {
    KvWriteInputs wrong = trial.write();
    wrong.kv.k.scale = of_k;
    wrong.kv.v.scale = of_v;
    return trial.after(wrong);
  };
  if (k.kind == ScaleKind::kNone && v.kind == ScaleKind::kNone) return;
  trial.add("K's scale is left out", scaled({}, v));
  trial.add("V's scale is left out", scaled(k, {}));
  trial.add("the scales of K and V are left out", scaled({}, {}));
  trial.add("the scales of K and V are exchanged", scaled(v, k));
}

}  // namespace

std::string slots_text(std::span<const std::int64_t> slot_mapping) {
  std::string text;
  std::size_t parts = 0;
  std::size_t at = 0;
  while (at < slot_mapping.size() && parts < kPartsShown) {
    const std::int64_t first = slot_mapping[at];
    std::size_t end = at + 1;
    const auto continues = [&] {
      const auto steps = static_cast<std::int64_t>(end - at);
      return slot_mapping[end] == (first < 0 ? first : first + steps);
    };
    while (end < slot_mapping.size() && continues()) ++end;
    if (first >= 0 && end - at == 2) end = at + 1;
    text += parts++ == 0 ? "" : ", ";
    text += std::to_string(first);
    if (first < 0 && end - at > 1) text += fmt::format(" ({} times)", end - at);
    if (first >= 0 && end - at > 1) text += fmt::format(" to {}", slot_mapping[end - 1]);
    at = end;
  }
  if (at < slot_mapping.size()) text += fmt::format(" and {} more", slot_mapping.size() - at);
  return fmt::format("slots      of {} {}: {}\n", slot_mapping.size(),
                     slot_mapping.size() == 1 ? "token" : "tokens", text);
}

FaultReport try_write_fault_models(const KvWriteInputs& write, const PagedKvView& kv,
                                   const WrittenPools& pools) {
  if (const std::int64_t codes = num_codes(pools.seen, kv); codes > kFaultModelCodesMax) {
    return {.left_out = {fmt::format("faults of writes: {} codes in the pools, more than {}", codes,
                                     kFaultModelCodesMax)}};
  }
  WriteTrial trial(write, kv, pools);
  if (write.slot_mapping.empty()) return trial.take();
  add_padding(trial);
  add_places(trial);
  add_counts(trial);
  add_tensors(trial);
  add_scales(trial);
  return trial.take();
}

}  // namespace recto::verify
