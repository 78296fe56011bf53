#pragma once

// Tries all faults of a call: each must be refused with its own message before anything is written,
// and every field of the call's parameters must have a fault.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/kernels/host_api/api_faults.h"
#include "verify/kernels/host_api/api_leaves.h"
#include "verify/simt/executor/executor.h"

namespace recto::verify {

struct WalkedCall {
  std::function<Status(WalkCall& call, simt::Stream& stream)> run;
  Leaves fields;                   // all fields of the parameters
  Leaves free;                     // fields for which every value is valid
  std::vector<std::string> kinds;  // kinds of faults that must occur
};

template <typename View, typename Get>
FieldOf<View> field(Get get) {
  return [get](WalkCall& call) -> View& { return get(call); };
}
#define RECTO_FIELD(Type, path) field<Type>([](WalkCall& c) -> Type& { return c.path; })

inline Leaves joined(const std::vector<Leaves>& parts) {
  Leaves all;
  for (const Leaves& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline void expect_all_fields(const WalkedCall& walked, const Faults& faults) {
  std::set<std::string> seen(walked.free.begin(), walked.free.end());
  std::set<std::string> kinds;
  const std::set<std::string> fields(walked.fields.begin(), walked.fields.end());
  CHECK(fields.size() == walked.fields.size());
  for (const std::string& field : walked.free) CHECK(fields.count(field) == 1);
  for (const WalkFault& fault : faults.all()) {
    INFO(fault.field);
    CHECK(fields.count(fault.field) == 1);
    seen.insert(fault.field);
    kinds.insert(fault.kind);
  }
  for (const std::string& field : walked.fields) {
    INFO("no fault of " << field);
    CHECK(seen.count(field) == 1);
  }
  for (const std::string& kind : walked.kinds) {
    INFO("no fault of kind " << kind);
    CHECK(kinds.count(kind) == 1);
  }
}

inline void walk(const WalkedCall& walked, const Faults& faults) {
  expect_all_fields(walked, faults);
  simt::Executor executor({});
  WalkCall right;
  simt::Stream right_stream(executor);
  CHECK(walked.run(right, right_stream) == Status::ok());
  CHECK(right_stream.synchronise().passed());
  for (const WalkFault& fault : faults.all()) {
    WalkCall call;
    fault.plant(call);
    const std::vector<std::uint16_t> before = call.written();
    simt::Stream stream(executor);
    const Status status = walked.run(call, stream);
    INFO(fault.field << ", " << fault.kind << ": '" << status.message() << "', not '"
                     << fault.message << "'");
    CHECK(status.code() == StatusCode::kInvalidInput);
    CHECK(status.message().starts_with(fault.message));
    CHECK(stream.synchronise().passed());
    CHECK((call.written() == before));
  }
}

}  // namespace recto::verify
