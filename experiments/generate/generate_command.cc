#include "experiments/support/command.h"

#include <memory>
#include <string>
#include <utility>

#include "experiments/generate/generate_config.h"
#include "experiments/generate/generate_text.h"
#include "experiments/support/output_file.h"
#include "verify/engine/weights_file.h"
#include "verify/kernels/kernel_heap.h"

namespace recto::experiments {
namespace {

constexpr const char* kFooter = R"(
The model computes by the kernels of cuda/, in recto on the CPU executor: small models, short texts.

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
  const Result<verify::EngineRun> run =
      verify::run_engine(weights.value(), config.value().requests, config.value().engine);
  if (!run.is_ok()) return run.status().in(name);
  if (!arguments.is_brief) context.out << steps_text(config.value(), run.value()) << '\n';
  context.out << outputs_text(config.value(), run.value()) << '\n'
              << savings_text(config.value(), run.value());
  return Status::ok();
}

}  // namespace

Command generate_command() {
  auto arguments = std::make_shared<GenerateArguments>();
  Command command("generate", "a small model that generates by the kernels, step by step");
  command.add("--config FILE", nonempty_text(arguments->config, "a file"),
              "model, cache, scheduler and requests, in JSON");
  command.add("--print-config", flag(arguments->prints_config), "show the run without --config");
  command.add("--brief", flag(arguments->is_brief), "leave the steps out");
  command.footer = kFooter;
  command.run = [arguments](CommandContext& context) { return generate(*arguments, context); };
  return command;
}

}  // namespace recto::experiments
