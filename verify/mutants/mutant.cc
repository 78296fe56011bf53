#include "verify/mutants/mutant.h"

#include <cstdlib>

namespace recto::verify {
namespace {

int read_number() {
  const char* const text = std::getenv("RECTO_MUTANT");
  return text == nullptr ? 0 : std::atoi(text);
}

}  // namespace

const int kAwakeMutant = read_number();

}  // namespace recto::verify
