#pragma once

// Reads lines of text from a byte source, in a buffer that grows only to the longest line.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "sim/traces/byte_source.h"

namespace recto::sim {

struct Line {
  std::string_view text;           // without its line end and byte-order mark; valid until next()
  std::int64_t number = 0;         // from 1
  std::size_t readable_bytes = 0;  // from text.data() on: the text and at least kLinePadding more
};

// Bytes after a line that may be read, though not used: fast parsers read whole vectors.
inline constexpr std::size_t kLinePadding = 64;

struct LineReaderOptions {
  std::size_t buffer_bytes = 64 * 1024;           // requested from the source at a time; > 0
  std::size_t line_bytes_max = 64 * 1024 * 1024;  // a longer line is an error
};

class LineReader {
 public:
  LineReader(std::unique_ptr<ByteSource> source, const LineReaderOptions& options);

  // Returns the next line that is not blank; nullopt at the end. "\n" and "\r\n" end a line; the
  // last line needs neither. A UTF-8 byte-order mark at the start is dropped. Amortised O(bytes).
  Result<std::optional<Line>> next();

  // The number of the line that `next` returned last, or was reading when it failed.
  std::int64_t line_number() const { return line_number_; }

  // Bytes of text pulled from the source so far.
  std::int64_t bytes_read() const { return bytes_read_; }

 private:
  // Finds the end of the line that starts at begin_, pulling bytes as needed. Returns false if
  // there is no line because the text has ended.
  Result<bool> find_line_end();
  Status pull_more();

  std::unique_ptr<ByteSource> source_;
  LineReaderOptions options_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;    // of the current line
  std::size_t scanned_ = 0;  // no '\n' in [begin_, scanned_)
  std::size_t end_ = 0;      // end of the buffered bytes
  std::int64_t line_number_ = 0;
  std::int64_t bytes_read_ = 0;
  enum class SourceState { kOpen, kAtEnd } source_state_ = SourceState::kOpen;
};

}  // namespace recto::sim
