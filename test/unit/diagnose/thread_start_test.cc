#include <doctest/doctest.h>

#include "diagnose/session_state.h"
#include "report/writers.h"

namespace thread_start_test {

using namespace cudadiag;

namespace {

constexpr const char* kStartingScript = TEST_DATA "/report/program.py";
constexpr const char* kLaunchingLibrary = "/venv/lib/python3.11/site-packages/torch/nn/functional.py";
constexpr const char* kThreading = "/usr/lib/python3.11/threading.py";

struct OwnFrame {
  const char *file, *function;
  std::uint32_t line;
};
using StartFrames = std::vector<session::DeliveredFrame>;

const StartFrames kStarted = {{"/venv/lib/python3.11/site-packages/torch/nn/parallel.py", "parallel_apply", 90},
                              {kStartingScript, "Trainer.fit", 7},
                              {kStartingScript, "<module>", 3}};

// Builds a process with one operation, on thread 4711 at tick 500. `frames` is its stack, innermost frame first.
session::Process process_on_thread(const std::vector<OwnFrame>& frames) {
  session::Process process;
  process.pid = 4700;
  session::ProcessRecord& record = process.record;
  record.threads.resize(1);
  record.threads[0].tid = 4711;
  record.sites.resize(1);
  record.sites[0].python = 1;
  record.python_stacks.resize(1);
  for (const OwnFrame& frame : frames) {
    // Maps all instructions to the function's first line.
    record.codes.push_back({frame.file, frame.function, frame.line, 11, std::string("\xef\0", 2)});
    record.python_stacks[0].frames.push_back({static_cast<std::uint32_t>(record.codes.size()), 0});
  }
  session::Operation operation;
  operation.kind = wire::operation::Kind::kernel;
  operation.site = 1;
  operation.site_ordinal = 5;
  operation.ticks = 500;
  record.operations = {operation};
  return process;
}

session::Delivery told_start(const std::vector<StartFrames>& stacks) {
  session::Delivery delivery;
  delivery.tid = 4711;
  delivery.ticks = 400;
  delivery.kind = session::DeliveryKind::started;
  delivery.file = kLaunchingLibrary;
  delivery.line = 2567;
  delivery.stacks = stacks;
  return delivery;
}

// A failure on a library's thread, and a rerun that failed on that thread too.
struct ThreadRuns {
  explicit ThreadRuns(const std::vector<OwnFrame>& frames = {{kLaunchingLibrary, "embedding", 2567},
                                                             {kThreading, "Thread.run", 975}}) {
    session.manifest.working_directory = TEST_DATA;
    session.processes = {process_on_thread(frames)};
    session.reruns = {{process_on_thread(frames)}};
    deliveries() = {told_start({kStarted})};
  }
  std::vector<session::Delivery>& deliveries() { return session.reruns[0][0].deliveries; }

  diagnose::Diagnosis report(bool confirmed = true) const {
    analyse::Failure failure;
    failure.code = 710;
    failure.process = &session.processes[0];
    failure.candidates = {{&session.processes[0].record.operations[0], "next in line", 0}};
    failure.evidence = {analyse::Fact::ran_alone, "it failed in a rerun"};
    if (confirmed) {
      failure.again_process = &session.reruns[0][0];
      failure.again = &failure.again_process->record.operations[0];
    }
    analyse::Analysis analysis;
    analysis.verdict = analyse::Verdict::cuda_failure;
    analysis.failures = {failure};
    return diagnose::SessionState(session, analysis).diagnosis();
  }
  diagnose::Finding finding(bool confirmed = true) const { return report(confirmed).findings.at(0); }

