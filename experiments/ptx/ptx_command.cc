#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "experiments/ptx/ptx_server.h"
#include "experiments/support/command.h"
#include "experiments/support/output_file.h"
#include "experiments/support/table.h"
#include "verify/ptx/module.h"

namespace recto::experiments {
namespace {

constexpr std::int64_t kDescriptorMax = 1 << 20;

constexpr const char* kFooter = R"(
Lists the kernels of a PTX file, as nvcc -ptx, Triton and other compilers write it, with what a
launch needs, and says which of them recto cannot run, with the line of the first instruction.

Examples:
  recto ptx kernel.ptx
  recto verify --ptx kernel.ptx --adapter adapter.cc)";

struct PtxFlags {
  std::string file;
  std::optional<std::int64_t> socket = {};
  std::optional<std::int64_t> memory = {};
};

std::string parameters_text(const std::vector<ptx::Parameter>& parameters) {
  std::string text;
  for (const ptx::Parameter& parameter : parameters) {
    text += (text.empty() ? "" : " ") + parameter.type;
    if (parameter.type == "b8") text += fmt::format("[{}]", parameter.bytes);
  }
  return text;
}

Status list_kernels(const std::string& file, CommandContext& context) {
  const Result<std::string> text = read_text_file(file);
  RECTO_RETURN_IF_ERROR(text.status());
  const Result<ptx::Module> module = ptx::Module::parse(text.value());
  RECTO_RETURN_IF_ERROR(module.status().in(file));
  Table table({{"kernel", Align::kLeft},
               {"parameters", Align::kLeft},
               {"shared bytes", Align::kRight},
               {"threads at most", Align::kRight}});
  std::string refused;
  std::size_t refused_count = 0;
  for (const std::string& name : module.value().kernel_names()) {
    const Result<ptx::Kernel> kernel = module.value().kernel(name);
    if (!kernel.is_ok()) {
      refused += fmt::format("{}: {}\n", file, kernel.status().message());
      ++refused_count;
      continue;
    }
    const ptx::Program& program = kernel.value().program();
    const std::uint32_t threads = program.threads_max;
    table.add_row({name, parameters_text(module.value().parameters(name)),
                   std::to_string(program.shared_bytes - ptx::kSharedBegin),
                   threads == 0 ? "" : std::to_string(threads)});
  }
  context.out << table.text() << refused;
  if (refused_count == 0) return Status::ok();
  return Status::failed(fmt::format("{} of {} kernels cannot be run", refused_count,
                                    module.value().kernel_names().size()));
}

Status run_command(const PtxFlags& flags, CommandContext& context) {
  if (!flags.socket) return list_kernels(flags.file, context);
  return serve_ptx({static_cast<int>(*flags.socket), static_cast<int>(*flags.memory)});
}

}  // namespace

Command ptx_command() {
  auto flags = std::make_shared<PtxFlags>();
  Command command("ptx", "the kernels of a PTX file, and which of them can be run");
  command.add("file FILE", nonempty_text(flags->file, "a file"), "PTX; - with --serve");
  command
      .add("--serve FD", integer(flags->socket, {0, kDescriptorMax}),
           "socket of a process that launches kernels: for packages")
      .needs = {"--memory"};
  command
      .add("--memory FD", integer(flags->memory, {0, kDescriptorMax}),
           "file with the arrays of its launches")
      .needs = {"--serve"};
  command.footer = kFooter;
  command.run = [flags](CommandContext& context) { return run_command(*flags, context); };
  return command;
}

}  // namespace recto::experiments
