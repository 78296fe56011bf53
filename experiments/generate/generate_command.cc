#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments/generate/generate_config.h"
#include "experiments/support/command.h"
#include "experiments/support/output_file.h"
#include "experiments/support/table.h"
#include "verify/engine/attention_work.h"
#include "verify/engine/safetensors.h"
#include "verify/kernels/kernel_heap.h"

namespace recto::experiments {
namespace {

using verify::EngineRun;
using verify::EngineStep;
using verify::SequenceStep;

std::string sequence_name(const GenerateConfig& config, std::int64_t request, std::int64_t member) {
  const auto place = static_cast<std::size_t>(request);
  if (config.requests[place].width == 1) return fmt::format("{}", request);
  return fmt::format("{}.{}", request, member);
}

struct Held {
  std::int64_t blocks = 0;    // each once
  std::int64_t entries = 0;   // of all tables
  std::int64_t reserved = 0;  // slots if each sequence had a region for its longest context
};

Held held_in(const GenerateConfig& config, const EngineStep& step) {
  Held held{.blocks = step.distinct_blocks};
  for (const SequenceStep& sequence : step.sequences) {
    held.entries += sequence.num_blocks;
    held.reserved += config.engine.max_length;
  }
  return held;
}

struct Work {
  std::int64_t bytes = 0;
  std::int64_t operations = 0;

