// Tests what the core dump of the first run itself proves about a failure.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "diagnose/facts/model.h"
#include "diagnose/reruns/device.h"
#include "diagnose/reruns/dump_candidates.h"
#include "session/session.h"
#include "symbolize/device_testimony.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {
namespace {

using analyse::Fact;
using analyse::Grade;

constexpr std::uint32_t kUnknown = 719;  // the recorder's code for a failure that is only in the dump

// A process with one launch of a kernel, and the exception in its core dump.
struct Run {
  Run() {
    session::Process& process = session.processes.emplace_back();
    process.record.properties["core_dump"] = "written";
    process.record.functions.emplace_back("_Z4scalePf");
    process.record.sites.emplace_back().function = 1;
    session::Operation& launch = process.record.operations.emplace_back();
    launch.kind = wire::operation::Kind::kernel;
    launch.site = 1;
    shown.exception_name = "Warp Illegal Address";
    shown.kernel = "_Z4scalePf";
  }

  // Returns the failure after it has been weighed by a dump of the process `of`.
  analyse::Failure weighed(const session::Process& of) {
    analyse::Failure failure;
    failure.code = kUnknown;
    failure.process = &session.processes[0];
    failure.evidence.add(Fact::one_running);
    failure.candidates = {{&failure.process->record.operations[0], "next", 3}};
    std::vector<analyse::Failure> failures = {failure};
    symbolize::DeviceTestimony testimony;
    testimony.failure = shown;
    testimony.of_first_run.emplace(&of, shown);
    symbolize::Symbolizer symbolizer(session);
    weigh_by_dump(failures, testimony, session, symbolizer);
    return failures[0];
  }
  analyse::Failure weighed() { return weighed(session.processes[0]); }

  session::Session session;
  evidence::DumpedFailure shown;
};

TEST_CASE("the dump proves the only launch that can have run its kernel") {
  const analyse::Failure failure = Run().weighed();
  CHECK(failure.evidence.grade() == Grade::proven);
  CHECK(failure.code == 700);
  CHECK(failure.dumped);
}

TEST_CASE("a dump of another process with the same pid proves nothing") {
  Run run;
  const session::Process other = run.session.processes[0];
  const analyse::Failure failure = run.weighed(other);
  CHECK(failure.evidence.grade() == Grade::bracketed);
  CHECK(failure.code == kUnknown);
  CHECK_FALSE(failure.dumped);
  CHECK(failure.evidence.text().find("code is unknown") != std::string::npos);
}

TEST_CASE("a dump proves no launch if another kernel launched its kernel") {
  Run run;
  run.shown.from_kernel = true;
  CHECK(run.weighed().evidence.grade() == Grade::bracketed);
  CHECK(run.weighed().code == 700);
}

TEST_CASE("a dump of a kernel that no candidate launches weakens the answer") {
  Run run;
  run.shown.kernel = "_Z5otherv";
  CHECK(run.weighed().evidence.grade() == Grade::inferred);
  CHECK(run.weighed().code == 700);
}

TEST_CASE("a dump that was requested in the run that hangs is used for its own process only") {
  session::Session session;
  session.processes.resize(2);
  evidence::DumpedFailure spins;
  spins.kernel = "_Z4spinPiy";
  spins.threads = 32;
  symbolize::DeviceTestimony testimony;
  testimony.running_in_first_run[&session.processes[0]] = {spins};
  Finding hang;
  hang.standstill = 60;
  hang.launch.emplace().mangled = spins.kernel;
  Diagnosis report;
  report.findings = {hang, hang};
  analyse::Failure first, second;
  first.process = &session.processes[0];
  second.process = &session.processes[1];
  add_device(report, testimony, session, {}, {&first, &second});
  REQUIRE(report.findings[0].device);
  CHECK(report.findings[0].device->join == "running in this run, same kernel; the grid was not recorded");
  CHECK(report.findings[0].device->of_first_run);
  CHECK_FALSE(report.findings[1].device);
}

}  // namespace
}  // namespace cudadiag::diagnose
