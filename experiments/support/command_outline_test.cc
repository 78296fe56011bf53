#include "experiments/support/command_outline.h"

#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/support/offered_values.h"
#include "experiments/support/run_flags.h"

namespace recto::experiments {
namespace {

using Names = std::vector<std::string>;

const OptionOutline& option_of(const CommandOutline& command, const std::string& flag) {
  for (const OptionOutline& option : command.options) {
    if (!option.is_positional() && option.flags.back() == flag) return option;
  }
  FAIL("there is no " << flag);
  return command.options.front();
}

TEST_CASE("flags tell what follows them") {
  CLI::App app("about", "program");
  bool is_flag = false;
  std::string text;
  std::vector<std::string> list;
  app.add_flag("-q,--quiet", is_flag, "says\nnothing");
  app.add_option("--view", text, "of it")->option_text("KIND")->check(CLI::IsMember({"a", "b"}));
  app.add_option("--trace", text)->option_text("FILE");
  app.add_option("--out", text)->option_text("DIR");
  app.add_option("--hidden", text)->group("");
  offer_values(*app.add_option("--law", text)->option_text("LIST")->group("Laws"), {"x", "y"});
  app.add_option("--n", list)->delimiter(',')->option_text("N,...");
  app.add_option("WHAT", text)->option_text(" ");
  app.add_subcommand("sub", "below")->footer("the end");
  const CommandOutline outline = outline_of(app);
  CHECK(outline.name == "program");
  CHECK(outline.about == "about");

  const OptionOutline& quiet = option_of(outline, "--quiet");
  CHECK(quiet.flags == Names{"-q", "--quiet"});
  CHECK(quiet.help == "says nothing");
  CHECK(quiet.kind == ValueKind::kNone);
  CHECK(quiet.value_name.empty());
  CHECK(option_of(outline, "--view").values == Names{"a", "b"});
  CHECK(option_of(outline, "--view").kind == ValueKind::kText);
  CHECK_FALSE(option_of(outline, "--view").is_list);
  CHECK(option_of(outline, "--trace").kind == ValueKind::kFile);
  CHECK(option_of(outline, "--out").kind == ValueKind::kFolder);
  CHECK(option_of(outline, "--law").values == Names{"x", "y"});
  CHECK(option_of(outline, "--law").is_list);
  CHECK(option_of(outline, "--law").group == "Laws");
  CHECK(option_of(outline, "--n").is_list);
  CHECK(option_of(outline, "--n").values.empty());
  for (const OptionOutline& option : outline.options) CHECK(option.help.find("hidden") != 0);
  CHECK(outline.options.size() == 8);  // with --help, without --hidden
  CHECK(outline.options.back().is_positional());
  CHECK(outline.options.back().value_name == "WHAT");
  REQUIRE(outline.commands.size() == 1);
  CHECK(outline.commands[0].name == "sub");
  CHECK(outline.commands[0].about == "below");
  CHECK(outline.commands[0].footer == "the end");
}

TEST_CASE("values that are offered neither show in the help nor forbid others") {
  CLI::App app;
  std::string text;
  CLI::Option* option = app.add_option("--law", text)->option_text("LIST");
  const std::string help = app.help();
  offer_values(*option, {"x", "y"});
  CHECK(app.help() == help);
  app.parse(std::vector<std::string>{"z", "--law"});  // from the end, as CLI11 takes them
  CHECK(text == "z");
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
