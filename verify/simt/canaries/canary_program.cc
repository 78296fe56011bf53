// Runs one canary under several schedules, with its fault or without, and prints the findings.
// Exits with 0 if there are none, else with 1. Sanitizers end it in their own ways.
//
//   canary_program            the names of all canaries, and their faults
//   canary_program NAME wrong|right

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "verify/simt/canaries/canary.h"
#include "verify/simt/canaries/memory_watch.h"
#include "verify/simt/streams/schedule_sweep.h"

namespace recto::simt {
namespace {

// Memory with an exact end: in modes that watch memory, the memory beyond it belongs to no buffer.
class Memory final : public CanaryBench {
 public:
  explicit Memory(Executor& executor)
      : watch_(executor),
        runtime_(executor, {.order = HostOrder::kLate, .memory = watch_.memory()}) {}
  ~Memory() override {
    for (const auto& [data, bytes] : sparse_) munmap(data, bytes);
  }

  float* floats(const char* name, std::size_t count, BufferUse use) override {
    auto* data = allocate<float>(name, count, use);
    for (std::size_t i = 0; i < count; ++i) {
      data[i] = use == BufferUse::kReadOnly     ? static_cast<float>(i) + 0.5F
                : use == BufferUse::kWriteFirst ? std::numeric_limits<float>::quiet_NaN()
                                                : 0.0F;
    }
    return data;
  }

  int* ints(const char* name, std::size_t count, BufferUse use) override {
    auto* data = allocate<int>(name, count, use);
    for (std::size_t i = 0; i < count; ++i) {
      data[i] = use == BufferUse::kReadOnly ? static_cast<int>(i) : 0;
    }
    return data;
  }

  std::byte* sparse(const char* name, std::size_t bytes) override {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    sparse_.emplace_back(data, bytes);
    watch_.add({name, static_cast<std::byte*>(data), bytes, BufferUse::kReadOnly});
    return static_cast<std::byte*>(data);
  }

  void divide(const void* data, std::size_t piece_bytes, unsigned owners) override {
    watch_.divide(data, piece_bytes, owners);
  }

  void leave_unaddressed(float* data, std::size_t count) override {
    std::fill_n(data, count, std::numeric_limits<float>::quiet_NaN());
    watch_.taint(data, count * sizeof(float));
  }

  Stream* stream() override { return &stream_; }
  Stream* other_stream() override { return &other_stream_; }

  LaunchReport report() {
    runtime_.finish_all();
    return runtime_.report();
  }

  // The buffers that the kernel may have written, and whether they depend on unaddressed memory.
  std::vector<SweptOutput> outputs() const {
    std::vector<SweptOutput> all;
    for (const Output& output : outputs_) {
      all.push_back({output.name, kElementBytes, {output.data, output.data + output.bytes}});
    }
    return all;
  }
  std::string tainted_outputs(const char* kernel) const {
    std::string text;
    for (const Output& output : outputs_) {
      if (const auto first = watch_.first_tainted(output.data, output.bytes)) {
        text += fmt::format(
            "taint in kernel '{}': element {} of {} depends on memory that is not addressed\n",
            kernel, *first / kElementBytes, output.name);
      }
    }
    return text;
  }

 private:
  // The size of floats and of ints.
  static constexpr std::size_t kElementBytes = 4;

  struct Output {
    std::string name;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
  };

  // Each buffer is a heap allocation of its own, so that AddressSanitizer knows its end.
  template <typename T>
  T* allocate(const char* name, std::size_t count, BufferUse use) {
    const std::size_t bytes = count * sizeof(T);
    memory_.push_back(std::make_unique<std::byte[]>(bytes));
    std::byte* data = memory_.back().get();
    watch_.add({name, data, bytes, use});
    if (use != BufferUse::kReadOnly) outputs_.push_back({name, data, bytes});
    return reinterpret_cast<T*>(data);
  }

  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<std::pair<void*, std::size_t>> sparse_;
  std::vector<Output> outputs_;
  MemoryWatch watch_;
  HostRuntime runtime_;
  Stream stream_{runtime_};
  Stream other_stream_{runtime_};
};

// Each policy, without preemption and, where accesses are observed, also with it.
std::vector<Schedule> schedules(std::uint64_t seeds) {
  std::vector<Schedule> all = all_schedules(seeds);
  if (!MemoryWatch::observes_accesses()) return all;
  for (Schedule schedule : all_schedules(1)) {
    schedule.preemption_period = 5;
    all.push_back(schedule);
  }
  return all;
}

// All findings under all schedules, each kind once.
std::string everything_seen(const Canary& canary, Fault fault) {
  // No seed reproduces how thread blocks on several OS threads interact.
  const ExecutorOptions options{.os_threads = 1, .switches_max = 100000, .stall_seconds = 30};
  std::string tainted;
  const auto program_with = [&canary, &tainted](Fault planted) {
    return [&canary, &tainted, planted](Executor& executor) {
      Memory memory(executor);
      canary.run(memory, planted);
      SweptRun run{memory.report(), memory.outputs()};
      if (tainted.empty()) tainted = memory.tainted_outputs(canary.name);
      return run;
    };
  };
  const std::vector<SweptOutput> expected =
      sweep_schedules(options, schedules(1), program_with(Fault::kNone)).outputs;
  const SweepReport report = sweep_schedules(options, schedules(3), program_with(fault));
  std::string text = tainted;
  for (const Finding& finding : report.findings) text += finding.text() + "\n";
  if (text.empty() && report.outputs != expected) text = "wrong outputs\n";
  return text;
}

std::vector<Canary> all_canaries() {
  std::vector<Canary> all;
  for (const auto& list : {barrier_canaries(), memory_canaries(), copy_canaries()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

int run(const std::string& name, const std::string& which) {
  if (which != "wrong" && which != "right") {
    std::cerr << fmt::format("expected wrong or right, got '{}'\n", which);
    return 2;
  }
  for (const Canary& canary : all_canaries()) {
    if (canary.name != name) continue;
    const std::string seen =
        everything_seen(canary, which == "wrong" ? Fault::kPlanted : Fault::kNone);
    std::cout << seen;
    return seen.empty() ? 0 : 1;
  }
  std::cerr << "no canary is called " << name << "\n";
  return 2;
}

}  // namespace
}  // namespace recto::simt

int main(int count, char** arguments) {
  if (count == 3) return recto::simt::run(arguments[1], arguments[2]);
  if (count != 1) {
    std::cerr << "usage: canary_program [NAME wrong|right]\n";
    return 2;
  }
  for (const recto::simt::Canary& canary : recto::simt::all_canaries()) {
    std::cout << fmt::format("{}|{}\n", canary.name, canary.fault);
  }
  return 0;
}
