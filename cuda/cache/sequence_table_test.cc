#include "cuda/cache/sequence_table.h"

#include "bazel/testing/catch.h"

namespace recto::cache {
namespace {

TEST_CASE("a closed index is used again under another generation") {
  SequenceTable table = SequenceTable::create(2).value();
  const SequenceHandle first = table.handle(table.open());
  CHECK(first == SequenceHandle{.index = 0, .generation = 1});
  CHECK(table.find(first).value() == 0);
  table.retire(0);
  CHECK(table.find(first).status() ==
        Status::invalid_input("sequence 0 (generation 1) was released"));
  CHECK(table.find(table.handle(0)).status().code() == StatusCode::kInvalidInput);
  table.close(0);
  CHECK(table.num_free() == 2);
  CHECK(table.handle(table.open()) == SequenceHandle{.index = 0, .generation = 2});
}

TEST_CASE("a handle that was not issued yet names no sequence") {
  SequenceTable table = SequenceTable::create(2).value();
  CHECK_FALSE(table.is_alive({.index = 0, .generation = 1}));
  CHECK(table.find({.index = 0, .generation = 1}).status() ==
        Status::invalid_input("sequence 0 (generation 1) was never issued"));
  CHECK(table.find({}).status() ==
        Status::invalid_input("sequence 0 (generation 0) was never issued"));
  CHECK(table.find({.index = 2, .generation = 1}).status() ==
        Status::invalid_input("sequence 2 (generation 1) is unknown: indices are 0 to 1"));
}

TEST_CASE("generations wrap around to 1, past the 0 that names no sequence") {
  SequenceTable table = SequenceTable::create(1).value();
  table.open();
  table[0].generation = 0xffff'ffff;
  table.retire(0);
  table.close(0);
  CHECK(table.handle(table.open()).generation == 1);
}

TEST_CASE("the marks of two operations differ") {
  SequenceTable table = SequenceTable::create(2).value();
  const std::int32_t index = table.open();
  table[index].mark = table.next_mark();
  CHECK(table.next_mark() != table[index].mark);
}

TEST_CASE("misuse of the table of sequences is a broken contract") {
  SequenceTable table = SequenceTable::create(1).value();
  table.open();
  CHECK_THROWS_AS(table.open(), ContractFailure);
  CHECK_THROWS_AS(table.close(0), ContractFailure);
  table.retire(0);
  CHECK_THROWS_AS(table.retire(0), ContractFailure);
}

}  // namespace
}  // namespace recto::cache
