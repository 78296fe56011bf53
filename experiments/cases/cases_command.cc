#include "experiments/support/command.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "experiments/cases/case_folder.h"
#include "experiments/cases/drawn_files.h"
#include "experiments/support/manifest.h"
#include "experiments/support/numbers.h"
#include "experiments/support/output_file.h"
#include "experiments/support/parallel.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

constexpr const char* kFooter = R"(
Writes DIR/cases.json and an npz per case: inputs, expected results, and the bound of each element.
Your program, in any language, reads NAME.npz and writes NAME.out.npy (its output) or NAME.out.npz;
recto check DIR judges these answers. docs/python.md shows such a program in 20 lines.

Examples:
  recto cases --out cases
  recto cases --out cases --op decode --type bf16 --head-dim 64,128 --without alibi,sinks
  recto cases --out cases --cases 200 --sequences-max 32 --seed 7)";

struct CasesFlags {
  FilesWanted wanted;
  std::string folder;
};

// Otherwise `recto check` would take answers to older cases for answers to the new ones.
Status check_empty(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return Status::ok();
  if (std::filesystem::is_directory(folder, error) && std::filesystem::is_empty(folder, error) &&
      !error) {
    return Status::ok();
  }
  return Status::invalid_input(
      fmt::format("--out: {}: expected an empty folder, or nothing yet", folder));
}

struct Written {
  std::int64_t cases = 0;
  std::size_t bytes = 0;
};

// By operation and types.
using WrittenOf = std::map<std::pair<std::string, std::string>, Written>;

std::string types_text(const verify::CaseSpec& spec) {
  return fmt::format("{} / {}", element_type_name(spec.shape.q_type),
                     element_type_name(spec.shape.kv_type));
}

std::string size_text(std::size_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / (1 << 20));
}

std::string cases_text(const CasesFlags& flags, const WrittenOf& written) {
  Table table({{"op", Align::kLeft}, {"q / KV", Align::kLeft}, {"cases"}, {"MiB"}});
  std::size_t bytes = 0;
  for (const auto& [what, how_much] : written) {
    table.add_row(
        {what.first, what.second, std::to_string(how_much.cases), size_text(how_much.bytes)});
    bytes += how_much.bytes;
  }
  return fmt::format(
      "{} cases, seed {}, {} MiB in {}\n\n{}\nAnswer NAME.npz with NAME.out.npy (out), or with "
      "NAME.out.npz (out, lse_ln; kv_write: k_cache,\nv_cache), beside it. Then: recto check {}\n",
      flags.wanted.cases, flags.wanted.seed, size_text(bytes), flags.folder, table.text(),
      shell_word(flags.folder));
}

Status run_cases(const CasesFlags& flags, CommandContext& context) {
  RECTO_RETURN_IF_ERROR(check_empty(flags.folder));
  Result<std::vector<CaseFile>> files = draw_case_files(flags.wanted);
  RECTO_RETURN_IF_ERROR(files.status());
  RECTO_RETURN_IF_ERROR(make_folder(flags.folder).in("--out"));
  WrittenOf written;
  {
    ProgressBar progress(context.err, context.terminal, files.value().size());
    for (CaseFile& file : files.value()) {
      const Result<std::string> bytes = case_file_bytes(file);
      RECTO_RETURN_IF_ERROR(bytes.status());
      RECTO_RETURN_IF_ERROR(write_file(case_path(flags.folder, file), bytes.value()));
      file.content_hash = content_hash(bytes.value());
      Written& sum = written[{case_operation_name(file.operation), types_text(file.spec)}];
      ++sum.cases;
      sum.bytes += bytes.value().size();
      progress.advance(file.name);
    }
  }
  // Written last, so that a folder with a manifest is complete.
  const CaseManifest manifest{.version = kVersion,
                              .commit = commit(),
                              .seed = flags.wanted.seed,
                              .settings = wanted_json(flags.wanted),
                              .cases = std::move(files).value()};
  RECTO_RETURN_IF_ERROR(write_file(case_manifest_path(flags.folder), case_manifest_text(manifest)));
  context.out << cases_text(flags, written);
  return Status::ok();
}

}  // namespace

Command cases_command() {
  auto flags = std::make_shared<CasesFlags>();
  Command command("cases", "adversarial cases in files, for a program in any language");
  command.add("--out DIR", nonempty_text(flags->folder, "a folder"), "an empty or new folder")
      .is_required = true;
  add_files_flags(command, flags->wanted);
  command.footer = kFooter;
  command.run = [flags](CommandContext& context) { return run_cases(*flags, context); };
  return command;
}

}  // namespace recto::experiments
