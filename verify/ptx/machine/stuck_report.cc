// What a thread block says that cannot go on: who waits for what.

#include <bit>
#include <utility>

#include "verify/ptx/machine/mbarrier_steps.h"
#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {
namespace {

struct Waiting {
  const Warp* warp = nullptr;
  const Warp::Group* group = nullptr;

  unsigned lane() const { return static_cast<unsigned>(std::countr_zero(group->lanes)); }
  std::uint32_t thread() const { return warp->thread(lane()); }
};

}  // namespace

bool ThreadBlock::deliver_copies() {
  const Mbarriers::Delivered delivered = memory_.mbarriers().deliver_all();
  if (!delivered.problem.empty()) {
    Finding found;
    found.check = Check::kMbarrier;
    found.kernel = program_.kernel;
    found.thread = delivered.copy.thread;
    found.place = run_.code_place(delivered.copy.place);
    found.what = "reports a copy to the mbarrier " + memory_.shared_text(delivered.address) + " " +
                 delivered.problem;
    reporter_.abandon(std::move(found));
  }
  return delivered.has_copies;
}

void ThreadBlock::report_stuck() {
  using Wait = Warp::Wait;
  // What names the error best: a meeting of lanes, then an mbarrier, then barriers.
  Waiting worst;
  for (const Wait wait : {Wait::kMeeting, Wait::kMbarrier, Wait::kClusterBarrier, Wait::kBarrier}) {
    for (const Warp& warp : warps_) {
      for (const Warp::Group& group : warp.groups) {
        if (worst.group == nullptr && group.wait == wait) worst = {&warp, &group};
      }
    }
  }
  const Step& step = program_.steps[worst.group->step];
  std::string what = "waits at a barrier that others never reach";
  Check check = Check::kBarrierDivergence;
  if (worst.group->wait == Wait::kMeeting) {
    check = Check::kWarpMask;
    what = "waits for lanes of its mask that never arrive with the same mask";
  } else if (worst.group->wait == Wait::kClusterBarrier) {
    what = "waits at the cluster's barrier, which " + std::to_string(cluster_->num_missing()) +
           " threads never reach";
  } else if (worst.group->wait == Wait::kMbarrier) {
    check = Check::kDeadlock;
    Warp warp = *worst.warp;
    const auto place = memory_.shared_place(warp, detail_of(step).memory, worst.lane());
    const Mbarrier* const object = memory_.mbarriers().find(place->offset);
    what = "waits for ever at the mbarrier " + memory_.shared_text(place->offset) + ", in " +
           (object == nullptr ? "no phase" : object->text());
  }
  Finding found = reporter_.finding(check, worst.thread(), step, std::move(what));
  // Another party: a thread that waits somewhere else.
  for (const Warp& warp : warps_) {
    for (const Warp::Group& group : warp.groups) {
      if (group.step == worst.group->step || !found.other_what.empty()) continue;
      found.other_thread = reporter_.thread_place(Waiting{&warp, &group}.thread());
      found.other_place = run_.code_place(program_.steps[group.step].place);
      found.other_what = "waits here";
    }
  }
  if (found.other_what.empty() && barriers_.num_exited() != 0) {
    found.other_what = std::to_string(barriers_.num_exited()) + " threads have exited";
  }
  reporter_.abandon(std::move(found));
}

}  // namespace recto::ptx
