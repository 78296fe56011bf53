#include "verify/simt/counters/access_counter.h"

#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/counters/testdata/counted_kernels.cuh"
#include "verify/simt/executor/executor.h"

namespace recto::simt {
namespace {

using Catch::Matchers::ContainsSubstring;

// A kernel's memory and counts.
class Counted {
 public:
  Counted() : counter_(memory_) {
    executor_.set_observer(&counter_);
    REQUIRE(memory_.add({"in", as_bytes(in_), sizeof in_}).is_ok());
    REQUIRE(memory_.add({"out", as_bytes(out_), sizeof out_}).is_ok());
  }

  template <typename... Parameters>
  void run(unsigned threads, void (*kernel)(Parameters...),
           std::type_identity_t<Parameters>... arguments) {
    run_as("kernel", threads, kernel, arguments...);
  }

  template <typename... Parameters>
  void run_as(const char* name, unsigned threads, void (*kernel)(Parameters...),
              std::type_identity_t<Parameters>... arguments) {
    REQUIRE(launch(executor_, {name, {1}, {threads}}, kernel, arguments...).text().empty());
  }

  // The sum over all lines with this kind of operation.
  LineCount sum(const std::string& what) const {
    LineCount sum;
    for (const LineCount& count : counter_.counts()) {
      if (count.what != what) continue;
      sum.instructions += count.instructions;
      sum.bytes += count.bytes;
      sum.sectors += count.sectors;
      sum.wasted_bytes += count.wasted_bytes;
      sum.bank_conflicts += count.bank_conflicts;
    }
    return sum;
  }

  float* in() { return in_; }
  float* out() { return out_; }
  AccessCounter& counter() { return counter_; }

 private:
  static std::byte* as_bytes(float* data) { return reinterpret_cast<std::byte*>(data); }

