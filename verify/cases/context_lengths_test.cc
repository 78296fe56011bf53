#include "verify/cases/context_lengths.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "verify/cases/sample_checks.h"

namespace recto::verify {
namespace {

std::vector<std::int64_t> draw_many(const LengthDomain& domain, std::size_t count) {
  RandomStream stream(2026);
  std::vector<std::int64_t> lengths(count);
  for (std::int64_t& length : lengths) length = draw_length(domain, stream);
  return lengths;
}

TEST_CASE("edges are 0, 1, the longest, and each multiple of each size with its neighbours") {
  CHECK(edge_lengths({.sizes = {4, 6}, .max = 13}) ==
        std::vector<std::int64_t>{0, 1, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13});
  CHECK(edge_lengths({.sizes = {16}, .max = 40}) ==
        std::vector<std::int64_t>{0, 1, 15, 16, 17, 31, 32, 33, 40});
  CHECK(edge_lengths({.sizes = {}, .max = 7}) == std::vector<std::int64_t>{0, 1, 7});
  CHECK(edge_lengths({.sizes = {16}, .max = 0}) == std::vector<std::int64_t>{0});
}

TEST_CASE("an edge just beyond the longest length is left out, one that is the longest is not") {
  CHECK(edge_lengths({.sizes = {16}, .max = 16}) == std::vector<std::int64_t>{0, 1, 15, 16});
  CHECK(edge_lengths({.sizes = {16}, .max = 15}) == std::vector<std::int64_t>{0, 1, 15});
  CHECK(edge_lengths({.sizes = {16}, .max = 14}) == std::vector<std::int64_t>{0, 1, 14});
}

TEST_CASE("a negative longest length or a size of 0 is a broken contract") {
  RandomStream stream(1);
  CHECK_THROWS_AS(edge_lengths({.sizes = {16}, .max = -1}), ContractFailure);
  CHECK_THROWS_AS(edge_lengths({.sizes = {0}, .max = 5}), ContractFailure);
  CHECK_THROWS_AS(draw_length({.sizes = {16}, .max = -1}, stream), ContractFailure);
  CHECK(edge_lengths({.sizes = {1}, .max = 1}) == std::vector<std::int64_t>{0, 1});
  CHECK(draw_length({.sizes = {1}, .max = 0}, stream) == 0);
}

TEST_CASE("drawn lengths stay in range and hit every edge and every residue of every size") {
  const LengthDomain domain{.sizes = {1, 4, 48, 64, 256}, .max = 600};
  const std::vector<std::int64_t> lengths = draw_many(domain, 50'000);
  CHECK(std::ranges::min(lengths) == 0);
  CHECK(std::ranges::max(lengths) == 600);
  for (const std::int64_t edge : edge_lengths(domain)) {
    CAPTURE(edge);
    CHECK(std::ranges::count(lengths, edge) > 0);
  }
  for (const std::int64_t size : domain.sizes) {
    std::vector<std::int64_t> seen(static_cast<std::size_t>(size));
    for (const std::int64_t length : lengths) ++seen[static_cast<std::size_t>(length % size)];
    CAPTURE(size);
    CHECK(std::ranges::min(seen) > 0);
  }
}

TEST_CASE("three lengths of four lie at an edge, or next to it on either side, equally often") {
  // A single size, so that no other contributes to its residues; no multiple equals the longest
  // length.
  const LengthDomain domain{.sizes = {100}, .max = 1050};
  const std::vector<std::int64_t> lengths = draw_many(domain, 100'000);
  const std::vector<double> values(lengths.begin(), lengths.end());
  const double uniform = 0.25 / 1051;
  for (const std::int64_t side : {-1, 0, 1}) {
    CAPTURE(side);
    // Multiples 100 ... 1000, of the eleven that start at 0.
    const double probability = 0.75 / 3 * 10 / 11 + 10 * uniform;
    const double share = share_of(values, [&](double x) {
      const auto length = static_cast<std::int64_t>(x) - side;
      return length % 100 == 0 && length > 0;
    });
    CHECK(std::abs(share - probability) < share_bound(probability, values.size()));
  }
}

}  // namespace
}  // namespace recto::verify
