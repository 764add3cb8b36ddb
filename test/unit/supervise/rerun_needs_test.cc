#include "supervise/reruns/rerun_needs.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "unit/supervise/failing_session.h"

namespace cudadiag::supervise {
namespace {

using session::PassKind;

TEST_CASE("a failure that is not proven calls for reruns") {
  const session::Session session = failing_session();
  const auto analysis = analyse::analyse(session);
  CHECK(wants_proof(analysis));
  CHECK(wants_reruns(analysis, session.manifest, {}));
  CHECK(planned_reruns(analysis, session, {}) == 2);  // one that waits for the operation, and one for a core dump
  RerunPlan plan;
  plan.options.device = false;
  CHECK(planned_reruns(analysis, session, plan) == 1);
}

TEST_CASE("a session without a failure needs none") {
  session::Session session = failing_session();
  session.processes.clear();
  const auto analysis = analyse::analyse(session);
  CHECK_FALSE(wants_reruns(analysis, session.manifest, {}));
  CHECK(planned_reruns(analysis, session, {}) == 0);
  CHECK_FALSE(wants_races(session));
}

TEST_CASE("a pass is run once, and again only if it was cut short and left no dump") {
  session::Session session = failing_session();
  const auto analysis = analyse::analyse(session);
  CHECK(wants_dump(analysis, session.manifest));
  session.manifest.passes.push_back(rerun_pass(PassKind::device));
  session::Pass& device = session.manifest.passes.back();
  CHECK_FALSE(wants_dump(analysis, session.manifest));
  device.cut_short = session::CutShort::time_limit;
  CHECK(wants_dump(analysis, session.manifest));
  device.dump = "4711.gpucore";
  CHECK_FALSE(wants_dump(analysis, session.manifest));
  CHECK_FALSE(was_made(session.manifest, PassKind::sanitize));
}

TEST_CASE("only device exceptions call for a core dump") {
  for (const std::uint32_t code : {700u, 710u, 719u}) {
    const session::Session session = failing_session(2, code);
    CHECK(wants_dump(analyse::analyse(session), session.manifest));
  }
  const session::Session timed_out = failing_session(2, 702);
  CHECK_FALSE(wants_dump(analyse::analyse(timed_out), timed_out.manifest));
}

TEST_CASE("after a failed assertion in Python, the origin of its bad value is traced") {
  session::Session session = failing_session(2, 710);
  const auto wants = [&](bool asked) { return wants_origin(analyse::analyse(session), session.manifest, asked); };
  CHECK_FALSE(wants(true));  // the program does not use Python
  session.processes[0].record.properties["python"] = "3.11";
  CHECK(wants(true));
  CHECK(wants(false));
  CHECK(planned_reruns(analyse::analyse(session), session, {}) == 2);  // one that waits for the operation, and one for
                                                                       // a core dump
  session.processes[0].record.modules.push_back({"/x/torch/lib/libc10_cuda.so", "", 0, 0, 1});
  CHECK(planned_reruns(analyse::analyse(session), session, {}) == 3);
  session.manifest.passes.push_back(rerun_pass(PassKind::origin));
  CHECK_FALSE(wants(true));
  session::Session access = failing_session(2, 700);
  access.processes[0].record.properties["python"] = "3.11";
  CHECK_FALSE(wants_origin(analyse::analyse(access), access.manifest, false));
}

TEST_CASE("the suspected kernels are those of the candidates") {
  const session::Session session = failing_session(3);
  const auto kernels = suspected_kernels(analyse::analyse(session));
  CHECK(kernels.all);
  CHECK(std::set<std::string>(kernels.names.begin(), kernels.names.end()) ==
        std::set<std::string>{"kernel1", "kernel2", "kernel3"});
  // memcheck does not report failed assertions.
  const session::Session assertion = failing_session(3, 710);
  CHECK(suspected_kernels(analyse::analyse(assertion)).names.empty());
}

TEST_CASE("if there are too many kernels to list, the list is marked as incomplete") {
  const session::Session session = failing_session(9);
  CHECK_FALSE(suspected_kernels(analyse::analyse(session)).all);
}

TEST_CASE("the debugger is run once for a dump") {
  session::Session session = failing_session();
  CHECK(obstacle_to_cross_check(session.manifest) == NoCrossCheck::no_dump);
  session.manifest.passes.push_back(rerun_pass(PassKind::device));
  session.manifest.passes.back().dump = "4711.gpucore";
  CHECK_FALSE(obstacle_to_cross_check(session.manifest));
  CHECK(unchecked_dump(session.manifest) == &session.manifest.passes.back());
  session.manifest.passes.back().debugger = session::Witness{};
  CHECK(obstacle_to_cross_check(session.manifest) == NoCrossCheck::asked_already);
  CHECK(unchecked_dump(session.manifest) == nullptr);
}

TEST_CASE("a hang is rerun only for its dump, and only if the run was ended because of it") {
  session::Session session = failing_session();
  analyse::Analysis analysis;
  analysis.failures.resize(1);
  analysis.failures.front().kind = analyse::Kind::hang;
  CHECK_FALSE(wants_hang_dump(analysis, session.manifest));
  session.manifest.hang = 5;
  CHECK(wants_hang_dump(analysis, session.manifest));
  session.manifest.passes.push_back(rerun_pass(PassKind::device));
  CHECK(wants_hang_dump(analysis, session.manifest));
  session.manifest.passes.back().dump = "4711.gpucore";
  CHECK_FALSE(wants_hang_dump(analysis, session.manifest));
}

}  // namespace
}  // namespace cudadiag::supervise
