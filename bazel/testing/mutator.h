#pragma once

// Mutations of inputs for fuzz tests that run without libFuzzer: the same seed gives the same
// inputs everywhere.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace recto::testing {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : state_(seed) {}

  // Takes one entry of the corpus (not empty) and changes it in one to five ways.
  std::string next_input(const std::vector<std::string>& corpus);

 private:
  std::uint64_t next_word();
  std::size_t below(std::size_t bound);  // bound > 0

  void mutate_once(std::string& input, const std::vector<std::string>& corpus);
  void flip_bit(std::string& input);
  void set_byte(std::string& input);
  void truncate(std::string& input);
  void erase_range(std::string& input);
  void repeat_range(std::string& input);
  void splice(std::string& input, const std::string& other);
  void insert_token(std::string& input);
  void edit_number(std::string& input);

  std::uint64_t state_;
};

}  // namespace recto::testing
