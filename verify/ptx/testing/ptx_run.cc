#include "verify/ptx/testing/ptx_run.h"

#include "bazel/testing/catch.h"

namespace recto::ptx {
namespace {

Module module_of(const std::string& text) {
  Result<Module> module = Module::parse(text);
  INFO(text);
  REQUIRE(module.status() == Status::ok());
  return std::move(module).value();
}

Kernel kernel_of(const Module& module) {
  Result<Kernel> kernel = module.kernel("k");
  REQUIRE(kernel.status() == Status::ok());
  return std::move(kernel).value();
}

}  // namespace

std::string TestKernel::text() const {
  return ".version 8.0\n.target sm_90\n.address_size 64\n" + declarations + "\n.visible .entry k(" +
         parameters + ")\n{\n" + body + "\n}\n";
}

LoadedKernel::LoadedKernel(const std::string& text)
    : module_(module_of(text)), kernel_(kernel_of(module_)) {}

LaunchReport LoadedKernel::run(const LaunchShape& shape, const Arguments& arguments,
                               const DeviceMemory& memory, const LaunchOptions& options) const {
  return launch(kernel_, shape, arguments, memory, options);
}

std::string refusal_of(const std::string& text) {
  const Result<Module> module = Module::parse(text);
  if (!module.is_ok()) return module.status().message();
  return module.value().kernel("k").status().message();
}

OutRun run_out(const TestKernel& kernel, unsigned threads, const LaunchOptions& options) {
  OutRun run;
  run.out.resize(threads);
  DeviceMemory memory;
  memory.add("out", run.out.data(), run.out.size() * sizeof(std::uint64_t));
  run.report = LoadedKernel(kernel).run({{1, 1, 1}, {threads, 1, 1}, 0},
                                        Arguments().add(run.out.data()), memory, options);
  return run;
}

TestKernel thread_kernel(const std::string& body) {
  TestKernel kernel;
  kernel.declarations = ".shared .align 1024 .b8 smem[4096];\n.shared .align 8 .b64 bar[4];";
  kernel.body =
      ".reg .pred %p<10>;\n.reg .b16 %h<10>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<10>;\n"
      ".reg .f32 %f<10>;\nmov.u32 %r0, %tid.x;\n" +
      body +
      "\nld.param.u64 %rd8, [out];\nmul.wide.u32 %rd9, %r0, 8;\nadd.s64 %rd8, %rd8, %rd9;\n"
      "cvt.u64.u32 %rd7, %r1;\nst.global.u64 [%rd8], %rd7;\nret;";
  return kernel;
}

void check_threads(const std::string& body, unsigned threads,
                   const std::function<std::uint64_t(unsigned)>& expected) {
  for (const Schedule& schedule : test_schedules()) {
    const OutRun run =
        run_out(thread_kernel(body), threads, {.checks = Checks::all(), .schedule = schedule});
    INFO(simt::schedule_policy_name(schedule.policy) << " " << schedule.seed << "\n" << body);
    CHECK(run.report.text() == "");
    for (unsigned i = 0; i < threads; ++i) {
      INFO("thread " << i);
      REQUIRE(run.out[i] == expected(i));
    }
  }
}

std::vector<Schedule> test_schedules() {
  std::vector<Schedule> schedules;
  for (const SchedulePolicy policy : simt::kSchedulePolicies) {
    for (const std::uint64_t seed : {0U, 1U, 2U}) {
      schedules.push_back({.policy = policy, .seed = seed});
    }
  }
  return schedules;
}

}  // namespace recto::ptx
