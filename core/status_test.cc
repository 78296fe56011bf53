#include "core/status.h"

#include <memory>
#include <sstream>
#include <string>

#include "bazel/testing/catch.h"

namespace recto {
namespace {

template <typename T>
concept ConvertsToBool = requires(T value) {
  static_cast<bool>(value);
};

static_assert(!ConvertsToBool<Status>, "is_ok() says what is meant");
static_assert(!std::is_constructible_v<Status, StatusCode, std::string>,
              "a failure is named, so that ok never carries a message");
static_assert(std::is_constructible_v<Result<std::unique_ptr<int>>, std::unique_ptr<int>>);
static_assert(!std::is_default_constructible_v<Result<int>>);

TEST_CASE("a status is ok until a failure is named") {
  CHECK(Status().is_ok());
  CHECK(Status::ok() == Status());
  CHECK(Status::invalid_input("block size is 0").code() == StatusCode::kInvalidInput);
  CHECK(Status::exhausted("no block").code() == StatusCode::kExhausted);
  CHECK(Status::failed("disk full").code() == StatusCode::kFailed);
  CHECK_FALSE(Status::failed("disk full").is_ok());
  CHECK(Status::failed("disk full").message() == "disk full");
}

TEST_CASE("context goes in front of a failure and leaves success alone") {
  const Status status = Status::invalid_input("expected a number").in("line 3").in("a.csv");
  CHECK(status.message() == "a.csv: line 3: expected a number");
  CHECK(status.code() == StatusCode::kInvalidInput);
  CHECK(Status::ok().in("a.csv") == Status::ok());
}

TEST_CASE("statuses are printed as their messages") {
  std::ostringstream out;
  out << Status::ok() << ", " << Status::failed("disk full");
  CHECK(out.str() == "ok, disk full");
}

TEST_CASE("a result is a value or the reason why there is none") {
  const Result<int> good = 7;
  CHECK(good.is_ok());
  CHECK(good.status() == Status::ok());
  CHECK(good.value() == 7);

  const Result<int> bad = Status::invalid_input("not a number");
  CHECK_FALSE(bad.is_ok());
  CHECK(bad.status() == Status::invalid_input("not a number"));
}

TEST_CASE("asking a failure for its value breaks the contract and names the failure") {
  const Result<int> bad = Status::invalid_input("not a number");
  CHECK_THROWS_WITH(bad.value(), Catch::Matchers::ContainsSubstring("not a number"));
  CHECK_THROWS_AS(Result<int>(Status::ok()), ContractFailure);
}

TEST_CASE("a value can be moved out") {
  Result<std::unique_ptr<int>> held = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = std::move(held).value();
  CHECK(*taken == 3);
}

Status first_failure(int* reached) {
  RECTO_RETURN_IF_ERROR(Status::ok());
  ++*reached;
  RECTO_RETURN_IF_ERROR(Status::failed("second"));
  ++*reached;
  return Status::ok();
}

TEST_CASE("a failure is handed on at once") {
  int reached = 0;
  CHECK(first_failure(&reached) == Status::failed("second"));
  CHECK(reached == 1);
}

}  // namespace
}  // namespace recto
