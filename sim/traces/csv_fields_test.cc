#include "sim/traces/text_fields.h"

#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

std::vector<std::string> split(std::string_view line) {
  CsvFields fields;
  REQUIRE(fields.split(line) == Status::ok());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < fields.size(); ++i) texts.emplace_back(fields[i]);
  return texts;
}

TEST_CASE("a line is split at its commas") {
  CHECK(split("a,b,c") == std::vector<std::string>{"a", "b", "c"});
  CHECK(split("a") == std::vector<std::string>{"a"});
  CHECK(split("") == std::vector<std::string>{""});
  CHECK(split(",") == std::vector<std::string>{"", ""});
  CHECK(split("a,,b,") == std::vector<std::string>{"a", "", "b", ""});
}

TEST_CASE("quotes protect commas and themselves") {
  CHECK(split(R"("a,b",c)") == std::vector<std::string>{"a,b", "c"});
  CHECK(split(R"(x,"say ""hi""","")") == std::vector<std::string>{"x", "say \"hi\"", ""});
  CHECK(split(R"("one","two, three","four""")") ==
        std::vector<std::string>{"one", "two, three", "four\""});
  CHECK(split(R"(5" wide,x)") == std::vector<std::string>{"5\" wide", "x"});
}

TEST_CASE("a splitter is as good as new after an error") {
  CsvFields fields;
  CHECK(fields.split(R"(a,"b)").message() == "column 2: expected a closing quote on the same line");
  CHECK(fields.split(R"(a,"b"c,d)").message() ==
        "column 2: expected a comma after the closing quote");
  REQUIRE(fields.split("x,y") == Status::ok());
  CHECK(fields.size() == 2);
  CHECK(fields[1] == "y");
}

}  // namespace
}  // namespace recto::sim
