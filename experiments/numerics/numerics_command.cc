#include "experiments/support/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "core/json.h"
#include "experiments/numerics/numerics_study.h"
#include "experiments/numerics/numerics_text.h"
#include "experiments/support/manifest.h"
#include "experiments/support/numbers.h"
#include "experiments/support/output_file.h"
#include "experiments/support/parallel.h"

namespace recto::experiments {
namespace {

constexpr std::int64_t kKeysMax = std::int64_t{1} << 18;
constexpr std::int64_t kDrawsMax = 1'000'000;

// A thread takes 0.3 GB at 32,768 keys.
constexpr int kDefaultThreadsMax = 2;

constexpr const char* kFooter = R"(
One decode row against n keys, head dims 128, normal numbers. The smallest detected size of a fault
is calibrated on some draws and confirmed on others, one in a hundred of which may miss it; how
often it is refused is then counted on a third set.

Examples:
  recto numerics
  recto numerics --n 16,1024 --types bf16 --draws 400
  recto numerics --draws 100 --out result)";

struct NumericsFlags {
  std::string key_counts = "16,1024,4096,32768";
  std::string types = "fp32,fp16,bf16,fp16/e4m3";
  std::optional<std::int64_t> draws;
  std::uint64_t seed = 1;
  int threads = 0;
  std::string out;
  bool is_json = false;
};

constexpr ElementType kFp8Types[] = {ElementType::kE4m3, ElementType::kE5m2};

// One type for all, or one for q and an fp8 type for K and V.
std::vector<StudyTypes> known_types() {
  std::vector<StudyTypes> known;
  for (const ElementType type : {ElementType::kFp32, ElementType::kFp16, ElementType::kBf16}) {
    known.emplace_back(type);
    if (type == ElementType::kFp32) continue;
    for (const ElementType kv_type : kFp8Types) known.emplace_back(type, kv_type);
  }
  return known;
}

Result<StudyTypes> parse_types(const std::string& name) {
  for (const StudyTypes& types : known_types()) {
    if (name == types.name()) return types;
  }
  return Status::invalid_input(
      fmt::format("--types: found '{}'; expected fp32, fp16, bf16, or one of the latter two with a "
                  "cache in fp8, such as fp16/e4m3",
                  name));
}

Result<std::vector<StudyCell>> make_cells(const NumericsFlags& flags) {
  const auto types = split_list(flags.types);
  RECTO_RETURN_IF_ERROR(types.status().in("--types"));
  const auto counts = split_list(flags.key_counts);
  RECTO_RETURN_IF_ERROR(counts.status().in("--n"));
  std::vector<StudyCell> cells;
  for (const std::string& name : types.value()) {
    const Result<StudyTypes> named = parse_types(name);
    RECTO_RETURN_IF_ERROR(named.status());
    for (const std::string& text : counts.value()) {
      const Result<std::int64_t> count = parse_number(text, CountRange{2, kKeysMax});
      RECTO_RETURN_IF_ERROR(count.status().in("--n"));
      cells.push_back({named.value(), count.value(),
                       flags.draws.value_or(default_draws(count.value())), flags.seed});
    }
  }
  return cells;
}

// The command with the flags that determine the figures.
std::string command_line(const NumericsFlags& flags) {
  std::string line = fmt::format("recto numerics --n {} --types {} --seed {}", flags.key_counts,
                                 flags.types, flags.seed);
  if (flags.draws) line += fmt::format(" --draws {}", *flags.draws);
  return line;
}

std::vector<CellResult> study_all(const std::vector<StudyCell>& cells, int threads,
                                  CommandContext& context) {
  // The longest first, so that no thread starts a long one at the end.
  std::vector<std::size_t> order;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) order.push_back(cell);
  std::ranges::stable_sort(order, std::ranges::greater(), [&cells](std::size_t cell) {
    return cells[cell].num_keys * cells[cell].draws;
  });
  std::vector<CellResult> results(cells.size());
  ProgressBar progress(context.err, context.terminal, cells.size());
  for_each_index(cells.size(), threads, [&](std::size_t index) {
    const StudyCell& cell = cells[order[index]];
    results[order[index]] = study(cell);
    progress.advance(fmt::format("{} {}", cell.types.name(), cell.num_keys));
  });
  return results;
}

Status run_numerics(const NumericsFlags& flags, CommandContext& context) {
  const auto cells = make_cells(flags);
  RECTO_RETURN_IF_ERROR(cells.status());
  if (!flags.out.empty()) {
    RECTO_RETURN_IF_ERROR(check_own_folder(flags.out, "numerics").in("--out"));
    RECTO_RETURN_IF_ERROR(try_folder(flags.out).in("--out"));
  }
  const int threads =
      flags.threads > 0 ? flags.threads : std::min(default_threads(), kDefaultThreadsMax);
  const std::vector<CellResult> results = study_all(cells.value(), threads, context);
  if (!flags.out.empty()) {
    RECTO_RETURN_IF_ERROR(write_numerics_files(results, flags.out, command_line(flags)));
  }
  if (flags.is_json) {
    context.out << json_text(numerics_json(results), 2) << '\n';
    return Status::ok();
  }
  context.out << sharpness_text(results) << '\n'
              << thresholds_text(results) << '\n'
              << others_text(results) << '\n';
  if (!flags.out.empty()) {
    context.out << fmt::format("Wrote sharpness.csv, thresholds.csv and manifest.json to {}\n",
                               flags.out);
  }
  context.out << fmt::format("To repeat: {}\n", command_line(flags));
  return Status::ok();
}

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const StudyTypes& types : known_types()) names.push_back(types.name());
  return names;
}

}  // namespace

Command numerics_command() {
  auto flags = std::make_shared<NumericsFlags>();
  Command command("numerics", "how tight the error bounds are, and how small a fault they detect");
  command.add("--n LIST", any_text(flags->key_counts),
              fmt::format("numbers of keys [{}]", flags->key_counts));
  command
      .add("--types LIST", any_text(flags->types),
           fmt::format("types of q, K and V, or of q / of K and V [{}]", flags->types))
      .value.known = type_names();
  command.add("--draws N", integer(flags->draws, {1, kDrawsMax}),
              fmt::format("draws per row, to find sizes, as many to confirm them\nand to count [{} "
                          "/ n, but {} to {}]",
                          kDefaultKeys, kDefaultDrawsMin, kDefaultDrawsMax));
  command.add("--seed N", integer(flags->seed), "seed of all draws [1]");
  command.add("--out DIR", nonempty_text(flags->out, "a folder"),
              "write sharpness.csv, thresholds.csv, manifest.json here");
  command.add("--threads N", integer(flags->threads, {1, 4096}),
              "table rows computed at a time [2]");
  command.add("--json", flag(flags->is_json), "print JSON");
  command.footer = kFooter;
  command.run = [flags](CommandContext& context) { return run_numerics(*flags, context); };
  return command;
}

}  // namespace recto::experiments
