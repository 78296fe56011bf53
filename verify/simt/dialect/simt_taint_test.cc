// In a program with shadow memory: every result computed from tainted memory is tainted, by
// whatever operation, and no other result is.

#include <sanitizer/msan_interface.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/dialect/testdata/taint_kernels.cuh"
#include "verify/simt/executor/executor.h"

// Only memory tainted on purpose is tainted: code that MemorySanitizer does not instrument writes
// memory of the C++ library.
extern "C" const char* __msan_default_options() {
  return "poison_in_malloc=0:poison_in_free=0:poison_in_dtor=0";
}

namespace recto::simt {
namespace {

constexpr int kTainted = 5;

// Numbers in memory that is untainted before it is freed, as its next user expects.
template <typename T>
class Numbers {
 public:
  Numbers(std::size_t count, T value) : values_(count, value) {}
  ~Numbers() { __msan_unpoison(values_.data(), values_.size() * sizeof(T)); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  T* data() { return values_.data(); }
  void taint(std::size_t i) { __msan_poison(data() + i, sizeof(T)); }
  void untaint() { __msan_unpoison(data(), values_.size() * sizeof(T)); }

  // The indices of the tainted numbers.
  std::set<int> tainted() const {
    std::set<int> all;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (__msan_test_shadow(&values_[i], sizeof(T)) >= 0) all.insert(static_cast<int>(i));
    }
    return all;
  }

