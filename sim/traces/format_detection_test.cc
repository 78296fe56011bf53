#include "sim/traces/format_detection.h"

#include <string>
#include <string_view>

#include "bazel/testing/catch.h"
#include "sim/traces/gzip_text.h"
#include "sim/traces/text_trace.h"

namespace recto::sim {
namespace {

using recto::testing::error_of;
using recto::testing::outline;
using recto::testing::outline_of_file;
using recto::testing::read_text;

const std::string kAzure = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
const std::string kBurstGpt = "Timestamp,Model,Request tokens,Response tokens,Total tokens\n";
const std::string kPlain = "arrival_s,prompt_tokens,output_tokens\n";

TEST_CASE("each CSV format is read from its fixture") {
  const std::string folder = "sim/traces/testdata/";
  CHECK(outline_of_file(folder + "azure_2023.csv") ==
        "Azure CSV: 0 374 44; 4314579000 396 109; 4541877000 879 55");
  CHECK(outline_of_file(folder + "azure_2024.csv") ==
        "Azure CSV: 0 2162 5; 7405000 2399 6; 990070000 76 15");
  CHECK(outline_of_file(folder + "burstgpt.csv") == "BurstGPT CSV: 0 472 18; 113500000000 417 276");
  CHECK(outline_of_file(folder + "vidur.csv") ==
        "Vidur CSV: 0 374 44; 4314579000 396 109; 5892655000 91 16");
  CHECK(outline_of_file(folder + "plain.csv") ==
        "plain CSV: 0 100 20; 1 5 1; 10000 7 2; 2500000000 1000 300");
}

TEST_CASE("columns may stand in any order, between others, quoted and with blanks") {
  CHECK(outline(read_text("id,output_tokens, arrival_s ,\"prompt_tokens\",note\n"
                          "a,3, 1.5 ,\"4\",\"x, y\"\n"
                          "b,5,2,6,\n")) == "0 4 3; 500000000 6 5");
}

TEST_CASE("a length that no request can have is refused by name") {
  const std::string expected =
      "t:2: field ContextTokens: expected a whole number from 1 to 100000000, got ";
  const auto azure_with_context = [](const std::string& context) {
    return kAzure + "2023-11-16 18:15:46.0," + context + ",44\n";
  };
  CHECK(error_of(azure_with_context("-3")) == expected + "\"-3\"");
  CHECK(error_of(azure_with_context("0")) == expected + "\"0\"");
  CHECK(error_of(azure_with_context("")) == expected + "\"\"");
  CHECK(error_of(azure_with_context("12.5")) == expected + "\"12.5\"");
  CHECK(error_of(azure_with_context("nan")) == expected + "\"nan\"");
  CHECK(error_of(azure_with_context("inf")) == expected + "\"inf\"");
  CHECK(error_of(azure_with_context("100000001")) == expected + "\"100000001\"");
  CHECK(error_of(azure_with_context("99999999999999999999")) ==
        expected + "\"99999999999999999999\"");
  CHECK(error_of(azure_with_context("\xff\x01")) == expected + R"("\xff\x01")");
  CHECK(error_of(azure_with_context(std::string(100, '9'))) ==
        expected + '"' + std::string(60, '9') + "\"...");
  CHECK(error_of(azure_with_context("100000000")).empty());
}

TEST_CASE("no output tokens are an error, except where they mark a failed request") {
  CHECK(error_of(kAzure + "2023-11-16 18:15:46.0,5,0\n") ==
        "t:2: field GeneratedTokens: expected a whole number from 1 to 100000000, got \"0\"");
  CHECK(error_of(kPlain + "0,5,0\n") ==
        "t:2: field output_tokens: expected a whole number from 1 to 100000000, got \"0\"");
  CHECK(error_of(kBurstGpt + "1,ChatGPT,5,-1,4\n") ==
        "t:2: field Response tokens: expected a whole number from 1 to 100000000, got \"-1\"");
  CHECK(outline(read_text(kBurstGpt + "1,ChatGPT,0,0,0\n2,ChatGPT,5,6,11\n")) == "0 5 6");
}

TEST_CASE("a malformed arrival time is refused by field") {
  CHECK(error_of(kAzure + "yesterday,5,5\n") ==
        "t:2: field TIMESTAMP: expected a date and time such as 2023-11-16 18:15:46.6805900, got "
        "\"yesterday\"");
  CHECK(error_of(kAzure + "2023-02-30 00:00:00,5,5\n") ==
        "t:2: field TIMESTAMP: expected a date and time such as 2023-11-16 18:15:46.6805900, got "
        "\"2023-02-30 00:00:00\"");
  for (const std::string time : {"-1", "nan", "inf", "1e999", "", "1:30"}) {
    CHECK(error_of(kPlain + time + ",5,5\n") ==
          "t:2: field arrival_s: expected seconds, a decimal number of at least 0, got \"" + time +
              "\"");
  }
}

TEST_CASE("a row of the wrong shape is refused") {
  CHECK(error_of(kPlain + "0,5\n") == "t:2: expected 3 fields as in the header, got 2");
  CHECK(error_of(kPlain + "0,5,5,5\n") == "t:2: expected 3 fields as in the header, got 4");
  CHECK(error_of(kPlain + "0,\"5,5\n") ==
        "t:2: column 2: expected a closing quote on the same line");
  CHECK(error_of(kPlain + "0,\"5\"x,5\n") ==
        "t:2: column 2: expected a comma after the closing quote");
}

TEST_CASE("a header that lacks or repeats a column is refused") {
  CHECK(error_of("TIMESTAMP,ContextTokens\n") ==
        "t:1: column GeneratedTokens is missing: the header of Azure CSV needs "
        "TIMESTAMP,ContextTokens,GeneratedTokens, got \"TIMESTAMP,ContextTokens\"");
  CHECK(error_of("arrival_s,prompt_tokens,arrival_s,output_tokens\n") ==
        "t:1: column arrival_s appears more than once in the header");
  CHECK(error_of("2023-11-16 18:15:46.0,5,5\n") ==
        "t:1: not a known trace: expected JSON lines or a CSV header with "
        "TIMESTAMP,ContextTokens,GeneratedTokens or Timestamp,Request tokens,Response tokens or "
        "arrived_at,num_prefill_tokens,num_decode_tokens or "
        "arrival_s,prompt_tokens,output_tokens, got \"2023-11-16 18:15:46.0,5,5\"");
  CHECK(known_csv_headers().ends_with("or arrival_s,prompt_tokens,output_tokens"));
}

using std::string_view_literals::operator""sv;

TEST_CASE("an empty file and files of other formats are refused with what they are") {
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

TEST_CASE("an unknown JSON object is refused with the known ones") {
  CHECK(error_of("{\"prompt\": \"hello\"}\n") ==
        "t:1: not a known trace: expected a JSON object with input_length (Mooncake), "
        "input_length and chat_id (Qwen-Bailian) or input_toks (LLMServingSim), got "
        "\"{\"prompt\": \"hello\"}\"");
  CHECK(error_of("{\n  \"timestamp\": 0\n}\n") ==
        "t:1: expected one JSON object on the line, got \"{\"");
}

}  // namespace
}  // namespace recto::sim
