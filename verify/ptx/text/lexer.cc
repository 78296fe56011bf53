#include "verify/ptx/text/lexer.h"

namespace recto::ptx::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool begins_word(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%'; }
bool is_in_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$'; }

constexpr std::string_view kMarks = "{}()[]<>,;:@!|+-=.?~&^*/";

}  // namespace

bool Lexer::skip_space() {
  skipped_space_ = false;
  while (position_ < text_.size()) {
    const char c = at();
    if (c == '\n') {
      ++line_;
      ++position_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++position_;
    } else if (c == '/' && at(1) == '/') {
      while (position_ < text_.size() && at() != '\n') ++position_;
    } else if (c == '/' && at(1) == '*') {
      const std::size_t end = text_.find("*/", position_ + 2);
      if (end == std::string_view::npos) return false;
      for (; position_ < end + 2; ++position_) line_ += at() == '\n' ? 1 : 0;
    } else {
      return true;
    }
    skipped_space_ = true;
  }
  return true;
}

Token Lexer::token(TokenKind kind, std::size_t end) {
  Token made{kind, text_.substr(position_, end - position_), line_, skipped_space_};
  position_ = end;
  return made;
}

Token Lexer::bad(std::string_view why) {
  position_ = text_.size();
  return {TokenKind::kBad, why, line_, skipped_space_};
}

// Words may be joined by "::", as in .shared::cta.
std::size_t Lexer::end_of_word(std::size_t from) const {
  std::size_t end = from;
  while (end < text_.size()) {
    if (is_in_word(text_[end])) {
      ++end;
    } else if (text_.substr(end, 2) == "::" && end + 2 < text_.size() &&
               is_in_word(text_[end + 2])) {
      end += 2;
    } else {
      break;
    }
  }
  return end;
}

// Letters belong to a number: 0x1fU, 0f3F800000, 1e5. A sign belongs to a decimal exponent, and a
// point to a decimal (1.5, 0.) unless a word follows it.
std::size_t Lexer::end_of_number() const {
  std::size_t end = position_;
  const bool is_coded = at() == '0' && is_letter(at(1));
  while (end < text_.size()) {
    const char c = text_[end];
    const char before = end > position_ ? text_[end - 1] : '\0';
    const bool is_sign = !is_coded && (c == '+' || c == '-') && (before == 'e' || before == 'E');
    const bool is_point =
        !is_coded && c == '.' && (end + 1 == text_.size() || !begins_word(text_[end + 1]));
    if (!is_digit(c) && !is_letter(c) && !is_sign && !is_point) break;
    ++end;
  }
  return end;
}

Token Lexer::next() {
  if (!skip_space()) return bad("a comment without an end");
  if (position_ >= text_.size()) return {TokenKind::kEnd, "the end", line_, skipped_space_};
  const char c = at();
  if (is_digit(c)) return token(TokenKind::kNumber, end_of_number());
  if (begins_word(c)) {
    // `%` alone is no word, nor is a second one inside a word.
    const std::size_t end = end_of_word(position_ + 1);
    if (c == '%' && end == position_ + 1) return bad("a '%' without a name");
    return token(TokenKind::kWord, end);
  }
  if (c == '.' && (is_letter(at(1)) || at(1) == '_' || is_digit(at(1)))) {
    ++position_;
    return token(TokenKind::kDotted, end_of_word(position_));
  }
  if (c == '"') {
    const std::size_t end = text_.find_first_of("\"\n", position_ + 1);
    if (end == std::string_view::npos || text_[end] == '\n') return bad("a string without an end");
    ++position_;
    Token made = token(TokenKind::kString, end);
    ++position_;
    return made;
  }
  if (kMarks.find(c) != std::string_view::npos) return token(TokenKind::kMark, position_ + 1);
  return bad("a character that PTX does not have");
}

}  // namespace recto::ptx::text
