// Bounds, alignment and use of memory in kernels.

#include <sys/mman.h>

#include <cstdint>
#include <string>

#include "verify/simt/checks/checked_run.h"
#include "verify/simt/checks/testdata/checked_kernels.cuh"
#include "verify/simt/checks/testdata/vector_kernels.cuh"

namespace recto::simt {
namespace {

TEST_CASE("a read within a buffer passes, and one past its end is reported and not made") {
  CheckedRun run;
  const float* in = run.buffer<float>("in", 64, BufferUse::kReadOnly);
  auto* out = run.buffer<float>("out", 64, BufferUse::kWriteFirst);
  check_nothing(run.run({"copy", {2}, {32}}, copy_shifted, in, out, 0));
  check_finding(
      run.run({"copy", {2}, {32}}, copy_shifted, in, out, 1), Check::kOutOfBounds,
      {"in kernel 'copy'", "checked_kernels.cu:" + std::to_string(kLineOfCopyShifted) + ":",
       "thread 31 (warp 0, lane 31)", "of block (1, 0, 0)",
       "reads 4 bytes of memory 0 bytes past the end of in", "(256 bytes)"});
  check_finding(run.run({"copy", {2}, {32}}, copy_shifted, in, out, -1), Check::kOutOfBounds,
                {"of block (0, 0, 0)", "reads 4 bytes of memory 4 bytes before in"});
}

TEST_CASE("a vector that begins in a buffer and ends beyond it is out of bounds") {
  CheckedRun run;
  const float* in = run.buffer<float>("in", 14, BufferUse::kReadOnly);
  auto* out = run.buffer<float>("out", 16, BufferUse::kWriteFirst);
  check_nothing(run.run({"copy", {1}, {3}}, copy_in_fours, in, out, 0));
  check_finding(run.run({"copy", {1}, {4}}, copy_in_fours, in, out, 0), Check::kOutOfBounds,
                {"thread 3 ", "reads 16 bytes of in+48, beyond its end"});
}

TEST_CASE("a vector that is aligned to its elements only is misaligned") {
  CheckedRun run;
  const float* in = run.buffer<float>("in", 32, BufferUse::kReadOnly);
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  check_nothing(run.run({"copy", {1}, {4}}, copy_in_fours, in, out, 4));
  check_finding(run.run({"copy", {1}, {4}}, copy_in_fours, in, out, 1), Check::kMisaligned,
                {"thread 0 ", "float4' at in+4, which is not aligned to 16 bytes"});
}

TEST_CASE("a vector in shared memory that is aligned to its elements only is misaligned") {
  CheckedRun run;
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  check_nothing(run.run({"load", {1}, {32}}, load_shared_fours, out, 4));
  check_finding(run.run({"load", {1}, {32}}, load_shared_fours, out, 2), Check::kMisaligned,
                {"in kernel 'load'", "thread 0 ",
                 "float4' at shared tile+8, which is not aligned to 16 bytes"});
  check_nothing(run.run({"store", {1}, {32}}, store_shared_twos, out, 6));
  check_finding(run.run({"store", {1}, {32}}, store_shared_twos, out, 5), Check::kMisaligned,
                {"float2' at shared tile+20, which is not aligned to 8 bytes"});
}

TEST_CASE("memory of the host that is not registered may not be touched, nor a null pointer") {
  CheckedRun run;
  const float* in = run.buffer<float>("in", 32, BufferUse::kReadOnly);
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  std::vector<float> unknown(32);
  check_finding(run.run({"copy", {1}, {32}}, copy_shifted, unknown.data(), out, 0),
                Check::kOutOfBounds, {"reads 4 bytes of memory"});
  check_finding(run.run({"copy", {1}, {32}}, copy_shifted, in, nullptr, 0), Check::kOutOfBounds,
                {"writes 4 bytes of 0x0, a null pointer"});
  CHECK(run.memory().remove(in));
  check_finding(run.run({"copy", {1}, {32}}, copy_shifted, in, out, 0), Check::kOutOfBounds,
                {"reads 4 bytes of memory"});
}

TEST_CASE("a wrong offset into a sparse pool of many gigabytes is found without its memory") {
  CheckedRun run;
  constexpr std::size_t kBytes = std::size_t{20} << 30;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  REQUIRE(run.memory()
              .add({"pool", static_cast<std::byte*>(memory), kBytes, BufferUse::kReadWrite})
              .is_ok());
  auto* pool = static_cast<float*>(memory);
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  constexpr std::int64_t kLast = kBytes / sizeof(float) - 1;
  check_nothing(run.run({"copy", {1}, {32}}, copy_at, pool, out, kLast));
  check_finding(run.run({"copy", {1}, {32}}, copy_at, pool, out, kLast + 1), Check::kOutOfBounds,
                {"past the end of pool (21474836480 bytes)"});
  const std::int64_t overflown = static_cast<std::int32_t>(std::uint32_t{600000} * 4096);
  check_finding(run.run({"copy", {1}, {32}}, copy_at, pool, out, overflown), Check::kOutOfBounds,
                {"bytes before pool"});
  munmap(memory, kBytes);
}

TEST_CASE("memcpy and memset in kernels are checked, whatever their size") {
  CheckedRun run;
  const float* in = run.buffer<float>("in", 40, BufferUse::kReadOnly);
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  check_nothing(run.run({"copy", {1}, {1}}, copy_by_memcpy, in, out, 32));
  check_finding(run.run({"copy", {1}, {1}}, copy_by_memcpy, in, out, 33), Check::kOutOfBounds,
                {"writes 132 bytes of out+0, beyond its end"});
  check_nothing(run.run({"fill", {1}, {1}}, fill_by_memset, out, 32));
  check_finding(run.run({"fill", {1}, {1}}, fill_by_memset, out, 33), Check::kOutOfBounds,
                {"writes 132 bytes of out+0, beyond its end"});
}

TEST_CASE("gaps between shared variables are out of bounds") {
  CheckedRun run;
  auto* out = run.buffer<float>("out", 64, BufferUse::kWriteFirst);
  check_nothing(run.run({"sum", {1}, {64}}, sum_shared, out, 0));
  CHECK(out[5] == 66.0F);
  check_finding(run.run({"sum", {1}, {64}}, sum_shared, out, 1), Check::kOutOfBounds,
                {"reads 4 bytes of memory 0 bytes past the end of shared parts (256 bytes)"});
  // The message names the nearer variable.
  check_finding(run.run({"sum", {1}, {64}}, sum_shared, out, -1), Check::kOutOfBounds,
                {"reads 4 bytes of memory 4 bytes before shared parts (256 bytes)"});
  check_finding(run.run({"sum", {1}, {64}}, sum_shared, out, 79), Check::kOutOfBounds,
                {"reads 4 bytes of memory 4 bytes before shared others (256 bytes)"});
  check_nothing(run.run({"sum", {1}, {64}, 256}, sum_dynamic_shared, out, 0));
  check_finding(run.run({"sum", {1}, {64}, 256}, sum_dynamic_shared, out, 1), Check::kOutOfBounds,
                {"past the end of dynamic shared memory (256 bytes)"});
}

TEST_CASE("read-only buffers and the program's constants may be read, not written") {
  CheckedRun run;
  auto* in = run.buffer<float>("in", 32, BufferUse::kReadOnly);
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  check_nothing(run.run({"copy", {1}, {32}}, copy_shifted, in, out, 0));
  out[0] = 1.0F;
  check_finding(run.run({"copy", {1}, {32}}, copy_shifted, out, in, 0), Check::kReadOnly,
                {"writes 4 bytes of in+0, which is read-only"});
  CHECK(in[0] == 0.0F);
  check_nothing(run.run({"constants", {1}, {32}}, add_constants, out, 0.0F));
  CHECK(out[1] == 2.25F);
  check_finding(run.run({"constants", {1}, {32}}, add_constants, out, 1.0F), Check::kReadOnly,
                {"writes 4 bytes of the program's own memory, not a registered buffer (a "
                 "__device__ variable may be registered as one)"});
}

TEST_CASE("local memory is a thread's own") {
  CheckedRun run;
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  check_nothing(run.run({"local", {1}, {32}}, sum_local, out, 0));
  CHECK(out[7] == 5.0F);
  check_finding(run.run({"local", {1}, {32}}, sum_local, out, 1), Check::kOutOfBounds,
                {"thread 0 ", "reads 4 bytes of the local memory of thread 31"});
}

TEST_CASE("an access to another owner's piece of a pool is found although it is in bounds") {
  CheckedRun run;
  const float* pool = run.buffer<float>("pool", 4 * 32, BufferUse::kReadOnly);
  auto* table = run.buffer<int>("block_table", 4, BufferUse::kReadOnly);
  auto* out = run.buffer<float>("out", 128, BufferUse::kWriteFirst);
  for (int i = 0; i < 4; ++i) table[i] = 3 - i;
  LogicalBounds bounds = {.piece_bytes = 128,
                          .may_touch = {{false, false, true, true}, {true, true, false, false}},
                          .owner_of_block = {0, 0, 1, 1}};
  REQUIRE(run.memory().set_logical_bounds(pool, bounds).is_ok());
  check_nothing(run.run({"gather", {4}, {32}}, gather_pieces, pool, table, out, 0));
  const LaunchReport report = run.run({"gather", {4}, {32}}, gather_pieces, pool, table, out, 1);
  check_finding(report, Check::kLogicalBounds,
                {"of block (1, 0, 0)", "reads 4 bytes of pool+128, in piece 1 (of 128 bytes)",
                 "outside the pieces of owner 0: it belongs to owner 1"});
  // The memory itself is valid, so the kernel continued.
  CHECK(out[127] == 0.0F);
  bounds.owner_of_block.pop_back();
  REQUIRE(run.memory().set_logical_bounds(pool, bounds).is_ok());
  check_finding(run.run({"gather", {4}, {32}}, gather_pieces, pool, table, out, 0),
                Check::kLogicalBounds,
                {"of block (3, 0, 0)", "outside the pieces of a thread block without owner"});
  // Pieces that several owners, or no owner, may touch.
  bounds.may_touch.assign(7, std::vector<bool>(4, false));
  bounds.owner_of_block = {6, 6, 6, 6};
  const auto text_of_run = [&] {
    REQUIRE(run.memory().set_logical_bounds(pool, bounds).is_ok());
    return run.run({"gather", {1}, {32}}, gather_pieces, pool, table, out, 0).text();
  };
  CHECK(
      contains(text_of_run(),
               "in piece 3 (of 128 bytes), outside the pieces of owner 6: it belongs to no owner"));
  for (const std::size_t owner : {0U, 2U, 5U}) bounds.may_touch[owner][3] = true;
  CHECK(contains(text_of_run(), "it belongs to owners 0, 2 and 5\n"));
  bounds.may_touch.assign(7, std::vector<bool>(4, true));
  bounds.may_touch[6][3] = false;
  CHECK(contains(text_of_run(), "it belongs to owners 0, 1, 2, 3 and 2 others\n"));
}

// In this file accesses are not observed.
__global__ void fill_unobserved(float* out) { out[threadIdx.x] = 1.0F; }

TEST_CASE("a kernel without observed accesses is reported, unless that check is off") {
  CheckedRun run;
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  check_finding(
      run.run({"fill", {2}, {16}}, fill_unobserved, out), Check::kUnobserved,
      {"unobserved in kernel 'fill': none of its accesses was observed", "NAME_observed"});
  check_nothing(run.run({"local", {1}, {32}}, sum_local, out, 0));
  CheckedRun lenient({}, {.unobserved_launches = Severity::kOff});
  check_nothing(lenient.run({"fill", {2}, {16}}, fill_unobserved, out));
}

TEST_CASE("a kernel that spins on memory ends, with where its threads stand") {
  CheckedRun run({}, {.accesses_max = 100000});
  auto* flag = run.buffer<int>("flag", 1, BufferUse::kReadWrite);
  auto* out = run.buffer<int>("out", 64, BufferUse::kWriteFirst);
  check_finding(run.run({"spin", {1}, {64}}, spin, flag, out), Check::kNeverEnds,
                {"still runs after 100000 accesses to memory", "threads 0 to 63: running"});
  // It runs longer than the stall limit: the clock decides where it is stopped, but the line is the
  // kernel's.
  CheckedRun stalled;
  stalled.executor().set_options({.stall_seconds = 1});
  flag = stalled.buffer<int>("flag", 1, BufferUse::kReadWrite);
  check_finding(stalled.run({"spin", {1}, {64}}, spin, flag, out), Check::kNeverEnds,
                {"checked_kernels.cu:" + std::to_string(kLineOfSpin) + ": thread 0 ",
                 "last touched memory here, and has run for 1 seconds"});
  flag = run.buffer<int>("other_flag", 1, BufferUse::kReadWrite);
  *flag = 1;
  check_nothing(run.run({"spin", {1}, {64}}, spin, flag, out));
}

}  // namespace
}  // namespace recto::simt
