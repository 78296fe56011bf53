#include "verify/laws/cache_operations/single_backend_law.h"

#include <optional>
#include <utility>

namespace recto::verify {

Law single_backend_law(Law law, const std::string& backend, const std::string& why_never,
                       std::function<LawVerdict(const LawCase&)> check) {
  law.why_never = [backend, why_never](const Backend& put_to) -> std::optional<std::string> {
    if (put_to.name == backend) return std::nullopt;
    return why_never;
  };
  law.check = [never = law.why_never, check = std::move(check)](
                  const Backend& put_to, const LawCase& law_case, BoundKind) {
    LawVerdict verdict;
    verdict.skipped = never(put_to);
    return verdict.skipped ? verdict : check(law_case);
  };
  return law;
}

}  // namespace recto::verify
