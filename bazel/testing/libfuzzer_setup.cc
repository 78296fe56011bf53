// Completes libFuzzer's command line: findings and new corpus entries go to Bazel's folder of test
// outputs, --config=full turns a fixed number of runs into an hour, and -file=FILE runs only that
// file (as in fuzz_driver.cc).

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// libFuzzer takes folders to fuzz from, whereas single files are only run; so the files given are
// copied into a folder.
std::string gather_corpus(const std::vector<std::string>& files, const std::string& outputs) {
  const std::filesystem::path folder = std::filesystem::path(outputs) / "corpus";
  std::filesystem::create_directories(folder);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name =
        std::to_string(i) + "_" + std::filesystem::path(files[i]).filename().string();
    std::filesystem::copy_file(files[i], folder / name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  return folder.string();
}

std::vector<std::string> complete(const std::vector<std::string>& given,
                                  const std::string& outputs) {
  const std::string seconds = environment("RECTO_FUZZ_SECONDS");
  std::vector<std::string> completed = {given[0]};
  std::vector<std::string> files;
  for (std::size_t i = 1; i < given.size(); ++i) {
    if (given[i].starts_with("-file=")) {
      // Relative paths are relative to the caller's folder.
      const std::filesystem::path file = given[i].substr(given[i].find('=') + 1);
      return {given[0],
              (std::filesystem::path(environment("BUILD_WORKING_DIRECTORY")) / file).string()};
    }
    if (!given[i].starts_with("-")) {
      files.push_back(given[i]);
    } else if (seconds.empty() || !given[i].starts_with("-runs=")) {
      completed.push_back(given[i]);
    }
  }
  if (!seconds.empty()) completed.push_back("-max_total_time=" + seconds);
  completed.push_back("-artifact_prefix=" + outputs + "/");
  completed.push_back("-seed=2026");
  completed.push_back("-timeout=60");
  completed.push_back(gather_corpus(files, outputs));
  return completed;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::string outputs = environment("TEST_UNDECLARED_OUTPUTS_DIR");
  if (outputs.empty()) return 0;  // started without Bazel: libFuzzer's own rules apply
  // libFuzzer keeps pointers into these.
  static std::vector<std::string> arguments;
  static std::vector<char*> pointers;
  std::cerr << "fuzz: to replay a finding: ./bazelw run --config=fuzz "
            << environment("TEST_TARGET") << " -- -file=FILE" << std::endl;
  arguments = complete({*argv, *argv + *argc}, outputs);
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  *argc = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  *argv = pointers.data();
  return 0;
}