  void add(const verify::AttentionWork& layer, std::int64_t layers) {
    bytes += layers * (layer.gathered_bytes + layer.read_bytes);
    operations += layers * layer.operations;
  }
};

std::string percent_less(std::int64_t less, std::int64_t than) {
  if (than == 0) return "0.0 %";
  return fmt::format("{:.1f} %", 100 * (1 - static_cast<double>(less) / static_cast<double>(than)));
}

std::string line_of(const GenerateConfig& config, const SequenceStep& sequence,
                    std::span<const BlockId> table) {
  return fmt::format("  {:<4} cached {:>3}, computed {:>2}{}  blocks {}\n",
                     sequence_name(config, sequence.request, sequence.member), sequence.context,
                     sequence.rows,
                     sequence.drafts == 0 ? "" : fmt::format(" ({} drafts)", sequence.drafts),
                     fmt::join(table | std::views::transform(&BlockId::value), " "));
}

// `lines` has one for each sequence of each step.
std::string steps_text(const EngineRun& run, const std::vector<std::string>& lines) {
  std::string text;
  auto line = lines.begin();
  auto event = run.events.begin();
  const auto tell_until = [&](std::int64_t step) {
    for (; event != run.events.end() && event->step < step; ++event) {
      const std::string who = event->request < 0 ? "" : fmt::format("request {} ", event->request);
      text += fmt::format("  {}{}\n", who, event->text);
    }
  };
  for (const EngineStep& step : run.steps) {
    tell_until(step.step);
    text += fmt::format("step {}\n", step.step);
    for (std::size_t i = 0; i < step.sequences.size(); ++i) text += *line++;
  }
  tell_until(run.steps.empty() ? 1 : run.steps.back().step + 1);
  return text;
}

std::string outputs_text(const GenerateConfig& config, const EngineRun& run) {
  Table table({{"sequence", Align::kLeft}, {"prompt"}, {"output", Align::kLeft}});
  for (std::size_t request = 0; request < run.texts.size(); ++request) {
    const std::vector<std::vector<verify::Token>>& outputs = run.texts[request].outputs;
    for (std::size_t member = 0; member < outputs.size(); ++member) {
      table.add_row({sequence_name(config, static_cast<std::int64_t>(request),
                                   static_cast<std::int64_t>(member)),
                     fmt::format("{}", config.requests[request].prompt.size()),
                     fmt::format("{}", fmt::join(outputs[member], " "))});
    }
  }
  return table.text();
}

std::string savings_text(const GenerateConfig& config, const EngineRun& run) {
  Held most;
  Work paged;
  Work padded;
  for (const EngineStep& step : run.steps) {
    const Held held = held_in(config, step);
    most.blocks = std::max(most.blocks, held.blocks);
    most.entries = std::max(most.entries, held.entries);
    most.reserved = std::max(most.reserved, held.reserved);
    paged.add(verify::paged_work(config.model, config.engine, step), config.model.layers);
    padded.add(verify::padded_gather_work(config.model, config.engine, step), config.model.layers);
  }
  Table table({{"what paging saved", Align::kLeft}, {"without"}, {"paged"}, {"saved"}});
  const auto add = [&table](const char* what, std::int64_t without, std::int64_t with) {
    table.add_row(
        {what, fmt::format("{}", without), fmt::format("{}", with), percent_less(with, without)});
  };
  const std::int64_t slots = most.blocks * config.engine.block_size;
  add("slots at most: regions for the longest", most.reserved, slots);
  add("slots at most: blocks that are not shared", most.entries * config.engine.block_size, slots);
  add("bytes moved: padded gather", padded.bytes, paged.bytes);
  add("operations: padded gather", padded.operations, paged.operations);
  const verify::EngineCounts& counts = run.counts;
  return table.text() +
         fmt::format(
             "\n{} steps computed {} tokens; {} were found cached. Blocks copied on write: {}, "
             "moved "
             "to the host\nor back: {}. Preempted: {} computed again, {} swapped. Beams that "
             "switched: {}. Drafts: {} of {}\nwere kept.\n",
             counts.steps, counts.rows, counts.hit_tokens, counts.copied_blocks,
             counts.swapped_blocks, counts.recomputes, counts.swaps, counts.beam_switches,
             counts.accepted, counts.drafted);
}

constexpr const char* kFooter = R"(
The model runs on the kernels of cuda/, in recto on the CPU executor: small models, short texts.

Examples:
  recto generate                              # the run of --print-config
  recto generate --print-config > run.json
  recto generate --config run.json)";

struct GenerateArguments {
  std::string config;
  bool prints_config = false;
  bool is_brief = false;
};

Result<verify::ModelWeights> weights_of(const GenerateConfig& config) {
  RECTO_RETURN_IF_ERROR(verify::check_shape(config.model));
  if (config.weights_file.empty()) {
    return verify::drawn_weights(config.model, {.seed = config.weights_seed});
  }
  const auto file = verify::SafetensorsFile::read(config.weights_file);
  RECTO_RETURN_IF_ERROR(file.status());
  return verify::weights_of(file.value(), config.model);
}

Result<GenerateConfig> config_of(const std::string& path) {
  if (path.empty()) return parse_generate_config("example", example_config());
  const Result<std::string> text = read_text_file(path);
  RECTO_RETURN_IF_ERROR(text.status());
  return parse_generate_config(path, text.value());
}

Status generate(const GenerateArguments& arguments, CommandContext& context) {
  if (arguments.prints_config) {
    if (!arguments.config.empty() || arguments.is_brief) {
      return Status::invalid_input("--print-config: found with other flags; expected it alone");
    }
    context.out << example_config();
    return Status::ok();
  }
  verify::let_kernels_reach_heap();
  const Result<GenerateConfig> config = config_of(arguments.config);
  RECTO_RETURN_IF_ERROR(config.status());
  const std::string name = arguments.config.empty() ? "example" : arguments.config;
  const Result<verify::ModelWeights> weights = weights_of(config.value());
  if (!weights.is_ok()) return weights.status().in(name);
  std::vector<std::string> lines;
  const auto reader = [&](const SequenceStep& sequence, std::span<const BlockId> table) {
    if (!arguments.is_brief) lines.push_back(line_of(config.value(), sequence, table));
  };
  const Result<verify::EngineRun> run =
      verify::run_engine(weights.value(), config.value().requests, config.value().engine, reader);
  if (!run.is_ok()) return run.status().in(name);
  if (!arguments.is_brief) context.out << steps_text(run.value(), lines) << '\n';
  context.out << outputs_text(config.value(), run.value()) << '\n'
              << savings_text(config.value(), run.value());
  return Status::ok();
}

}  // namespace

Command generate_command() {
  auto arguments = std::make_shared<GenerateArguments>();
  Command command("generate", "a small model that generates with the kernels, step by step");
  command.add("--config FILE", nonempty_text(arguments->config, "a file"),
              "model, cache, scheduler and requests, in JSON");
  command.add("--print-config", flag(arguments->prints_config), "print the default of --config");
  command.add("--brief", flag(arguments->is_brief), "omit the steps");
  command.footer = kFooter;
  command.run = [arguments](CommandContext& context) { return generate(*arguments, context); };
  return command;
}

}  // namespace recto::experiments
