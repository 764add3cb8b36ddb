#include <doctest/doctest.h>

#include <algorithm>

#include "diagnose/facts/report_model.h"
#include "diagnose/session_state.h"
#include "report/writers.h"
#include "symbolize/source_file.h"

namespace diagnosis_test {

using namespace cudadiag;
using diagnose::Diagnosis;

namespace {

constexpr const char* kProgram = TEST_DATA "/report/program.py";

// Returns code whose instructions are all at `line`. The bytes are a PEP 657 table entry: no columns, eight code units,
// line delta 0.
session::Code code_at(std::uint32_t line, const char* function) {
  return {kProgram, function, line, 11, std::string("\xef\0", 2)};
}

// Builds a process in which site 1 (program.py:3) launches a kernel. Site 2 is at program.py:7.
session::Process process() {
  session::Process process;
  process.pid = 4711;
  process.parent_pid = 4700;
  process.argv = {"python", "program.py"};
  process.end = session::ProcessEnd{1, {}};
  session::ProcessRecord& record = process.record;
  record.pid = 4711;
  record.codes = {code_at(3, "launch"), code_at(7, "read")};
  record.python_stacks = {{{{1, 0}}, false}, {{{2, 0}}, false}};
  record.functions = {"_Z5scalePf"};
  record.sites.resize(2);
  record.sites[0].python = 1;
  record.sites[0].function = 1;
  record.sites[1].python = 2;
  record.threads.resize(1);
  record.threads[0].tid = 4712;
  record.contexts.resize(1);
  record.contexts[0].device = 2;
  record.streams.resize(1);
  record.streams[0].handle = 0x5000;
  session::Operation operation;
  operation.kind = wire::operation::Kind::kernel;
  operation.site = 1;
  operation.stream = 0;
  operation.grid = {8, 1, 1};
  operation.block = {32, 1, 1};
  for (std::uint32_t i = 1; i <= 3; ++i) {
    operation.ordinal = operation.site_ordinal = 10 + i;
    record.operations.push_back(operation);
  }
  session::FailedCall error;
  error.code = 700;
  error.tid = 4712;
  error.call = "cuMemcpyDtoH_v2";
  error.outer = "cudaMemcpy";
  error.site = 2;
  record.errors = {error};
  record.properties = {{"driver", "580.1"}, {"torch", "2.11"}, {"device.0.name", "H200"}, {"device.1.name", "H200"}};
  return process;
}

session::Session session_of(std::vector<session::Process> processes) {
  session::Session session;
  session.folder = "/tmp/session";
  session.manifest.working_directory = TEST_DATA;
  session.manifest.host = "node7";
  session.manifest.passes = {{session::PassKind::record, "record", "", 2.5, {}, {}, "", {}}};
  session.manifest.notes = {"an injection was replaced", "an injection was replaced"};
  session.processes = std::move(processes);
  return session;
}

analyse::Failure failure_of(const session::Process& process, std::size_t candidates) {
  analyse::Failure failure;
  failure.code = 700;
  failure.process = &process;
  failure.reported = &process.record.errors[0];
  failure.evidence = {candidates == 1 ? analyse::Fact::one_running : analyse::Fact::several_running, "markers"};
  for (std::size_t i = 0; i < candidates; ++i) {
    failure.candidates.push_back({&process.record.operations[i], "next in line", 100 + i});
  }
  return failure;
}

Diagnosis report_of(const session::Session& session, std::vector<analyse::Failure> failures,
                    std::vector<analyse::Rerun> reruns = {}) {
  analyse::Analysis analysis;
  analysis.reruns = std::move(reruns);
  analysis.verdict = analyse::Verdict::cuda_failure;
  analysis.failures = std::move(failures);
  if (!analysis.failures.empty()) analysis.first_grade = analysis.failures.front().evidence.grade();
  analysis.notes = {{analyse::NoteCode::python_off, "Python stacks are off"},
                    {analyse::NoteCode::python_off, "Python stacks are off"}};
  return diagnose::SessionState(session, analysis).diagnosis();
}

}  // namespace

// During a long run, users may edit the source.
TEST_CASE("a source written after the program had started") {
  session::Session session = session_of({process()});
  const auto is_noted = [&](const Diagnosis& report) {
    return std::any_of(report.notes.begin(), report.notes.end(),
                       [](const auto& n) { return n.code == analyse::NoteCode::source_newer; });
  };
  session.processes[0].record.start_realtime = 9'000'000'000'000'000'000;
  const Diagnosis older = report_of(session, {failure_of(session.processes[0], 1)});
  CHECK_FALSE(is_noted(older));
  session.processes[0].record.start_realtime = 1'000'000'000;  // nanoseconds since the epoch, so in 1970
  const Diagnosis newer = report_of(session, {failure_of(session.processes[0], 1)});
  CHECK(is_noted(newer));
  CHECK(newer.findings[0].location.line == 3);
  CHECK(report::write_text(newer, {}).find("the line may have been different") != std::string::npos);
}

// Sets the clock of the process so that it failed 10 seconds after `start` (seconds since the epoch).
void failed_after(session::Process& process, double start) {
  session::ProcessRecord& record = process.record;
  record.start_realtime = static_cast<std::uint64_t>(start * 1e9);
  record.seconds_per_tick = 1;
  record.clock_start = 1;
  record.frozen_ticks = record.clock_last = 11;
}

TEST_CASE("text written after the failure is neither shown nor quoted") {
  session::Session session = session_of({process()});
  const double written = *symbolize::time_written(kProgram);
  failed_after(session.processes[0], written - 9);
  const Diagnosis during = report_of(session, {failure_of(session.processes[0], 1)});
  CHECK_FALSE(during.findings[0].source_changed());
  CHECK(during.findings[0].source.newer_than == "the program had started");
  CHECK(during.findings[0].source.excerpt.size() == 3);
  failed_after(session.processes[0], written - 11);
  const Diagnosis since = report_of(session, {failure_of(session.processes[0], 1)});
  const diagnose::Finding& finding = since.findings[0];
  CHECK(finding.source.changed == std::vector<std::string>{kProgram});
  CHECK(finding.location.line == 3);
  CHECK(finding.location.source == "");
  CHECK(finding.noticed.at->source == "");
  CHECK(finding.source.excerpt.empty());
  CHECK(finding.source.newer_than.empty());
  CHECK(std::any_of(since.notes.begin(), since.notes.end(),
                    [](const auto& n) { return n.code == analyse::NoteCode::source_changed; }));
  const std::string text = report::write_text(since, {});
  CHECK(text.find("(program.py was edited after the run: line numbers are those of the run)") != std::string::npos);
  CHECK(text.find("scale(x)") == std::string::npos);
}

TEST_CASE("one candidate: its line leads, and the reporting call is named") {
  const session::Session session = session_of({process()});
  const Diagnosis report = report_of(session, {failure_of(session.processes[0], 1)});
  REQUIRE(report.findings.size() == 1);
  const diagnose::Finding& finding = report.findings[0];
  CHECK(finding.name == "CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK(finding.location.file == kProgram);
  CHECK(finding.location.line == 3);
  CHECK(finding.location.function == "launch");
  CHECK(finding.location.source == "scale(x)");
  CHECK(finding.source.excerpt.size() == 3);
  CHECK(finding.candidates.empty());
  REQUIRE(finding.launch);
  CHECK(finding.launch->kernel == "scale(float*)");
  CHECK(finding.launch->grid == session::Dim3{8, 1, 1});
  CHECK(finding.launch->stream == 0x5000);
  CHECK(finding.launch->device == 2u);
  CHECK(finding.launch->thread == 4712);
  CHECK(finding.launch->process_ordinal == 100u);
  CHECK(finding.launch->stream_ordinal == 11u);
  CHECK(finding.launch->site_ordinal == 11u);
  REQUIRE(finding.noticed.at);
  CHECK(finding.noticed.at->line == 7);
  CHECK(finding.noticed.at->source == "return x.item()");
  CHECK(finding.noticed.api == "cudaMemcpy");
  CHECK(finding.host == "node7");
}

TEST_CASE("a rerun leaves a proof open if it was isolated or did not wait for every operation") {
  using Outcome = analyse::Rerun::Outcome;
  struct Case {
    Outcome outcome;
    bool isolated, waited_for_all, open;
  };
  for (const Case& each :
       {Case{Outcome::kept_from, true, true, true}, Case{Outcome::failed, true, true, true},
        Case{Outcome::failed, false, false, true}, Case{Outcome::failed, false, true, false},
        Case{Outcome::proven, true, false, false}, Case{Outcome::did_not_fail, true, false, false}}) {
    session::Session session = session_of({process()});
    session::Pass pass;
    pass.kind = session::PassKind::confirm;
    pass.isolated = each.isolated;
    pass.waits = each.waited_for_all ? "every operation" : "launch 7";
    if (each.outcome == Outcome::kept_from) pass.kept_from = {{session::Deed::write, "/home/u/mine.log"}};
    session.manifest.passes.push_back(pass);
    session.reruns.resize(1);
    analyse::Rerun rerun;
    rerun.outcome = each.outcome;
    const Diagnosis report = report_of(session, {failure_of(session.processes[0], 1)}, {rerun});
    CAPTURE(static_cast<int>(each.outcome));
    CHECK(report.passes.at(1).leaves_proof_open == each.open);
    const std::string text = report::write_text(report, {});
    CHECK((text.find("cudadiag bisect /tmp/session  # about") != std::string::npos) == each.open);
  }
}

TEST_CASE("a failure that a rerun proved alone is not called a missing wait") {
  const session::Session session = session_of({process()});
  for (const bool alone : {true, false}) {
    session::Operation again = session.processes[0].record.operations[0];
    if (alone) again.flags |= wire::operation::kAlone;
    analyse::Failure failure = failure_of(session.processes[0], 1);
    failure.evidence.add(analyse::Fact::ran_alone);
    failure.again = &again;
    analyse::Analysis analysis;
    analysis.verdict = analyse::Verdict::cuda_failure;
    analysis.vanished = analyse::Vanished::race;
    analysis.failures = {failure};
    const Diagnosis report = diagnose::SessionState(session, analysis).diagnosis();
    const auto& cause = report.findings.at(0).cause;
    CHECK((cause && cause->id == "missing-wait") == !alone);
  }
}

TEST_CASE("a failure that 20 reruns did not reproduce needs a core dump of the run that fails") {
  session::Session session = session_of({process()});
  session.manifest.command = {"python", "program.py"};
  session.manifest.options = {"races", "--save-launch", "--rerun=never", "--user-code=./own"};
  for (const auto& [count, once] : {std::pair(19, false), {20, true}, {20, false}}) {
    if (count == 20 && !once) session.processes[0].record.properties["core_dump"] = "armed";  // it ran with --once
    analyse::Analysis analysis;
    analysis.verdict = analyse::Verdict::cuda_failure;
    analysis.vanished = analyse::Vanished::open;
    analysis.failures = {failure_of(session.processes[0], 1)};
    analyse::Rerun rerun;
    rerun.outcome = analyse::Rerun::Outcome::did_not_fail;
    analysis.reruns.assign(static_cast<std::size_t>(count), rerun);
    session.reruns.resize(static_cast<std::size_t>(count));
    session.manifest.passes.resize(1 + static_cast<std::size_t>(count));
    const Diagnosis report = diagnose::SessionState(session, analysis).diagnosis();
    const std::string fix = report.findings.at(0).fix.at(0);
    const std::string text = report::write_text(report, {});
    CAPTURE(text);
    CHECK((fix == "get a GPU core dump in the run that fails: cudadiag run --once -- COMMAND") == once);
    const char* next = "cudadiag run --user-code=./own --once -- python program.py  # a GPU core dump, if it fails";
    CHECK((text.find(next) != text.npos) == once);
    CHECK((text.find("--repeat 20") != text.npos) == (count == 19));
  }
}

TEST_CASE("the number of a call counts the calls of its line only if the line has no other call site") {
  const auto counted = [](const auto& change) {
    session::Session session = session_of({process()});
    session::ProcessRecord& record = session.processes[0].record;
    record.sites[0].kind = wire::operation::Kind::kernel;
    record.sites.push_back(record.sites[0]);
    record.sites[2].operations = 4;
    record.python_stacks.push_back({{{1, 0}, {2, 0}}, false});  // program.py:3, called from program.py:7
    change(record, record.sites[2]);
    return report_of(session, {failure_of(session.processes[0], 1)}).findings.at(0).launch->counted;
  };
  CHECK(counted([](auto&, auto& other) { other.python = 2; }) == "of this line");
  CHECK(counted([](auto&, auto& other) { other.function = 0; }) == "of this kernel on this line");
  CHECK(counted([](auto&, auto& other) { other.python = 3; }) == "with this stack");
  CHECK(counted([](auto& record, auto&) { record.sites[0].python = 3; }) == "from program.py:7");
  CHECK(counted([](auto&, auto& other) { other.thread = 1; }).empty());
  CHECK(counted([](auto& record, auto& other) { other.python = 2, record.dropped_sites = 1; }) == "with this stack");
}

TEST_CASE("candidates on one line are merged, and the reason says that the line is known") {
  const session::Session session = session_of({process()});
  const Diagnosis report = report_of(session, {failure_of(session.processes[0], 3)});
  const diagnose::Finding& finding = report.findings.at(0);
  REQUIRE(finding.candidates.size() == 1);
  CHECK(finding.candidates[0].launches == 3);
  CHECK(finding.candidates[0].because == "next in line (3 launches on this line, calls 11 to 13)");
  const std::string text = report::write_text(report, {.verbosity = report::Verbosity::verbose});
  CHECK(text.find("program.py:3, launch (scale): next in line (3 launches on this line, calls 11 to 13)") != text.npos);
  CHECK(finding.evidence == "markers; the line is known, but not which of 3 launches failed");
  analyse::Failure lost = failure_of(session.processes[0], 3);
  lost.records_lost = true;
  const Diagnosis of_lost = report_of(session, {lost});
  CHECK(of_lost.findings.at(0).evidence == "markers");
  CHECK(report::write_text(of_lost, {}).find("one of 3") == std::string::npos);
}

TEST_CASE("a proven line has the number of the replay only if that is known") {
  session::Session session = session_of({process()});
  for (session::Operation& operation : session.processes[0].record.operations) operation.replay = 5;
  for (const std::size_t candidates : {1, 2}) {
    for (const bool known : {true, false}) {
      analyse::Failure failure = failure_of(session.processes[0], candidates);
      failure.evidence.add(analyse::Fact::ran_alone);
      failure.call_not_known = !known;
      const Diagnosis report = report_of(session, {failure});
      CHECK(report.findings.at(0).launch->replay.has_value() == (known && candidates == 1));
    }
  }
}

TEST_CASE("the shape of a launch is shown if all possible calls have it") {
  session::Session session = session_of({process()});
  const auto shape = [&] {
    const Diagnosis report = report_of(session, {failure_of(session.processes[0], 3)});
    const diagnose::Finding& finding = report.findings.at(0);
    CHECK(finding.launch->has_shape_of(finding.candidates.at(0).launch));
    const bool shown = report::write_text(report, {}).find("  grid ") != std::string::npos;
    CHECK(shown == finding.launch->shape_known());
    return finding.launch->grid;
  };
  CHECK(shape() == session::Dim3{8, 1, 1});
  session.processes[0].record.operations[1].grid = {9, 1, 1};
  CHECK(shape() == session::Dim3{});
}

TEST_CASE(
    "a line that a rerun proved at another call has the shape from the rerun, unless the first run knew the call") {
  session::Session session = session_of({process()});
  session::Operation again = session.processes[0].record.operations[2];
  again.grid = {4, 1, 1};
  for (const bool known : {true, false}) {
    for (const int candidates : {1, 2}) {
      CAPTURE(known);
      CAPTURE(candidates);
      analyse::Failure failure = failure_of(session.processes[0], candidates);
      failure.evidence.add(analyse::Fact::ran_alone);
      failure.again = &again;
      failure.again_process = &session.processes[0];
      failure.call_not_known = !known;
      const Diagnosis report = report_of(session, {failure});
      CHECK(report.findings.at(0).launch->grid == session::Dim3{known || candidates == 1 ? 8u : 4u, 1, 1});
    }
  }
}

TEST_CASE("a node of a graph has its original shape unless it was changed") {
  session::Session session = session_of({process()});
  session::GraphNode node;
  node.site = node.function = 1;
  node.grid = {6, 1, 1};
  const auto grid = [&](std::uint32_t flags, std::uint32_t changed, bool same_shape = true) {
    session.processes[0].record.operations[0].graph_flags = flags;
    analyse::Failure failure = failure_of(session.processes[0], 1);
    failure.kind = analyse::Kind::graph_node;
    analyse::Candidate& candidate = failure.candidates[0];
    candidate.node = &node;
    candidate.node_index = candidate.nodes_of_graph = 1;
    candidate.changed = changed;
    candidate.same_shape = same_shape;
    return report_of(session, {failure}).findings.at(0).launch->grid;
  };
  using wire::operation::GraphFlag;
  const session::Dim3 made{6, 1, 1};
  CHECK(grid(0, 0) == made);
  CHECK(grid(GraphFlag::kGraphAltered, 0) == made);
  CHECK(grid(GraphFlag::kGraphAltered, 2) != made);
  CHECK(grid(GraphFlag::kGraphAltered | GraphFlag::kGraphUntold, 0) != made);
  CHECK(grid(0, 0, false) != made);
}

TEST_CASE("a node that failed in one of several launches of a graph has no replay and no number") {
  session::Session session = session_of({process()});
  session::GraphNode node;
  node.site = node.function = 1;
  analyse::Failure failure = failure_of(session.processes[0], 2);
  failure.kind = analyse::Kind::graph_node;
  for (analyse::Candidate& candidate : failure.candidates) {
    candidate.node = &node;
    candidate.node_index = candidate.nodes_of_graph = candidate.nodes = 1;
  }
  session.processes[0].record.operations[0].replay = 36;
  const diagnose::Launch launch = report_of(session, {failure}).findings.at(0).launch.value();
  CHECK(launch.graph_node);
  CHECK_FALSE(launch.replay);
  CHECK_FALSE(launch.process_ordinal);
}

TEST_CASE("candidates on several lines are all listed, likeliest first") {
  session::Session session = session_of({process()});
  session.processes[0].record.operations[2].site = 2;
  const Diagnosis report = report_of(session, {failure_of(session.processes[0], 3)});
  const diagnose::Finding& finding = report.findings.at(0);
  REQUIRE(finding.candidates.size() == 2);
  CHECK(finding.candidates[0].location.line == 3);
  CHECK(finding.candidates[0].launches == 2);
  CHECK(finding.candidates[1].location.line == 7);
  CHECK(finding.evidence == "markers");
}

TEST_CASE("the location of a failed call is the call, with all its dimensions") {
  session::Session session = session_of({process()});
  session::FailedCall& error = session.processes[0].record.errors[0];
  error.site = 1;
  error.flags = wire::error::kLaunch;
  error.grid = {1, 100000, 1};
  error.context = 0;
  analyse::Failure failure = failure_of(session.processes[0], 0);
  failure.kind = analyse::Kind::sync_error;
  const Diagnosis report = report_of(session, {failure});
  const diagnose::Finding& finding = report.findings.at(0);
  CHECK(finding.location.line == 3);
  REQUIRE(finding.launch);
  CHECK(finding.launch->operation == session::Work::kernel);
  CHECK(finding.launch->grid == session::Dim3{1, 100000, 1});
  CHECK(finding.launch->device == 2u);
  CHECK_FALSE(finding.launch->process_ordinal);
  error.grid = {0, 1, 1};  // an empty grid is known, not missing
  CHECK(report_of(session, {failure}).findings.at(0).launch->shape_known());
}

TEST_CASE("a broken capture: the call that broke it, the call that noticed, and the line that began it") {
  session::Session session = session_of({process()});
  session::ProcessRecord& record = session.processes[0].record;
  record.errors.push_back(record.errors[0]);
  record.errors[0].site = 1;
  record.errors[1].call = "cuStreamEndCapture";
  record.errors[1].outer.clear();
  record.errors[1].capture = {5, 4712, 0, 1};
  analyse::Failure failure = failure_of(session.processes[0], 0);
  failure.kind = analyse::Kind::capture_violation;
  failure.code = 900;
  const auto fix_of = [&] { return report_of(session, {failure}).findings.at(0).fix; };
  failure.noticed = &record.errors[1];
  const Diagnosis report = report_of(session, {failure});
  const diagnose::Finding& finding = report.findings.at(0);
  CHECK(finding.location.line == 3);
  CHECK(finding.noticed.at->line == 7);
  CHECK(finding.noticed.api == "cuStreamEndCapture");
  REQUIRE(finding.related.size() == 1);
  CHECK(finding.related[0].role == diagnose::Role::capture);
  CHECK(finding.related[0].location.line == 3);
  CHECK(fix_of().at(0).starts_with("make this call before the capture begins"));
  record.errors[0].tid = 4713;
  CHECK(fix_of().at(0).starts_with("capture in thread-local mode"));
  failure.code = 906;
  CHECK(fix_of().at(0).starts_with("keep the default stream out of the capture"));
}

TEST_CASE("an asynchronous failure without candidates has no line") {
  const session::Session session = session_of({process()});
  const Diagnosis report = report_of(session, {failure_of(session.processes[0], 0)});
  CHECK(report.findings.at(0).location.line == 0);
  CHECK(report.findings.at(0).noticed.at->line == 7);
}

TEST_CASE("no call reports a failure that is found at exit") {
  session::Session session = session_of({process()});
  session.processes[0].record.errors[0].flags = wire::error::kAtExit;
  const Diagnosis report = report_of(session, {failure_of(session.processes[0], 1)});
  CHECK(report.findings.at(0).noticed.at_exit);
  CHECK_FALSE(report.findings.at(0).noticed.at);
}

TEST_CASE("the first process to fail leads, and the others follow in order of time") {
  session::Session session = session_of({process(), process()});
  session.processes[1].pid = 5000;
  const analyse::Failure one = failure_of(session.processes[0], 1), two = failure_of(session.processes[1], 1);
  const Diagnosis report = report_of(session, {two, one, two});
  REQUIRE(report.findings.size() == 3);
  CHECK(report.findings[0].pid == 5000);
  CHECK(report.findings[1].pid == 5000);
  CHECK(report.findings[2].pid == 4711);
}

TEST_CASE("context of the run: environment, passes, processes, and each note once") {
  const session::Session session = session_of({process()});
  const Diagnosis report = report_of(session, {failure_of(session.processes[0], 1)});
  CHECK(report.driver == "580.1");
  CHECK(report.torch == "2.11");
  CHECK(report.gpus == std::vector<std::string>{"H200", "H200"});
  CHECK(report.passes.at(0).outcome == "bracketed");
  CHECK(report.processes.at(0).code == 1);
  const auto count = [&](const char* code) {
    return std::ranges::count_if(report.notes, [&](const auto& note) { return word(note.code) == code; });
  };
  CHECK(count("python-off") == 1);
  CHECK(count("launcher") == 1);
}

TEST_CASE("a note on failed calls names their lines") {
  session::Session session = session_of({process()});
  session::ProcessRecord& record = session.processes[0].record;
  record.errors.clear();
  const auto add_site = [&](std::uint32_t line) {
    record.codes.push_back(code_at(line, "launch"));
    record.python_stacks.push_back({{{static_cast<std::uint32_t>(record.codes.size()), 0}}, false});
    record.sites.emplace_back().python = static_cast<std::uint32_t>(record.python_stacks.size());
  };
  const auto fail = [&](std::uint32_t site) {
    session::FailedCall error;
    error.serial = record.errors.size() + 1;
    error.code = 701;
    error.call = "cuLaunchKernel";
    error.site = site;
    error.flags = wire::error::kLookedAt | wire::error::kThenWorked;
    record.errors.push_back(error);
  };
  const auto told = [&] {
    const Diagnosis report = diagnose::SessionState(session).diagnosis();
    const auto found = std::find_if(report.notes.begin(), report.notes.end(),
                                    [](const auto& note) { return note.code == analyse::NoteCode::error_handled; });
    REQUIRE(found != report.notes.end());
    return found->text;
  };
  add_site(3);  // site 3 is on the same line as site 1
  add_site(4);
  add_site(5);
  const std::string end = " returned launch out of resources (701) and the program continued";
  for (const std::uint32_t site : {2u, 2u}) fail(site);
  CHECK(told() == "2 calls of cuLaunchKernel at report/program.py:7" + end);
  for (const std::uint32_t site : {1u, 3u}) fail(site);
  CHECK(told() == "4 calls of cuLaunchKernel at report/program.py:7 and report/program.py:3" + end);
  fail(4);
  CHECK(told() == "5 calls of cuLaunchKernel at report/program.py:7, report/program.py:3 and 1 other line" + end);
  fail(5);
  fail(0);
  CHECK(told() ==
        "7 calls of cuLaunchKernel at report/program.py:7, report/program.py:3, 2 other lines and elsewhere" + end);
  record.errors = {record.errors.back()};
  CHECK(told() == "1 call of cuLaunchKernel" + end);
}

namespace {

analyse::Failure refused(session::Process& process, std::uint32_t code, const char* call) {
  session::FailedCall& error = process.record.errors[0];
  error.code = code;
  error.call = error.outer = call;
  analyse::Failure failure;
  failure.kind = analyse::Kind::sync_error;
  failure.code = code;
  failure.process = &process;
  failure.reported = &error;
  failure.evidence.add(analyse::Fact::ran_alone);
  return failure;
}

}  // namespace

TEST_CASE("a rule that matches gives cause and fix; without one there is a next step") {
  session::Session session = session_of({process()});
  Diagnosis report = report_of(session, {failure_of(session.processes[0], 1)});
  CHECK(!report.findings[0].cause);
  CHECK(report.findings[0].fix.size() == 1);

  session.processes[0].record.properties["env.CUDA_VISIBLE_DEVICES"] = "3";
  report = report_of(session, {refused(session.processes[0], 101, "cudaSetDevice")});
  REQUIRE(report.findings[0].cause);
  CHECK(report.findings[0].cause->id == "invalid-device");
  CHECK(report.findings[0].cause->text.find("CUDA_VISIBLE_DEVICES=3") != std::string::npos);
}

TEST_CASE("the command line distinguishes a fork from a child that runs another program") {
  session::Session session = session_of({process(), process()});
  session.processes[1].pid = 4800;
  session.processes[1].parent_pid = 4711;
  Diagnosis report = report_of(session, {refused(session.processes[1], 3, "cudaSetDevice")});
  REQUIRE(report.findings[0].cause);
  CHECK(report.findings[0].cause->id == "cuda-after-fork");
  session.processes[1].argv = {"python", "-c", "from multiprocessing.spawn import spawn_main"};
  report = report_of(session, {refused(session.processes[1], 3, "cudaSetDevice")});
  CHECK(!report.findings[0].cause);
}

TEST_CASE("a kernel's name proves nothing if another kernel is possible") {
  session::Session session = session_of({process()});
  session::ProcessRecord& record = session.processes[0].record;
  record.functions = {"_ZN2at6native24vectorized_gather_kernelILi16ElEEvPcS2_PT0_illllb", "_Z5scalePf"};
  const auto cause_of = [&](std::size_t candidates) {
    analyse::Failure failure = failure_of(session.processes[0], candidates);
    failure.code = 710;
    return report_of(session, {failure}).findings[0].cause;
  };
  REQUIRE(cause_of(1));
  CHECK(cause_of(1)->id == "index-out-of-range");
  record.sites.push_back(record.sites[0]);
  record.sites[2].function = 2;
  record.sites[2].python = 2;
  record.operations[1].site = 3;
  CHECK(!cause_of(2));
}

TEST_CASE("notes on CUDA_LAUNCH_BLOCKING, and on setting it too late") {
  const auto noted = [](const char* property, const char* value, const char* code) {
    session::Session session = session_of({process()});
    session.processes[0].record.properties[property] = value;
    const Diagnosis report = report_of(session, {});
    return std::ranges::any_of(report.notes, [&](const auto& note) { return word(note.code) == code; });
  };
  CHECK(noted("env.CUDA_LAUNCH_BLOCKING", "1", "launch-blocking"));
  CHECK(!noted("env.CUDA_LAUNCH_BLOCKING", "0", "launch-blocking"));
  CHECK(noted("late.CUDA_LAUNCH_BLOCKING", "1", "launch-blocking-late"));
  CHECK(!noted("late.CUDA_LAUNCH_BLOCKING", "1", "launch-blocking"));
}

}  // namespace diagnosis_test