  session::Session session;
};

}  // namespace

TEST_CASE("the line that started a thread leads if the thread runs no user line") {
  const ThreadRuns runs;
  const diagnose::Finding finding = runs.finding();
  CHECK((finding.location.file == kStartingScript && finding.location.line == 7 &&
         finding.location.language == symbolize::Language::python));
  CHECK(finding.location.function == "Trainer.fit");
  CHECK(!finding.location.source.empty());
  CHECK(finding.source.excerpt.size() == 2);  // the file ends after the line
  REQUIRE(finding.related.size() == 1);
  CHECK((finding.related[0].role == diagnose::Role::started &&
         diagnose::same_line(finding.related[0].location, finding.location)));
  CHECK(finding.stack.python.size() == 2);
  REQUIRE(finding.thread_start);
  CHECK((finding.thread_start->issued.file == kLaunchingLibrary && finding.thread_start->issued.line == 2567));
  CHECK(finding.thread_start->stack.size() == 3);
  CHECK(finding.evidence.grade() == analyse::Grade::proven);
  CHECK(finding.evidence ==
        "it failed in a rerun; the operation was issued at " + std::string(kLaunchingLibrary) +
            ":2567, embedding, on a thread that runs none of your code; the line shown started that thread");
  const std::string text = report::write_text(runs.report(), {report::Verbosity::verbose, false, 200, false});
  CHECK(text.find("Issued  by " + std::string(kLaunchingLibrary) +
                  ":2567, embedding, on a thread that this line started\n") != text.npos);
  CHECK(text.find("Python    " + std::string(kLaunchingLibrary) + ":2567 embedding\n          " + kThreading +
                  ":975 Thread.run\nStarted   " + kStarted[0].file +
                  ":90 parallel_apply\n        * report/program.py:7 Trainer.fit\n        * report/program.py:3 "
                  "<module>\n") != text.npos);
  CHECK(text.find("of this line") == text.npos);
}

TEST_CASE("the first user line leads, through threads that started threads") {
  ThreadRuns runs;
  runs.deliveries() = {
      told_start({{{kThreading, "Thread.start", 950}}, {}, kStarted, {{kStartingScript, "other", 3}}})};
  const diagnose::Finding finding = runs.finding();
  CHECK((finding.location.file == kStartingScript && finding.location.line == 7));
  CHECK(finding.thread_start->stack.size() == 4);
  runs.deliveries()[0].pool = true;
  CHECK(runs.finding().evidence.text().ends_with("the line shown submitted this work to the thread's pool"));
}

TEST_CASE("the latest start that was reported before the operation counts") {
  ThreadRuns runs;
  runs.deliveries().push_back(told_start({{{kStartingScript, "later", 3}}}));
  CHECK(runs.finding().location.line == 3);
  runs.deliveries()[1].ticks = 501;
  CHECK(runs.finding().location.line == 7);
  runs.deliveries()[1].ticks = 500;
  runs.deliveries()[1].tid = 4712;
  CHECK(runs.finding().location.line == 7);
}

TEST_CASE("the library's line leads if no user line is known to have started the thread") {
  const auto leads = [](const ThreadRuns& runs, bool confirmed = true) {
    const diagnose::Finding finding = runs.finding(confirmed);
    CHECK(finding.related.empty());
    CHECK_FALSE(finding.thread_start);
    return finding.location.file == kLaunchingLibrary && finding.location.line == 2567;
  };
  CHECK(leads(ThreadRuns(), false));
  ThreadRuns runs;
  runs.deliveries()[0].stacks = {{{kThreading, "Thread.start", 950}}, {}};
  CHECK(leads(runs));
  runs = ThreadRuns();
  runs.deliveries()[0].line = 2568;
  CHECK(leads(runs));
  runs = ThreadRuns();
  runs.deliveries()[0].file = "";
  CHECK(leads(runs));
  runs = ThreadRuns();
  runs.session.reruns[0][0].record.operations[0].thread = 9;
  CHECK(leads(runs));
  runs.deliveries().clear();
  CHECK(leads(runs));
}

TEST_CASE("a thread that runs a user line has that line") {
  const ThreadRuns runs(
      {{kLaunchingLibrary, "embedding", 2567}, {kStartingScript, "launch", 3}, {kThreading, "Thread.run", 975}});
  const diagnose::Finding finding = runs.finding();
  CHECK((finding.location.file == kStartingScript && finding.location.line == 3));
  CHECK(finding.related.empty());
}

TEST_CASE("work of an autograd thread is not attributed to the thread's start") {
  ThreadRuns runs;
  runs.session.processes[0].record.operations[0].origin.node_thread = 1;
  CHECK_FALSE(runs.finding().thread_start);
}

}  // namespace thread_start_test
