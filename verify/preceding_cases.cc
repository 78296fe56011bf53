#include "verify/preceding_cases.h"

#include <utility>

namespace recto::verify {
namespace {

constexpr std::int64_t kNumbersMax = std::int64_t{1} << 26;

std::int64_t numbers_in(const DescribedCase& described) {
  std::size_t numbers = 0;
  for (const SequenceProblem& sequence : described.law_case.problem.sequences)
    numbers += sequence.q.size() + sequence.k.size() + sequence.v.size();
  return static_cast<std::int64_t>(numbers);
}

}  // namespace

void PrecedingCases::add(std::shared_ptr<const DescribedCase> described) {
  numbers_ += numbers_in(*described);
  cases_.push_back(std::move(described));
  while (!cases_.empty() && (cases_.size() > kMost || numbers_ > kNumbersMax)) {
    numbers_ -= numbers_in(*cases_.front());
    cases_.erase(cases_.begin());
  }
}

}  // namespace recto::verify
