#include "bazel/testing/mutator.h"

#include <set>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::testing {
namespace {

const std::vector<std::string> kCorpus = {"", "12,34,56\n", "{\"a\": [1.5]}"};

std::vector<std::string> first_inputs(std::uint64_t seed, std::size_t count) {
  Mutator mutator(seed);
  std::vector<std::string> inputs;
  while (inputs.size() < count) inputs.push_back(mutator.next_input(kCorpus));
  return inputs;
}

TEST_CASE("the same seed gives the same inputs, another seed others") {
  CHECK(first_inputs(1, 1000) == first_inputs(1, 1000));
  CHECK(first_inputs(1, 1000) != first_inputs(2, 1000));
}

TEST_CASE("inputs vary, grow and shrink") {
  const std::vector<std::string> inputs = first_inputs(1, 10000);
  std::set<std::size_t> sizes;
  for (const std::string& input : inputs) sizes.insert(input.size());
  CHECK(std::set<std::string>(inputs.begin(), inputs.end()).size() > 5000);
  CHECK(*sizes.begin() == 0);
  CHECK(*sizes.rbegin() > 50);
}

TEST_CASE("numbers and separators of text formats turn up") {
  std::string all;
  for (const std::string& input : first_inputs(1, 10000)) all += input;
  for (const char* word : {"18446744073709551616", "1e309", "\r\n", "\xef\xbb\xbf"}) {
    CHECK(all.find(word) != std::string::npos);
  }
}

}  // namespace
}  // namespace recto::testing
