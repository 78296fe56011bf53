#pragma once

// Contracts: what the code relies on. A broken contract is a defect in recto, never bad input; bad
// input is a Status (core/status.h).
//
// RECTO_CHECK_EQ(a, b) and its kin are always on, print both operands, and call one handler. The
// handler aborts in programs; tests install one that throws, so that a property test can shrink.

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace recto {

// Thrown by the handler that tests install.
class ContractFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// What failed and where; `detail` holds the operands' values, or is empty.
struct ContractReport {
  const char* file;
  int line;
  const char* expression;
  std::string detail;

  std::string message() const;
};

using ContractHandler = void (*)(const ContractReport&);

// Replaces the handler and returns the old one. If a handler returns, abort() is called.
ContractHandler set_contract_handler(ContractHandler handler);

void install_throwing_contract_handler();

[[noreturn]] void fail_contract(const ContractReport& report);

namespace internal {

template <typename T>
std::string describe(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

struct CheckSite {
  const char* file;
  int line;
  const char* expression;
};

template <typename Left, typename Right>
[[noreturn]] __attribute__((noinline, cold)) void fail_comparison(const Left& left,
                                                                  const Right& right,
                                                                  const CheckSite& site) {
  fail_contract({site.file, site.line, site.expression, describe(left) + " vs " + describe(right)});
}

template <typename Compare, typename Left, typename Right>
constexpr void check_comparison(Compare compare, const Left& left, const Right& right,
                                const CheckSite& site) {
  if (!compare(left, right)) [[unlikely]]
    fail_comparison(left, right, site);
}

[[noreturn]] void fail_condition(const char* file, int line, const char* expression,
                                 std::string_view detail);

}  // namespace internal
}  // namespace recto

#define RECTO_CHECK(condition)                                               \
  do {                                                                       \
    if (!(condition)) [[unlikely]] {                                         \
      ::recto::internal::fail_condition(__FILE__, __LINE__, #condition, {}); \
    }                                                                        \
  } while (false)

// One full expression, so that temporaries in the operands (std::max of two numbers) live long
// enough.
#define RECTO_CHECK_COMPARISON(left, op, right)                                                  \
  ::recto::internal::check_comparison(                                                           \
      [](const auto& recto_left, const auto& recto_right) { return recto_left op recto_right; }, \
      (left), (right), {__FILE__, __LINE__, #left " " #op " " #right})

#define RECTO_CHECK_EQ(left, right) RECTO_CHECK_COMPARISON(left, ==, right)
#define RECTO_CHECK_NE(left, right) RECTO_CHECK_COMPARISON(left, !=, right)
#define RECTO_CHECK_LT(left, right) RECTO_CHECK_COMPARISON(left, <, right)
#define RECTO_CHECK_LE(left, right) RECTO_CHECK_COMPARISON(left, <=, right)
#define RECTO_CHECK_GT(left, right) RECTO_CHECK_COMPARISON(left, >, right)
#define RECTO_CHECK_GE(left, right) RECTO_CHECK_COMPARISON(left, >=, right)

// Marks branches that cannot be taken.
#define RECTO_UNREACHABLE(why) \
  ::recto::internal::fail_condition(__FILE__, __LINE__, "unreachable", why)