 private:
  std::vector<T> values_;
};

std::set<int> all_of(int count) {
  std::set<int> all;
  for (int i = 0; i < count; ++i) all.insert(i);
  return all;
}

const std::set<int> kOne = {kTainted};
const std::set<int> kNone = {};

template <typename... Parameters, typename... Arguments>
void run_warp(void (*kernel)(Parameters...), Arguments... arguments) {
  for (const MatrixSum sum : {MatrixSum::kNearest, MatrixSum::kTruncated}) {
    Executor executor({.arithmetic = {.fast_math = FastMath::kPerturbed, .matrix_sum = sum}});
    CHECK(launch(executor, {"kernel", {1}, {32}}, kernel, arguments...).text().empty());
  }
}

TEST_CASE("a function of a tainted number is tainted, and other numbers are not") {
  for (const NamedMap& map : kMapKernels) {
    INFO(map.name);
    Numbers<float> in(32, 0.5F);
    in.taint(kTainted);
    Numbers<float> out(32, 0.0F);
    run_warp(map.kernel, in.data(), out.data());
    CHECK(out.tainted() == kOne);
  }
}

TEST_CASE("a sum over a warp that takes a tainted number is tainted in all lanes") {
  Numbers<float> in(32, 0.5F);
  Numbers<float> out(32, 0.0F);
  run_warp(sum_by_shuffles, in.data(), out.data());
  CHECK(out.tainted() == kNone);
  in.taint(kTainted);
  run_warp(sum_by_shuffles, in.data(), out.data());
  CHECK(out.tainted() == all_of(32));
  Numbers<int> words(32, 1);
  Numbers<int> sums(32, 0);
  words.taint(kTainted);
  run_warp(sum_by_reduction, words.data(), sums.data());
  CHECK(sums.tainted() == all_of(32));
}

TEST_CASE("a softmax sum is tainted by a tail that goes into it, not by one that is masked") {
  Numbers<float> in(64, 0.5F);
  for (std::size_t i = 40; i < 64; ++i) in.taint(i);
  Numbers<float> out(1, 0.0F);
  run_warp(sum_softmax, in.data(), out.data(), 40);
  CHECK(out.tainted() == kNone);
  run_warp(sum_softmax, in.data(), out.data(), 41);
  CHECK(out.tainted() == all_of(1));
}

TEST_CASE("asynchronous copies pass taint on") {
  for (const MapKernel kernel : {copy_through_shared, copy_bulk_through_shared}) {
    Numbers<float> in(32, 0.5F);
    in.taint(kTainted);
    in.taint(21);
    Numbers<float> out(32, 0.0F);
    run_warp(kernel, in.data(), out.data());
    CHECK(out.tainted() == std::set<int>{kTainted, 21});
  }
}

// Whether a process of its own runs `run` to its end.
bool survives(const std::function<void()>& run) {
  const pid_t child = fork();
  if (child == 0) {
    close(STDERR_FILENO);
    run();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_CASE("an asynchronous copy from a tainted address ends the program") {
  const auto copies_from = [](bool is_index_tainted, int is_read) {
    return survives([=] {
      Numbers<int> index(32, 1);
      if (is_index_tainted) index.taint(kTainted);
      Numbers<int> reads(32, 1);
      reads.data()[kTainted] = is_read;
      Numbers<float> in(32, 0.5F);
      Numbers<float> out(32, 0.0F);
      run_warp(copy_by_index, index.data(), reads.data(), in.data(), out.data());
    });
  };
  CHECK(copies_from(false, 1));
  CHECK_FALSE(copies_from(true, 1));
  // A copy that reads nothing may have any source address.
  CHECK(copies_from(true, 0));
}

TEST_CASE("atomic operations store taint, and return that of the old value") {
  for (const AtomicWay way : {AtomicWay::kAdd, AtomicWay::kExchange, AtomicWay::kMaximum,
                              AtomicWay::kCompareAndSwap, AtomicWay::kIncrement}) {
    INFO("way " << static_cast<int>(way));
    for (const bool is_value_tainted : {true, false}) {
      Executor executor({});
      Numbers<float> in(32, 0.5F);
      Numbers<float> place(32, 0.0F);
      Numbers<float> old(32, 0.0F);
      (is_value_tainted ? in : place).taint(kTainted);
      CHECK(launch(executor, {"change", {1}, {32}}, change_atomically, way, in.data(), place.data(),
                   old.data())
                .text()
                .empty());
      const bool is_overwritten = way == AtomicWay::kExchange && !is_value_tainted;
      CHECK(place.tainted() == (is_overwritten ? kNone : kOne));
      CHECK(old.tainted() == (is_value_tainted ? kNone : kOne));
    }
  }
  Numbers<float> in(32, 0.5F);
  Numbers<float> place(32, 0.0F);
  Numbers<float> old(32, 0.0F);
  in.taint(4);
  Executor executor({});
  launch(executor, {"change", {1}, {32}}, change_atomically, AtomicWay::kAddDouble, in.data(),
         place.data(), old.data());
  CHECK(place.tainted() == std::set<int>{4, 5});
}

template <typename T>
void check_product(ProductKernel<T> kernel) {
  Numbers<T> a(16 * 16, T(1.0F));
  Numbers<T> b(16 * 8, T(1.0F));
  Numbers<float> out(16 * 8, 0.0F);
  run_warp(kernel, a.data(), b.data(), out.data(), 0);
  CHECK(out.tainted() == kNone);
  a.taint(3 * 16 + 11);  // row 3
  b.taint(9 * 8 + 6);    // column 6
  std::set<int> row_and_column;
  for (int i = 0; i < 8; ++i) row_and_column.insert(3 * 8 + i);
  for (int i = 0; i < 16; ++i) row_and_column.insert(i * 8 + 6);
  run_warp(kernel, a.data(), b.data(), out.data(), 0);
  CHECK(out.tainted() == row_and_column);
  // Unused columns taint nothing.
  a.untaint();
  run_warp(kernel, a.data(), b.data(), out.data(), 2);
  CHECK(out.tainted() == kNone);
}

TEST_CASE("a product of matrices is tainted in the row and the column of a tainted element") {
  check_product<__half>(multiply_tainted_half);
  check_product<__nv_bfloat16>(multiply_tainted_bfloat16);
}

TEST_CASE("a kernel that ends with a tainted argument taints no argument of the next call") {
  Numbers<float> in(32, 0.5F);
  in.taint(31);
  Numbers<float> out(32, 0.0F);
  for (const NamedMap& map : kMapKernels) {
    run_warp(map.kernel, in.data(), out.data());
    out.untaint();
    run_warp(sum_by_shuffles, in.data(), out.data());
  }
}

}  // namespace
}  // namespace recto::simt