  alignas(128) float in_[4096] = {};
  alignas(128) float out_[4096] = {};
  DeviceMemory memory_;
  AccessCounter counter_;
  Executor executor_{ExecutorOptions{}};
};

void check(const LineCount& count, std::uint64_t instructions, std::uint64_t bytes,
           std::uint64_t sectors, std::uint64_t wasted) {
  CHECK(count.instructions == instructions);
  CHECK(count.bytes == bytes);
  CHECK(count.sectors == sectors);
  CHECK(count.wasted_bytes == wasted);
  CHECK(count.bank_conflicts == 0);
}

TEST_CASE("neighbouring threads share sectors, distant threads waste them") {
  Counted coalesced;
  coalesced.run(64, copy_strided, coalesced.in(), coalesced.out(), 1);
  check(coalesced.sum("global read"), 2, 256, 8, 0);
  check(coalesced.sum("global write"), 2, 256, 8, 0);
  Counted by_two;
  by_two.run(32, copy_strided, by_two.in(), by_two.out(), 2);
  check(by_two.sum("global read"), 1, 128, 8, 128);
  Counted apart;
  apart.run(32, copy_strided, apart.in(), apart.out(), 32);
  check(apart.sum("global read"), 1, 128, 32, 896);
  check(apart.sum("global write"), 1, 128, 4, 0);
}

TEST_CASE("an access that begins within a sector touches one more") {
  Counted shifted;
  shifted.run(32, copy_strided, shifted.in() + 1, shifted.out(), 1);
  check(shifted.sum("global read"), 1, 128, 5, 32);
}

TEST_CASE("a vector is one instruction, and what all lanes read counts once") {
  Counted fours;
  fours.run(32, copy_fours, fours.in(), fours.out());
  check(fours.sum("global read"), 1, 512, 16, 0);
  check(fours.sum("global write"), 1, 512, 16, 0);
  Counted one;
  one.run(32, read_one, one.in(), one.out());
  check(one.sum("global read"), 1, 4, 1, 28);
}

TEST_CASE("a column of 32 conflicts in one bank, unless its rows are padded") {
  for (const auto& [stride, conflicts] :
       {std::pair<int, std::uint64_t>{1, 0}, {2, 1}, {32, 31}, {33, 0}, {16, 15}, {0, 0}}) {
    // With stride 0 all lanes would write one word, which is a race but no conflict.
    Counted counted;
    counted.run(32, pass_strided, counted.out(), stride);
    for (const char* what : {"shared write", "shared read"}) {
      INFO(what << " by " << stride);
      const LineCount count = counted.sum(what);
      CHECK(count.instructions == 1);
      CHECK(count.bytes == (stride == 0 ? 4 : 128));
      CHECK(count.bank_conflicts == conflicts);
      CHECK(count.sectors == 0);
    }
  }
}

TEST_CASE("vectors of two are served by half warps, vectors of four and matrices by eight lanes") {
  struct Pattern {
    int stride;  // of floats, from lane to lane
    int shift;   // from each eight lanes to the next
    std::uint64_t twos;
    std::uint64_t fours;
  };
  // A column of a tile with rows of 128 bytes, rows side by side, padded rows, one place for all.
  for (const Pattern& pattern : {Pattern{32, 4, 14, 28}, Pattern{4, 32, 2, 0}, Pattern{36, 4, 2, 0},
                                 Pattern{0, 0, 0, 0}, Pattern{2, 16, 0, 0}}) {
    INFO(pattern.stride << " and " << pattern.shift);
    Counted twos;
    twos.run(32, read_shared_twos, twos.out(), pattern.stride, pattern.shift);
    CHECK(twos.sum("shared read").bank_conflicts == pattern.twos);
    if (pattern.stride % 4 != 0) continue;
    Counted fours;
    fours.run(32, read_shared_fours, fours.out(), pattern.stride, pattern.shift);
    CHECK(fours.sum("shared read").bank_conflicts == pattern.fours);
    Counted rows;
    rows.run(32, load_rows, reinterpret_cast<unsigned*>(rows.out()), pattern.stride, pattern.shift);
    CHECK(rows.sum("shared read").bank_conflicts == pattern.fours);
  }
}

TEST_CASE("lanes that reach an instruction more often are counted without the others") {
  Counted counted;
  counted.run(32, read_twice_in_odd_lanes, counted.in(), counted.out());
  // 32 adjacent lanes, then 16 lanes, every second one.
  check(counted.sum("global read"), 2, 128 + 64, 4 + 4, 64);
}

TEST_CASE("barriers are counted by thread blocks, warp-wide operations by warps") {
  Counted counted;
  counted.run(96, count_operations, counted.out(), 5);
  CHECK(counted.sum("__syncthreads").instructions == 5);
  CHECK(counted.sum("__syncwarp").instructions == 15);
  CHECK(counted.sum("__shfl_xor_sync").instructions == 15);
  CHECK(counted.sum("__shfl_xor_sync").bytes == 0);
}

TEST_CASE("atomic operations count the memory that they update") {
  Counted counted;
  counted.run(32, add_in_pairs, counted.out());
  check(counted.sum("global atomic"), 1, 64, 2, 0);
  check(counted.sum("global atomic read"), 0, 0, 0, 0);
}

// All counts, one per line: kernel, line of counted_kernels.cu, kind, instructions, bytes, sectors,
// wasted bytes.
std::vector<std::string> rows_of(const AccessCounter& counter) {
  std::vector<std::string> rows;
  const std::string file = "verify/simt/counters/testdata/counted_kernels.cu:";
  for (const LineCount& count : counter.counts()) {
    const bool is_in_file = count.place.rfind(file, 0) == 0;
    rows.push_back(count.kernel + " " +
                   (is_in_file ? count.place.substr(file.size()) : count.place) + " " + count.what +
                   " " + std::to_string(count.instructions) + " " + std::to_string(count.bytes) +
                   " " + std::to_string(count.sectors) + " " + std::to_string(count.wasted_bytes));
  }
  return rows;
}

TEST_CASE("the sum adds up the counts of all lines") {
  Counted counted;
  counted.run(32, copy_strided, counted.in(), counted.out(), 2);
  counted.run(32, pass_strided, counted.out(), 32);
  LineCount expected;
  for (const LineCount& count : counted.counter().counts()) {
    expected.instructions += count.instructions;
    expected.bytes += count.bytes;
    expected.sectors += count.sectors;
    expected.wasted_bytes += count.wasted_bytes;
    expected.bank_conflicts += count.bank_conflicts;
  }
  const LineCount sum = counted.counter().sum();
  CHECK(sum.instructions == expected.instructions);
  CHECK(sum.bytes == expected.bytes);
  CHECK(sum.sectors == expected.sectors);
  CHECK(sum.wasted_bytes == expected.wasted_bytes);
  CHECK(sum.bank_conflicts == expected.bank_conflicts);
  CHECK(sum.wasted_bytes > 0);
  CHECK(sum.bank_conflicts > 0);
}

TEST_CASE("each count stands with its kernel and its line") {
  Counted counted;
  counted.run_as("twice", 64, copy_twice, counted.in(), counted.out());
  counted.run_as("apart", 32, read_apart, counted.in(), counted.out());
  const std::string twice = std::to_string(kLineOfCopyTwice);
  const std::string twice_2 = std::to_string(kLineOfCopyTwice + 1);
  const std::string apart = std::to_string(kLineOfReadApart);
  const std::string apart_2 = std::to_string(kLineOfReadApart + 1);
  // Two warps; the second line reads every other element.
  CHECK(rows_of(counted.counter()) ==
        std::vector<std::string>{"apart " + apart + " global read 1 128 32 896",
                                 "apart " + apart_2 + " global write 1 128 4 0",
                                 "twice " + twice + " global read 2 256 8 0",
                                 "twice " + twice + " global write 2 256 8 0",
                                 "twice " + twice_2 + " global read 2 256 16 256",
                                 "twice " + twice_2 + " global write 2 256 8 0"});
  // The same kernel under another name counts separately; under the same name counts are summed.
  counted.run_as("again", 32, read_apart, counted.in(), counted.out());
  counted.run_as("apart", 32, read_apart, counted.in(), counted.out());
  const std::vector<std::string> rows = rows_of(counted.counter());
  REQUIRE(rows.size() == 8);
  CHECK(rows[0] == "again " + apart + " global read 1 128 32 896");
  CHECK(rows[2] == "apart " + apart + " global read 2 256 64 1792");
}

TEST_CASE("votes and products of matrices are counted by warps, with their lines") {
  Counted counted;
  counted.run_as("votes", 96, vote_and_multiply, reinterpret_cast<unsigned*>(counted.out()));
  const auto row = [](int line, const std::string& what) {
    return "votes " + std::to_string(kLineOfVotes + line) + " " + what;
  };
  CHECK(rows_of(counted.counter()) ==
        std::vector<std::string>{row(0, "__ballot_sync 3 0 0 0"), row(1, "__any_sync 3 0 0 0"),
                                 row(2, "__all_sync 3 0 0 0"),
                                 row(6, "multiply_accumulate_m16n8k16 3 0 0 0"),
                                 row(7, "global write 3 384 12 0")});
}

TEST_CASE("the table names kernel and line, and is empty when cleared") {
  Counted counted;
  counted.run(64, copy_strided, counted.in(), counted.out(), 1);
  const std::string table = counted.counter().table();
  INFO(table);
  CHECK_THAT(table, ContainsSubstring("counted_kernels.cu:") && ContainsSubstring("kernel") &&
                        ContainsSubstring("global read") && ContainsSubstring("wasted bytes"));
  counted.counter().clear();
  CHECK(counted.counter().counts().empty());
}

}  // namespace
}  // namespace recto::simt
