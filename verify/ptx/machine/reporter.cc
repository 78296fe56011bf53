#include "verify/ptx/machine/reporter.h"

#include <utility>

namespace recto::ptx {
namespace {

Check check_of(Conflict::Kind kind) {
  switch (kind) {
    case Conflict::Kind::kGridRace:
      return Check::kGridRace;
    case Conflict::Kind::kUninitialised:
      return Check::kUninitialisedMemory;
    case Conflict::Kind::kUnfinishedCopy:
      return Check::kUnfinishedCopy;
    case Conflict::Kind::kMissingProxyFence:
      return Check::kProxyFence;
    default:
      return Check::kRace;
  }
}

std::string what_other_does(const Conflict& conflict) {
  const Stamp& other = conflict.other;
  std::string what = is_write(other.kind) ? "writes it" : "reads it";
  if (conflict.kind == Conflict::Kind::kUnfinishedCopy) {
    what = is_write(other.kind) ? "copies to it until it is waited for"
                                : "reads it until it is waited for";
  }
  if (conflict.kind == Conflict::Kind::kMissingProxyFence) {
    what += ", with no fence.proxy.async after it";
  }
  if (other.lanes != 0) what += ", with other lanes";
  return what;
}

}  // namespace

void Reporter::begin(std::uint64_t block) {
  block_ = run_.shape.grid.at(block);
  has_abandoned_ = false;
}

ThreadPlace Reporter::thread_place(std::uint32_t thread) const {
  return {block_, run_.shape.block.at(thread), thread};
}

Finding Reporter::finding(Check check, std::uint32_t thread, const Step& step,
                          std::string what) const {
  Finding found;
  found.check = check;
  found.kernel = run_.program.kernel;
  found.thread = thread_place(thread);
  found.place = run_.code_place(step.place);
  found.what = std::move(what);
  return found;
}

void Reporter::abandon(Check check, std::uint32_t thread, const Step& step, std::string what) {
  abandon(finding(check, thread, step, std::move(what)));
}

void Reporter::abandon(Finding finding) {
  run_.report(std::move(finding));
  has_abandoned_ = true;
}

void Reporter::report_conflict(std::uint32_t thread, const Access& access, const Conflict& conflict,
                               const std::string& where) {
  Finding found = finding(check_of(conflict.kind), thread, *access.step,
                          std::string(access.verb) + " " + where);
  if (conflict.kind == Conflict::Kind::kUninitialised) {
    found.what += ", which was never written";
  } else {
    const Stamp& other = conflict.other;
    found.other_thread = ThreadPlace{run_.shape.grid.at(other.block - 1),
                                     run_.shape.block.at(other.thread), other.thread};
    found.other_place = run_.code_place(other.place);
    found.other_what = what_other_does(conflict);
  }
  run_.report(std::move(found));
}

}  // namespace recto::ptx
