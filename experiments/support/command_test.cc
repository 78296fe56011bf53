#include "experiments/support/command.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/support/run_config.h"
#include "experiments/support/testing/tried_command.h"

namespace recto::experiments {
namespace {

using Names = std::vector<std::string>;

const Option& option_of(const Command& command, const std::string& name) {
  for (const Option& option : command.options)
    if (option.name == name) return option;
  FAIL("there is no " << name);
  return command.options.front();
}

// Shows the values of its options.
Command tried() {
  struct Values {
    bool is_quiet = false;
    std::string law;
    std::optional<std::int64_t> count;
    double share = 0;
    std::uint64_t seed = 0;
    std::vector<std::int64_t> sizes;
    std::vector<std::string> files;
    std::string folder;
  };
  auto values = std::make_shared<Values>();
  Command command("sub", "below");
  command.add("folder DIR", nonempty_text(values->folder, "a folder"), "the first word");
  command.add("-q,--quiet", flag(values->is_quiet), "says\nnothing");
  command.add("--law LIST", any_text(values->law), "of them").value.known = {"x", "y"};
  command.add("--count N", integer(values->count, {1, 100}), "how many");
  command.add("--share P", number(values->share, {0, 1}), "of all").needs = {"--count"};
  command.add("--seed N", integer(values->seed), "of chance");
  command.add("--sizes N,...", integers(values->sizes, {1, 8}), "each").excludes = {"--quiet"};
  command.add("--file FILE", any_text(values->files), "may be given again").group = "Files";
  command.footer = "the end";
  command.run = [values](CommandContext& context) {
    context.out << values->is_quiet << '|' << values->law << '|' << values->count.value_or(-1)
                << '|' << values->share << '|' << values->seed << '|';
    for (const std::int64_t size : values->sizes) context.out << size << ' ';
    context.out << '|';
    for (const std::string& file : values->files) context.out << file << ' ';
    context.out << '|';
    for (const std::string& name : context.given) context.out << name << ' ';
    return Status::ok();
  };
  return command;
}

std::string printed(Names words) {
  words.insert(words.begin(), "sub");
  const testing::TriedCommand done = testing::try_command(tried, words);
  CHECK(done.exit_code == (done.err.empty() ? 0 : 2));
  return done.out + done.err;
}

TEST_CASE("declared options know their flags, kind, known values, group and help") {
  Command program("program", "about");
  bool is_flag = false;
  std::string text;
  std::vector<std::string> list;
  program.add("-q,--quiet", flag(is_flag), "says\nnothing");
  program.add("--view KIND", one_of(text, {"a", "b"}), "of it");
  program.add("--trace FILE", any_text(text), "");
  program.add("--out DIR", any_text(text), "");
  Option& law = program.add("--law LIST", any_text(text), "");
  law.value.known = {"x", "y"};
  law.group = "Laws";
  program.add("--n N,...", any_text(list), "");
  program.add("WHAT", any_text(text), "");
  program.commands.push_back(tried());
  CHECK(program.name == "program");
  CHECK(program.about == "about");

  const Option& quiet = option_of(program, "--quiet");
  CHECK(quiet.flags == Names{"-q", "--quiet"});
  CHECK(quiet.help_line() == "says nothing");
  CHECK(quiet.kind() == ValueKind::kNone);
  CHECK(quiet.value_name.empty());
  CHECK(option_of(program, "--view").value.known == Names{"a", "b"});
  CHECK(option_of(program, "--view").kind() == ValueKind::kText);
  CHECK_FALSE(option_of(program, "--view").is_list());
  CHECK(option_of(program, "--trace").kind() == ValueKind::kFile);
  CHECK(option_of(program, "--out").kind() == ValueKind::kFolder);
  CHECK(option_of(program, "--law").value.known == Names{"x", "y"});
  CHECK(option_of(program, "--law").is_list());
  CHECK(option_of(program, "--law").group == "Laws");
  CHECK(option_of(program, "--n").is_list());
  CHECK(option_of(program, "--n").value.known.empty());
  CHECK(program.options.size() == 8);  // with --help
  CHECK(program.options.back().is_positional());
  CHECK(program.options.back().value_name == "WHAT");
  REQUIRE(program.commands.size() == 1);
  CHECK(program.commands[0].name == "sub");
  CHECK(program.commands[0].about == "below");
  CHECK(program.commands[0].footer == "the end");
}

TEST_CASE("known values change neither the help nor the values accepted") {
  const auto without_names = [] {
    Command command = tried();
    for (Option& option : command.options) option.value.known.clear();
    return command;
  };
  const std::string help = printed({"--help"});
  CHECK(help.find("--law LIST") != std::string::npos);
  CHECK(help == testing::try_command(without_names, {"sub", "--help"}).out);
  CHECK(printed({"d", "--law", "z"}) == "0|z|-1|0|0|||folder --law ");
}

TEST_CASE("values are stored, and options known in the order of the command line") {
  CHECK(printed({"--file", "b", "--quiet", "d", "--file=a", "--share", "0.5", "--count", "100"}) ==
        "1||100|0.5|0||b a |--file --quiet folder --file --share --count ");
  CHECK(printed({"d", "--sizes", "1,8", "--sizes", "2", "--quiet=false", "--seed",
                 "18446744073709551615"})
            .starts_with("--quiet excludes --sizes\n"));
  CHECK(printed({"d", "--sizes", "1,8", "--sizes", "2", "--seed", "18446744073709551615"}) ==
        "0||-1|0|18446744073709551615|1 8 2 ||folder --sizes --sizes --seed ");
}

TEST_CASE("numbers are decimal, and refused out of their range") {
  for (const char* text : {"0", "101", "", "x", "5x", " 5", "+5", "0x10", "1e1", "1.0", "true"}) {
    CHECK(printed({"d", "--count", text}) ==
          "--count: found '" + std::string(text) + "'; expected an integer from 1 to 100\n");
  }
  CHECK(printed({"d", "--count", "010"}).starts_with("0||10|"));
  for (const char* text : {"-0.1", "1.1", "nan", "inf", "", "1,0"}) {
    CHECK(printed({"d", "--share", text, "--count", "1"}) ==
          "--share: found '" + std::string(text) + "'; expected a number from 0 to 1\n");
  }
  CHECK(printed({"d", "--share", "1e-1", "--count", "1"}).starts_with("0||1|0.1|"));
  CHECK(printed({"d", "--seed", "18446744073709551616"}) ==
        "--seed: found '18446744073709551616'; expected an integer of at least 0\n");
  for (const char* text : {"0", "1,9", "1,,2", ",", "1,", ""})
    CHECK(printed({"d", "--sizes", text}).ends_with("expected an integer from 1 to 8\n"));
}

TEST_CASE("options are given once, with what they need and without what they exclude") {
  CHECK(printed({}) == "folder: found none; expected DIR; sub --help explains it\n");
  CHECK(printed({""}) == "folder: found ''; expected a folder\n");
  CHECK(printed({"d", "e"}) == "found 'e'; expected only flags; sub --help lists the flags\n");
  CHECK(printed({"d", "--count", "1", "--count", "2"}) ==
        "--count: found twice; expected it once\n");
  CHECK(printed({"d", "--count"}) == "--count: found none; expected a value\n");
  CHECK(printed({"d", "--share", "1"}) == "--share requires --count\n");
  CHECK(printed({"d", "-q", "--sizes", "1"}) == "--quiet excludes --sizes\n");
  CHECK(printed({"d", "-q", "--quiet"}).starts_with("1|"));
  CHECK(printed({"d", "--quiet=x"}) == "--quiet: found 'x'; expected no value\n");
  CHECK(printed({"d", "--quite"}) == "--quite: no such flag; did you mean --quiet?\n");
  CHECK(printed({"d", "--nope=1"}) == "--nope: no such flag; sub --help lists the flags\n");
}

TEST_CASE("the names that a field of a run takes are known, and it takes each") {
  for (const RunField& field : run_fields()) {
    for (const std::string& value : known_values(field)) {
      RunConfig config;
      INFO(field.name << " " << value);
      CHECK(set_field(config, field, value) == Status::ok());
      CHECK(value.find_first_of(" ,{}'") == std::string::npos);
    }
  }
  for (const char* name : {"model", "gpu", "workload", "attention_curve", "allocator"}) {
    CHECK(known_values(*find_run_field(name)).size() > 1);
  }
  CHECK(known_values(*find_run_field("block_size")).empty());
}

}  // namespace
}  // namespace recto::experiments
