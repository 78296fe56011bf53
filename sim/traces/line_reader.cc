#include "sim/traces/line_reader.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace recto::sim {
namespace {

constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteSource> source, const LineReaderOptions& options)
    : source_(std::move(source)), options_(options), buffer_(options.buffer_bytes + kLinePadding) {
  RECTO_CHECK_GT(options.buffer_bytes, std::size_t{0});
}

Result<std::optional<Line>> LineReader::next() {
  while (true) {
    ++line_number_;
    const Result<bool> found = find_line_end();
    if (!found.is_ok()) return found.status();
    std::string_view text(buffer_.data() + begin_, scanned_ - begin_);
    if (!found.value() && text.empty()) return std::optional<Line>();

    begin_ = scanned_ = std::min(scanned_ + 1, end_);
    if (line_number_ == 1 && text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (std::all_of(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\t'; })) {
      continue;
    }

    const auto offset = static_cast<std::size_t>(text.data() - buffer_.data());
    return std::optional<Line>(Line{text, line_number_, buffer_.size() - offset});
  }
}

Result<bool> LineReader::find_line_end() {
  while (true) {
    const void* newline = std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_);
    if (newline != nullptr) {
      scanned_ = static_cast<std::size_t>(static_cast<const char*>(newline) - buffer_.data());
    } else {
      scanned_ = end_;
    }
    if (scanned_ - begin_ > options_.line_bytes_max) {
      return Status::invalid_input("the line is longer than " +
                                   std::to_string(options_.line_bytes_max) + " bytes");
    }
    if (newline != nullptr) return true;
    if (source_state_ == SourceState::kAtEnd) return false;
    RECTO_RETURN_IF_ERROR(pull_more());
  }
}

Status LineReader::pull_more() {
  // The unfinished line moves to the front; the buffer doubles only when that line fills it.
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  scanned_ -= begin_;
  begin_ = 0;
  const std::size_t capacity = buffer_.size() - kLinePadding;
  if (end_ == capacity) buffer_.resize(2 * capacity + kLinePadding);

  const std::size_t room = std::min(buffer_.size() - kLinePadding - end_, options_.buffer_bytes);
  const Result<std::size_t> count = source_->read(std::span(buffer_).subspan(end_, room));
  if (!count.is_ok()) return count.status();
  if (count.value() == 0) source_state_ = SourceState::kAtEnd;
  end_ += count.value();
  bytes_read_ += static_cast<std::int64_t>(count.value());
  return Status::ok();
}

}  // namespace recto::sim
