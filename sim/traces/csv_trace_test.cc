#include "sim/traces/format_detection.h"

#include <string>

#include "bazel/testing/catch.h"
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

TEST_CASE("a time that is none is refused by name") {
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

}  // namespace
}  // namespace recto::sim
