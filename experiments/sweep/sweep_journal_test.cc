#include "experiments/sweep/sweep_journal.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include "bazel/testing/catch.h"
#include "experiments/support/output_file.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

const Json kIdentity = {{"grid", {{"seeds", 1}}}, {"columns", {"a", "b"}}};

std::string path_of(const std::string& name) {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = (folder == nullptr ? std::string("/tmp") : folder) + "/" + name;
  std::remove(path.c_str());
  return path;
}

// The hashes of a sweep of two runs.
std::optional<std::string> hash_of(std::int64_t run) {
  if (run < 0 || run > 1) return std::nullopt;
  return "h" + std::to_string(run);
}

Result<SweepJournal> open(const std::string& path, const Json& identity = kIdentity) {
  return SweepJournal::open(path, identity, hash_of, JournalStart::kContinue);
}

std::string text_of(const std::string& path) { return read_text_file(path).value(); }

// A journal with runs 0 and 1.
std::string write_two_runs(const std::string& name) {
  const std::string path = path_of(name);
  Result<SweepJournal> journal = open(path);
  REQUIRE(journal.is_ok());
  REQUIRE(journal.value().append({{0, "h0", {{1.0 / 3, 2e300}, ""}}}).is_ok());
  REQUIRE(journal.value().append({{1, "h1", {{std::nan(""), -0.0}, ""}}}).is_ok());
  return path;
}

TEST_CASE("values are read back to the last bit, and missing ones as NaN") {
  const auto journal = open(write_two_runs("bits"));
  REQUIRE(journal.is_ok());
  CHECK(journal.value().has(0));
  CHECK_FALSE(journal.value().has(2));
  CHECK(journal.value().finished().at(0).values == std::vector<double>{1.0 / 3, 2e300});
  CHECK(std::isnan(journal.value().finished().at(1).values[0]));
}

TEST_CASE("failed runs are kept for the reader but done again") {
  const std::string path = path_of("failed");
  REQUIRE(open(path).value().append({{0, "h0", {{}, "too \"large\""}}}).is_ok());
  CHECK_THAT(text_of(path), ContainsSubstring(R"("error":"too \"large\"")"));
  CHECK_FALSE(open(path).value().has(0));
}

TEST_CASE("a torn last line is dropped, wherever it was cut") {
  const std::string whole = text_of(write_two_runs("whole"));
  const std::size_t second = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::string path = path_of("torn");
    REQUIRE(write_file(path, whole.substr(0, size)).is_ok());
    {
      auto journal = open(path);
      REQUIRE(journal.is_ok());
      CHECK(journal.value().has(1) == (size == whole.size()));
      CHECK(journal.value().has(0) == (size >= second));
      REQUIRE(journal.value().append({{1, "h1", {{3, 4}, ""}}}).is_ok());
    }
    CHECK(open(path).value().has(1));
  }
}

TEST_CASE("a last line of rubbish is dropped, one before it is refused") {
  const std::string path = write_two_runs("rubbish");
  const std::string whole = text_of(path);
  REQUIRE(write_file(path, whole + std::string(7, '\0') + "\n").is_ok());
  CHECK(open(path).value().has(1));
  CHECK(text_of(path) == whole);

  const std::size_t first = whole.find('\n') + 1;
  REQUIRE(write_file(path, whole.substr(0, first) + "{\"run\":}\n" + whole.substr(first)).is_ok());
  const Status status = open(path).status();
  CHECK(status.code() == StatusCode::kInvalidInput);
  CHECK_THAT(status.message(), ContainsSubstring("rubbish:2: is damaged"));
  CHECK_THAT(status.message(), ContainsSubstring("--fresh"));
}

TEST_CASE("a run of other settings is refused, and its line named") {
  for (const NumberedRecord& foreign :
       {NumberedRecord{1, "h0", {{1, 2}, ""}}, NumberedRecord{2, "h2", {{1, 2}, ""}},
        NumberedRecord{-1, "h0", {{1, 2}, ""}}, NumberedRecord{0, "h1", {{}, "failed"}}}) {
    const std::string path = write_two_runs("foreign");
    const std::string whole = text_of(path) + record_line(foreign);
    REQUIRE(write_file(path, whole).is_ok());
    const Status status = open(path).status();
    CHECK(status.code() == StatusCode::kInvalidInput);
    CHECK_THAT(status.message(), ContainsSubstring("foreign:4: found run "));
    CHECK_THAT(status.message(), ContainsSubstring("--fresh"));
    CHECK(text_of(path) == whole);
  }
}

TEST_CASE("a changed digit anywhere in a line is reported as damage") {
  const std::string whole = text_of(write_two_runs("digit"));
  const std::size_t begin = whole.find('\n') + 1;
  const std::size_t end = whole.find('\n', begin);
  for (std::size_t at = begin; at < end; ++at) {
    if (std::isdigit(static_cast<unsigned char>(whole[at])) == 0) continue;
    std::string changed = whole;
    changed[at] = changed[at] == '7' ? '8' : '7';
    const std::string path = path_of("digit");
    REQUIRE(write_file(path, changed).is_ok());
    CHECK_THAT(open(path).status().message(), ContainsSubstring("digit:2: is damaged"));
  }
}

TEST_CASE("the journal of another sweep is refused, with what differs, and stays as it is") {
  const std::string path = write_two_runs("other");
  const std::string before = text_of(path);
  Json identity = kIdentity;
  identity["grid"]["seeds"] = 2;
  const Status status = open(path, identity).status();
  CHECK(status.code() == StatusCode::kInvalidInput);
  CHECK_THAT(status.message(), ContainsSubstring("/grid/seeds was 1, is 2"));
  CHECK_THAT(status.message(), ContainsSubstring("--fresh"));
  CHECK(text_of(path) == before);
  const auto fresh = SweepJournal::open(path, identity, hash_of, JournalStart::kFresh);
  REQUIRE(fresh.is_ok());
  CHECK(fresh.value().finished().empty());
}

TEST_CASE("only one process writes at a time") {
  const std::string path = write_two_runs("locked");
  const auto holder = open(path);
  REQUIRE(holder.is_ok());
  const Status second = open(path).status();
  CHECK(second.code() == StatusCode::kInvalidInput);
  CHECK_THAT(second.message(), ContainsSubstring("another sweep is writing there"));
}

TEST_CASE("a journal that cannot be written is named") {
  CHECK_THAT(open("no/such/folder/journal").status().message(),
             ContainsSubstring("no/such/folder/journal: cannot be written"));
}

}  // namespace
}  // namespace recto::experiments
