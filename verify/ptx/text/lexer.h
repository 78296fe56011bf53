#pragma once

// Splits PTX text into tokens.

#include <cstdint>
#include <string>
#include <string_view>

namespace recto::ptx::text {

enum class TokenKind : std::uint8_t {
  kWord,    // ld, %r1, $L__BB0_2
  kDotted,  // .global, .shared::cta, without its dot
  kNumber,  // 12, 0x1fU, 0f3F800000, 9.0
  kString,  // without quotation marks
  kMark,    // one character
  kEnd,
  kBad,  // not PTX; the text says why
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text = {};
  std::uint32_t line = 1;
  bool follows_space = false;  // white space, a comment or a line's end stand before it

  bool is(char mark) const { return kind == TokenKind::kMark && text[0] == mark; }
  bool is_dotted(std::string_view word) const { return kind == TokenKind::kDotted && text == word; }
};

class Lexer {
 public:
  // `text` outlives the lexer and its tokens.
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next();

 private:
  char at(std::size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  bool skip_space();  // false in an endless comment
  Token token(TokenKind kind, std::size_t end);
  Token bad(std::string_view why);
  std::size_t end_of_word(std::size_t from) const;
  std::size_t end_of_number() const;

  std::string_view text_;
  std::size_t position_ = 0;
  std::uint32_t line_ = 1;
  bool skipped_space_ = false;
};

}  // namespace recto::ptx::text
