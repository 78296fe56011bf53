#include "verify/library/cuda_source/library_builder.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "verify/ptx/module.h"

extern char** environ;  // NOLINT: as POSIX declares it

namespace recto::verify {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScript = "build_cuda_library.py";

// The environment, with the folder as the place for temporary files.
std::vector<std::string> environment_in(const fs::path& folder) {
  constexpr std::string_view kTemporary = "TMPDIR=";
  std::vector<std::string> variables{std::string(kTemporary) + folder.string()};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with(kTemporary)) variables.emplace_back(*variable);
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Runs the command in the folder's process group, with its output redirected to `log`. Returns its
// exit status, or the negated errno if it could not be started.
int run(std::vector<std::string> command, const WorkFolder& folder, const fs::path& log) {
  std::vector<std::string> environment = environment_in(folder.path());
  const std::vector<char*> arguments = pointers_to(command);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, folder.group());
  pid_t process = 0;
  const int error = posix_spawnp(&process, arguments[0], &files, &attributes, arguments.data(),
                                 pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return -error;
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// The parser says more than a linked library could.
Status check_ptx(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return Status::invalid_input(path + ": expected a file with PTX");
  }
  const Result<ptx::Module> module = ptx::Module::parse(text_of(path));
  RECTO_RETURN_IF_ERROR(module.status().in(path));
  if (!module.value().kernel_names().empty()) return Status::ok();
  return Status::invalid_input(path + ": expected PTX with a kernel (.entry), found none");
}

}  // namespace

Result<fs::path> find_cuda_kit() {
  std::error_code error;
  if (const char* asked = std::getenv("RECTO_CUDA_KIT")) {
    if (fs::exists(fs::path(asked) / kScript, error)) return fs::path(asked);
    return Status::invalid_input(std::string("RECTO_CUDA_KIT: no kit: no ") + asked + "/" +
                                 kScript);
  }
  constexpr const char* kKit = "verify/library/cuda_source/cuda_kit";
  // In tests, this is the folder of test data.
  std::vector<fs::path> places = {kKit};
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) places.push_back(program.string() + ".runfiles/recto/" + kKit);
  for (const fs::path& place : places) {
    if (fs::exists(place / kScript, error)) return fs::absolute(place);
  }
  return Status::failed(
      "CUDA sources and PTX need the kit, which recto is built with where g++ is found: there is "
      "none beside this program (RECTO_CUDA_KIT may name one)");
}

Result<BuiltLibrary> build_cuda_library(const CudaSource& source) {
  const Result<fs::path> kit = find_cuda_kit();
  RECTO_RETURN_IF_ERROR(kit.status());
  if (!source.ptx.empty()) RECTO_RETURN_IF_ERROR(check_ptx(source.ptx));
  Result<WorkFolder> made = WorkFolder::create("recto-library-");
  RECTO_RETURN_IF_ERROR(made.status());
  WorkFolder folder = std::move(made).value();
  const fs::path log = folder.path() / "log.txt";
  std::vector<std::string> command = {"python3", kit.value() / kScript};
  command.insert(command.end(), source.sources.begin(), source.sources.end());
  command.insert(command.end(),
                 {"--adapter", source.adapter, "-o", folder.path() / BuiltLibrary::kName});
  for (const std::string& include : source.include_folders) {
    command.insert(command.end(), {"-I", include});
  }
  for (const std::string& macro : source.macros) command.push_back("-D" + macro);
  if (!source.ptx.empty()) command.insert(command.end(), {"--ptx", source.ptx});
  if (!source.arch.empty()) command.insert(command.end(), {"--arch", source.arch});
  for (const std::string& option : source.nvcc_options)
    command.push_back("--nvcc-option=" + option);
  const int status = run(command, folder, log);
  if (status == 0) return BuiltLibrary(std::move(folder));
  if (status < 0) return Status::failed(std::string("python3: ") + std::strerror(-status));
  const std::string text = text_of(log);
  return Status::invalid_input(text.empty() ? command[1] + " ended with " + std::to_string(status)
                                            : text);
}

}  // namespace recto::verify
