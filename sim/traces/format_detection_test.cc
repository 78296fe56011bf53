#include "sim/traces/format_detection.h"

#include <string>
#include <string_view>

#include "bazel/testing/catch.h"
#include "sim/traces/gzip_text.h"
#include "sim/traces/text_trace.h"

namespace recto::sim {
namespace {

using recto::testing::error_of;
using std::string_view_literals::operator""sv;

TEST_CASE("what is no trace is called what it is") {
  CHECK(error_of("") == "t: is empty: expected a trace");
  CHECK(error_of("\n \n") == "t: is empty: expected a trace");
  CHECK(error_of("\xef\xbb\xbf") == "t: is empty: expected a trace");
  CHECK(error_of("\xff\xfe"
                 "a\0b\0"sv) == "t:1: is UTF-16 text: expected UTF-8");
  CHECK(error_of("\xfe\xff\0a\0b"sv) == "t:1: is UTF-16 text: expected UTF-8");
  CHECK(error_of("\x28\xb5\x2f\xfd...") ==
        "t:1: is compressed with zstd: expected plain text or gzip");
  CHECK(error_of("\xfd\x37zXZ") == "t:1: is compressed with xz: expected plain text or gzip");
  CHECK(error_of("BZh91AY") == "t:1: is compressed with bzip2: expected plain text or gzip");
  CHECK(error_of("PK\x03\x04") == "t:1: is a zip archive: expected plain text or gzip");
  CHECK(error_of("PAR1\x15") == "t:1: is a Parquet file: expected CSV or JSON lines");
  CHECK(error_of("\x7f"
                 "ELF\x02\x01"sv) ==
        "t:1: is a binary file (byte 0x02 in column 5): expected CSV or JSON lines");
  CHECK(error_of("arrival_s,\0"sv) ==
        "t:1: is a binary file (byte 0x00 in column 11): expected CSV or JSON lines");
  CHECK(error_of("version https://git-lfs.github.com/spec/v1\noid sha256:4bb\n") ==
        "t:1: is a Git LFS pointer, not the file itself: fetch the file from its LFS storage");
  CHECK(error_of("[{\"timestamp\": 0}]") ==
        "t:1: is a JSON array: expected one JSON object per line");
  CHECK(error_of(recto::testing::gzip(recto::testing::gzip("x"))) ==
        "t:1: is gzip inside gzip: expected it to be compressed once");
}

TEST_CASE("a JSON object of another kind is refused with what would be known") {
  CHECK(error_of("{\"prompt\": \"hello\"}\n") ==
        "t:1: not a known trace: expected a JSON object with input_length (Mooncake), "
        "input_length and chat_id (Qwen-Bailian) or input_toks (LLMServingSim), got "
        "\"{\"prompt\": \"hello\"}\"");
  CHECK(error_of("{\n  \"timestamp\": 0\n}\n") ==
        "t:1: expected one JSON object on the line, got \"{\"");
}

}  // namespace
}  // namespace recto::sim
