#include "bazel/testing/mutator.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace recto::testing {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kInputBytesMax = 1 << 16;
constexpr std::size_t kRangeBytesMax = 64;

// Tokens that often break parsers of text formats: separators, quotes, line ends, byte-order marks,
// magic numbers of compressed files, words that only some number parsers accept.
constexpr std::array kTokens = {","sv,
                                "\n"sv,
                                "\r\n"sv,
                                "\r"sv,
                                "\t"sv,
                                " "sv,
                                ";"sv,
                                "\""sv,
                                "\\"sv,
                                "{"sv,
                                "}"sv,
                                "["sv,
                                "]"sv,
                                ":"sv,
                                "-"sv,
                                "+"sv,
                                "."sv,
                                "e"sv,
                                "#"sv,
                                "\0"sv,
                                "\xef\xbb\xbf"sv,
                                "NaN"sv,
                                "inf"sv,
                                "null"sv,
                                "true"sv,
                                "\x1f\x8b"sv,
                                "0x10"sv,
                                "\xff\xfe"sv,
                                "\\u"sv,
                                "[[[["sv,
                                "{\"a\":"sv,
                                "\n\n\n\n\n\n"sv,
                                "\xf0\x9f\x98"sv};

constexpr std::array kNumbers = {"0"sv,
                                 "-0"sv,
                                 "-1"sv,
                                 "1"sv,
                                 "0.5"sv,
                                 "1e308"sv,
                                 "1e309"sv,
                                 "-1e-320"sv,
                                 "255"sv,
                                 "65536"sv,
                                 "2147483647"sv,
                                 "2147483648"sv,
                                 "-2147483649"sv,
                                 "4294967296"sv,
                                 "9007199254740993"sv,
                                 "9223372036854775807"sv,
                                 "9223372036854775808"sv,
                                 "18446744073709551615"sv,
                                 "18446744073709551616"sv,
                                 "00000000000000000000000000000001"sv,
                                 "0.1e"sv,
                                 "1.2.3"sv,
                                 "1e99999"sv};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string Mutator::next_input(const std::vector<std::string>& corpus) {
  std::string input = corpus[below(corpus.size())];
  for (std::size_t left = 1 + below(5); left > 0; --left) mutate_once(input, corpus);
  if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
  return input;
}

// splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t Mutator::next_word() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::size_t Mutator::below(std::size_t bound) {
  return static_cast<std::size_t>(next_word() % bound);
}

void Mutator::mutate_once(std::string& input, const std::vector<std::string>& corpus) {
  switch (input.empty() ? 6 : below(9)) {
    case 0:
      return flip_bit(input);
    case 1:
      return set_byte(input);
    case 2:
      return truncate(input);
    case 3:
      return erase_range(input);
    case 4:
      return repeat_range(input);
    case 5:
      return splice(input, corpus[below(corpus.size())]);
    case 6:
      return insert_token(input);
    default:
      return edit_number(input);  // twice as likely, because most of our input is numbers
  }
}

void Mutator::flip_bit(std::string& input) {
  char& byte = input[below(input.size())];
  byte = static_cast<char>(byte ^ (1 << below(8)));
}

void Mutator::set_byte(std::string& input) {
  input[below(input.size())] = static_cast<char>(below(256));
}

void Mutator::truncate(std::string& input) { input.resize(below(input.size())); }

void Mutator::erase_range(std::string& input) {
  input.erase(below(input.size()), 1 + below(kRangeBytesMax));
}

void Mutator::repeat_range(std::string& input) {
  const std::string range = input.substr(below(input.size()), 1 + below(kRangeBytesMax));
  input.insert(below(input.size() + 1), range);
}

void Mutator::splice(std::string& input, const std::string& other) {
  input.resize(below(input.size() + 1));
  input += other.substr(below(other.size() + 1));
}

void Mutator::insert_token(std::string& input) {
  input.insert(below(input.size() + 1), kTokens[below(kTokens.size())]);
}

// Replaces the first number after a random place, but not its sign and point.
void Mutator::edit_number(std::string& input) {
  const auto first = std::find_if(input.begin() + static_cast<std::ptrdiff_t>(below(input.size())),
                                  input.end(), is_digit);
  if (first == input.end()) return insert_token(input);
  const auto last = std::find_if_not(first, input.end(), is_digit);
  input.replace(first, last, kNumbers[below(kNumbers.size())]);
}

}  // namespace recto::testing
