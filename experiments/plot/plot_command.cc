#include "experiments/support/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/status.h"
#include "experiments/report/results_folder.h"
#include "experiments/report/study_data.h"
#include "experiments/support/manifest.h"
#include "experiments/support/manifest_fields.h"

namespace recto::experiments {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFooter = R"(
DIR is what recto fragmentation, recto sweep or recto numerics wrote with --out, or a folder with
reports of recto simulate --json. Pictures are readable without colour vision, have settings, seed
and commit at their foot, and are equal byte by byte for equal files.

It draws with matplotlib, in an environment of Python packages that is created on first use.

Examples:
  recto fragmentation --out result
  recto plot result --out pictures)";

struct PlotFlags {
  std::string folder;
  std::string out;
};

// The folder with this program's scripts: in tests, the folder of their data; otherwise a folder
// beside the program.
Result<fs::path> find_scripts() {
  constexpr const char* kScript = "experiments/plot/plot.py";
  std::error_code error;
  std::vector<fs::path> places = {"."};
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) places.insert(places.begin(), program.string() + ".runfiles/recto");
  for (const fs::path& place : places) {
    if (fs::exists(place / kScript, error)) return fs::absolute(place);
  }
  return Status::failed(
      fmt::format("{} is not beside this program; expected it in {}.runfiles, where Bazel puts it",
                  kScript, program.string()));
}

// Checks the results for the script, which relies on it.
Status check_results(const std::string& folder) {
  // The script reports what is wrong with an invalid manifest.
  const Result<Json> manifest = read_manifest(folder);
  if (!manifest.is_ok()) return Status::ok();
  const Json& command = manifest.value()["command"];
  if (command == "sweep" || command == "fragmentation") {
    RECTO_RETURN_IF_ERROR(read_results_folder(folder).status());
    return command == "sweep" ? Status::ok() : read_data_file(folder).status();
  }
  RECTO_RETURN_IF_ERROR(check_written_files(folder, manifest.value()));
  return check_manifest_fields(manifest.value(), folder + "/manifest.json");
}

// Returns only on failure: the script replaces this process, and its exit code becomes ours.
Status run_plot(const PlotFlags& flags, CommandContext& context) {
  const Result<fs::path> scripts = find_scripts();
  RECTO_RETURN_IF_ERROR(scripts.status());
  RECTO_RETURN_IF_ERROR(check_results(flags.folder));
  std::vector<std::string> command = {(scripts.value() / "bazel/python/with_packages.sh").string(),
                                      (scripts.value() / "experiments/plot/plot.py").string(),
                                      flags.folder, "--out", flags.out};
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  context.out.flush();
  execv(arguments[0], arguments.data());
  return Status::failed(command[0] + ": " + std::strerror(errno));
}

}  // namespace

Command plot_command() {
  auto flags = std::make_shared<PlotFlags>();
  Command command("plot", "pictures of what other commands wrote, as PNG and SVG");
  command.add("folder DIR", nonempty_text(flags->folder, "a folder"), "with what they wrote");
  command
      .add("--out DIR", nonempty_text(flags->out, "a folder"),
           "folder for the pictures, created if needed")
      .is_required = true;
  command.footer = kFooter;
  command.run = [flags](CommandContext& context) { return run_plot(*flags, context); };
  return command;
}

}  // namespace recto::experiments
