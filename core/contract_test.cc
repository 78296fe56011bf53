#include "core/contract.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "bazel/testing/catch.h"

namespace recto {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string failure_of(void (*broken)()) {
  try {
    broken();
  } catch (const ContractFailure& failure) {
    return failure.what();
  }
  return "";
}

TEST_CASE("a kept contract does nothing") {
  RECTO_CHECK(1 + 1 == 2);
  RECTO_CHECK_EQ(2, 2);
  RECTO_CHECK_NE(2, 3);
  RECTO_CHECK_LT(2, 3);
  RECTO_CHECK_LE(3, 3);
  RECTO_CHECK_GT(3, 2);
  RECTO_CHECK_GE(3, 3);
}

TEST_CASE("a broken comparison prints the expression, both operands and the place") {
  const std::string message = failure_of([] {
    const int pages = 17;
    RECTO_CHECK_EQ(pages, 4 * 4);
  });
  CHECK_THAT(message, ContainsSubstring("pages == 4 * 4"));
  CHECK_THAT(message, ContainsSubstring("17 vs 16"));
  CHECK_THAT(message, ContainsSubstring("contract_test.cc:"));
}

TEST_CASE("each comparison fails at its boundary") {
  CHECK_THAT(failure_of([] { RECTO_CHECK_NE(5, 5); }), ContainsSubstring("5 vs 5"));
  CHECK_THAT(failure_of([] { RECTO_CHECK_LT(5, 5); }), ContainsSubstring("5 vs 5"));
  CHECK_THAT(failure_of([] { RECTO_CHECK_LE(6, 5); }), ContainsSubstring("6 vs 5"));
  CHECK_THAT(failure_of([] { RECTO_CHECK_GT(5, 5); }), ContainsSubstring("5 vs 5"));
  CHECK_THAT(failure_of([] { RECTO_CHECK_GE(4, 5); }), ContainsSubstring("4 vs 5"));
}

TEST_CASE("operands are evaluated once") {
  int evaluated = 0;
  RECTO_CHECK_EQ(++evaluated, 1);
  CHECK(evaluated == 1);
}

// std::max returns a reference to its temporary, which lives until the end of the full expression.
TEST_CASE("a reference to a temporary in an operand lives through the comparison") {
  const std::string long_text(100, 'b');
  RECTO_CHECK_EQ(std::max(std::string(100, 'a'), std::string(100, 'b')), long_text);
}

TEST_CASE("a broken condition and an impossible branch say why") {
  CHECK_THAT(failure_of([] { RECTO_CHECK(2 < 1); }), ContainsSubstring("2 < 1"));
  CHECK_THAT(failure_of([] { RECTO_UNREACHABLE("every kind is named"); }),
             ContainsSubstring("every kind is named"));
}

// Runs `broken` in a child process under the handler that programs use; returns its exit and
// output.
struct Death {
  int status = 0;
  std::string standard_error;
};

Death death_of(void (*broken)(), ContractHandler handler) {
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);  // bypasses Catch2's handler
    set_contract_handler(handler);
    broken();
    _exit(0);
  }
  close(pipe_ends[1]);
  Death death;
  char buffer[256];
  for (ssize_t n = 0; (n = read(pipe_ends[0], buffer, sizeof(buffer))) > 0;) {
    death.standard_error.append(buffer, static_cast<std::size_t>(n));
  }
  close(pipe_ends[0]);
  waitpid(child, &death.status, 0);
  return death;
}

// The handler that was installed before the tests installed theirs: the one that programs use.
ContractHandler handler_of_programs();

TEST_CASE("in programs a broken contract prints and aborts") {
  const Death death = death_of([] { RECTO_CHECK_EQ(1, 2); }, handler_of_programs());
  CHECK(WIFSIGNALED(death.status));
  CHECK(WTERMSIG(death.status) == SIGABRT);
  CHECK_THAT(death.standard_error, ContainsSubstring("1 == 2 (1 vs 2)"));
}

TEST_CASE("a handler that returns is followed by abort") {
  const Death death = death_of([] { RECTO_CHECK(false); }, [](const ContractReport&) {});
  CHECK(WIFSIGNALED(death.status));
  CHECK(WTERMSIG(death.status) == SIGABRT);
}

TEST_CASE("setting a handler returns the previous one") {
  const ContractHandler quiet = [](const ContractReport&) {};
  const ContractHandler before = set_contract_handler(quiet);
  CHECK(set_contract_handler(before) == quiet);
}

// Static initialisation runs before main() installs the throwing handler.
const ContractHandler kHandlerOfPrograms = [] {
  const ContractHandler handler = set_contract_handler(nullptr);
  set_contract_handler(handler);
  return handler;
}();

ContractHandler handler_of_programs() { return kHandlerOfPrograms; }

}  // namespace
}  // namespace recto
