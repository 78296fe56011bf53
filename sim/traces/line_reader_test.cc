#include "sim/traces/line_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

using NumberedLine = std::pair<std::int64_t, std::string>;

std::vector<NumberedLine> read_lines(const std::string& bytes, std::size_t buffer_bytes) {
  LineReader reader(make_memory_source(bytes), {.buffer_bytes = buffer_bytes});
  std::vector<NumberedLine> lines;
  while (true) {
    const std::optional<Line> line = reader.next().value();
    if (!line) break;
    CHECK(line->readable_bytes >= line->text.size() + kLinePadding);
    lines.emplace_back(line->number, line->text);
  }
  CHECK_FALSE(reader.next().value().has_value());
  CHECK(reader.bytes_read() == static_cast<std::int64_t>(bytes.size()));
  return lines;
}

TEST_CASE("lines come with their numbers, whatever the size of the buffer") {
  for (const std::size_t buffer : {1, 2, 3, 5, 8, 1000}) {
    CAPTURE(buffer);
    const std::vector<NumberedLine> ab = {{1, "a"}, {2, "bcdefg"}};
    CHECK(read_lines("a\nbcdefg\n", buffer) == ab);
    CHECK(read_lines("a\nbcdefg", buffer) == ab);
    CHECK(read_lines("a\r\nbcdefg\r\n", buffer) == ab);
    CHECK(read_lines("\xef\xbb\xbf"
                     "a\nbcdefg\r",
                     buffer) == ab);
    CHECK(read_lines("", buffer).empty());
    CHECK(read_lines("\n \t\r\n\n", buffer).empty());
  }
}

TEST_CASE("blank lines are passed over but counted") {
  CHECK(read_lines("\n\na\n \nb\n\n", 4) == std::vector<NumberedLine>{{3, "a"}, {5, "b"}});
}

TEST_CASE("only a byte-order mark at the start of the file is dropped") {
  CHECK(read_lines("\xef\xbb\xbf\xef\xbb\xbf"
                   "a\n\xef\xbb\xbf"
                   "b",
                   4) == std::vector<NumberedLine>{{1,
                                                    "\xef\xbb\xbf"
                                                    "a"},
                                                   {2,
                                                    "\xef\xbb\xbf"
                                                    "b"}});
}

TEST_CASE("a line beyond the limit is an error, at the limit it is none") {
  for (const std::size_t buffer : {1, 4, 100}) {
    const LineReaderOptions options{.buffer_bytes = buffer, .line_bytes_max = 5};
    LineReader reader(make_memory_source("12345\n123456\n1\n"), options);
    CHECK(reader.next().value()->text == "12345");
    const Result<std::optional<Line>> too_long = reader.next();
    CHECK(too_long.status() == Status::invalid_input("the line is longer than 5 bytes"));
    CHECK(reader.line_number() == 2);
  }
}

// An endless source of zeros, which stands for a file larger than memory.
class EndlessSource final : public ByteSource {
 public:
  Result<std::size_t> read(std::span<char> buffer) override {
    pulled_ += buffer.size();
    return buffer.size();
  }
  std::size_t pulled() const { return pulled_; }

 private:
  std::size_t pulled_ = 0;
};

TEST_CASE("a line without end is given up at the limit") {
  auto endless = std::make_unique<EndlessSource>();
  const EndlessSource& source = *endless;
  LineReader reader(std::move(endless), {.buffer_bytes = 1024, .line_bytes_max = 100'000});
  CHECK_FALSE(reader.next().is_ok());
  CHECK(source.pulled() <= 102'400);
}

}  // namespace
}  // namespace recto::sim
