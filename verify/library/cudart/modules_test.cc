#include "verify/library/cudart/modules.h"

#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/library/cudart/device_test_parts.h"

namespace recto::cudart {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a kernel is found by its name, mangled or not") {
  Modules modules;
  modules.add(kPtx);
  CHECK(modules.kernel_named("_Z3addPKjPj").is_ok());
  REQUIRE(modules.kernel_named("add").is_ok());
  CHECK(modules.kernel_named("add").value()->name == "_Z3addPKjPj");
  CHECK_THAT(modules.kernel_named("sub").status().message(),
             ContainsSubstring("kernel 'sub': expected one of _Z3addPKjPj"));
  modules.add(kPtx);
  CHECK_THAT(modules.kernel_named("_Z3add").status().message(), ContainsSubstring("expected one"));
  CHECK(modules.target() == 80);
}

TEST_CASE("a module that is not PTX is an error of its kernels, with the line") {
  Modules modules;
  const int host = 0;
  modules.add_kernel(modules.add(".version 8.0\n.target sm_80\nnonsense"), &host, "k");
  CHECK_THAT(modules.kernel(&host).status().message(),
             ContainsSubstring("kernel 'k': PTX: ") && ContainsSubstring("line 3"));
  modules.add_kernel(modules.add_unusable("only machine code"), &host, "k");
  CHECK_THAT(modules.kernel(&host).status().message(), ContainsSubstring("only machine code"));
}

}  // namespace
}  // namespace recto::cudart
