// Tests the facts that a finding takes from a device pass. The dumps are from an H200 (data/gpucore).
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analyse/graph_nodes.h"
#include "diagnose/failure/tool_evidence.h"
#include "diagnose/session_state.h"
#include "report/writers.h"
#include "unit/report/sample_reports.h"

namespace device_evidence_test {

using namespace cudadiag;
using diagnose::Diagnosis;
using report::Lines;
namespace fs = std::filesystem;

namespace {

constexpr const char* kAssertion =
    "/tmp/cases/cases.cu:17: void assert_positive(const int *): block: [0,0,0], thread: [4,0,0] Assertion "
    "`p[threadIdx.x] > 0` failed.\n";
constexpr const char* kOtherAssertion =
    "/tmp/cases/other.cu:9: other: block: [1,0,0], thread: [2,0,0] Assertion `n < 3` failed.\n";

// A session whose first failed operation is the third of three kernels, as in the dumps.
class Recorded {
 public:
  Recorded() {
    session.folder = fs::temp_directory_path() / ("device-report-" + std::to_string(::getpid()));
    fs::create_directories(session.folder / "device");
    session.manifest.working_directory = "/tmp/cases";
    add_pass("record");
    session::Process process;
    process.pid = 4711;
    session::ProcessRecord& record = process.record;
    record.pid = 4711;
    record.functions = {"_Z15assert_positivePKi", "_Z4fillPii"};
    record.sites.resize(2);
    record.sites[0].function = 1;
    record.sites[1].function = 2;
    record.threads.resize(1);
    record.threads[0].tid = 4711;
    session::Operation operation;
    operation.kind = wire::operation::Kind::kernel;
    operation.grid = {1, 1, 1};
    operation.block = {32, 1, 1};
    operation.site = 2;
    record.operations = {operation, operation, operation};
    record.operations[2].site = 1;
    record.operations[2].grid = {2, 1, 1};
    record.operations_issued = 3;
    session::FailedCall error;
    error.code = 710;
    record.errors = {error};
    session.processes = {process};
  }
  ~Recorded() { fs::remove_all(session.folder); }

  session::Pass& add_pass(const char* name) {
    session::Pass pass;
    pass.kind = *session::pass_kind(name);
    pass.folder = name;
    pass.seconds = 64;
    session.manifest.passes.push_back(pass);
    if (session.manifest.passes.size() > 1) session.reruns.emplace_back();
    return session.manifest.passes.back();
  }
  void add_device(const char* fixture, const std::string& output = "", const std::string& dump = "642.gpucore") {
    add_pass("device").dump = dump;
    fs::copy_file(fs::path(TEST_DATA "/gpucore") / fixture, session.folder / "device" / dump);
    std::ofstream(session.folder / "device/output.txt") << output;
  }
  void name_kernel(const char* mangled) { session.processes[0].record.functions[0] = mangled; }
  session::Operation& failing() { return session.processes[0].record.operations[2]; }

  // Adds a Python stack to each call site: site 1 is at line 10, and site 2 at line 20.
  void add_lines() {
    session::ProcessRecord& record = session.processes[0].record;
    for (std::uint32_t id = 1; id <= record.sites.size(); ++id) {
      // Maps all instructions to the function's first line.
      record.codes.push_back({"/tmp/cases/train.py", "train", 10 * id, 11, std::string("\xef\0", 2)});
      record.python_stacks.push_back({{{id, 0}}, false});
      record.sites[id - 1].python = id;
    }
  }

  analyse::Failure failure(std::uint32_t code) {
    analyse::Failure failure;
    failure.code = code;
    failure.process = &session.processes[0];
    failure.candidates = {{&failing(), "next", 3}};
    return failure;
  }

  Diagnosis report(std::uint32_t code = 710, bool also_first = false, analyse::Fact fact = analyse::Fact::rule) {
    analyse::Failure failure = this->failure(code);
    failure.evidence = {fact, "it is one of these"};
    failure.reported = &session.processes[0].record.errors[0];
    if (also_first) failure.candidates.push_back({&session.processes[0].record.operations[1], "or this", 2});
    analyse::Analysis analysis;
    analysis.verdict = analyse::Verdict::cuda_failure;
    analysis.failures = {failure};
    analysis.first_grade = analyse::Grade::bracketed;
    analysis.reruns.resize(session.reruns.size());
    return diagnose::SessionState(session, analysis).diagnosis();
  }

  session::Session session;
};

// Returns the lines of one section of the text report, without the section's label.
std::vector<std::string> section(const Diagnosis& report, const std::string& label, bool verbose = false) {
  using report::Verbosity;
  std::string text = report::write_text(report, {verbose ? Verbosity::verbose : Verbosity::normal, false, 160, false});
  std::vector<std::string> lines;
  bool inside = false;
  for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
    inside = text.starts_with(label) || (inside && text.starts_with("        "));
    if (inside) lines.push_back(text.substr(8, end - 8));
  }
  return lines;
}

const diagnose::Device& device_of(const Diagnosis& report) {
  REQUIRE(report.findings.size() == 1);
  REQUIRE(report.findings[0].device);
  return *report.findings[0].device;
}

std::vector<std::string> notes(const Diagnosis& report, const std::string& code) {
  std::vector<std::string> texts;
  for (const analyse::Note& note : report.notes) {
    if (word(note.code) == code) texts.push_back(note.text);
  }
  return texts;
}

}  // namespace

TEST_CASE("a failed assertion: line, block and thread from the dump, the condition from the output") {
  Recorded recorded;
  recorded.add_device("assert.nvcudmp", std::string(kOtherAssertion) + kAssertion);
  const Diagnosis report = recorded.report();
  const diagnose::Device& device = device_of(report);
  CHECK(device.exception == "Warp Assert");
  CHECK(device.function == "assert_positive(int const*)");
  CHECK(device.file == "/tmp/cases/cases.cu");
  CHECK(device.line == 17);
  CHECK(device.thread == session::Dim3{0, 0, 0});
  CHECK(device.message == "p[threadIdx.x] > 0");
  CHECK(section(report, "Device") ==
        Lines{"cases.cu:17  block 0,0,0 thread 0,0,0; 64 threads, one of 2 assertions",
              "assertion `p[threadIdx.x] > 0` failed",
              "Warp Assert in a rerun; same kernel, grid and block; kernel 3 of its process in the dump too"});
  CHECK(section(report, "Passes", true) == Lines{"record 64 s bracketed; device 64 s core dump read"});
  REQUIRE(notes(report, "assertion-printed").size() == 1);
  CHECK(notes(report, "assertion-printed")[0].find("`n < 3` in other, /tmp/cases/other.cu:9, by 1 thread") !=
        std::string::npos);
  CHECK(report.findings[0].text.find("threadIdx") == std::string::npos);
}

TEST_CASE("a failed assertion whose text is missing from the output") {
  Recorded recorded;
  recorded.add_device("assert.nvcudmp");
  CHECK(section(recorded.report(), "Device")[1] == "the text of the assertion is not in the rerun's output");
}

TEST_CASE("the report says so if the same kernel had different dimensions and a different error") {
  Recorded recorded;
  recorded.add_device("assert.nvcudmp");
  recorded.failing().grid = {7, 1, 1};
  CHECK(device_of(recorded.report()).join ==
        "same kernel and block, different grid (2,1,1); kernel 3 of its process in the dump too");
  recorded.failing().block = {64, 1, 1};
  recorded.session.processes[0].record.threads[0].tid = 4712;
  recorded.session.processes[0].record.operations_issued = 4;
  CHECK(device_of(recorded.report(700)).join ==
        "same kernel, different grid (2,1,1) and block (32,1,1); the first run's error was 700");
}

TEST_CASE("a warp that has exited: the line, without block and thread") {
  Recorded recorded;
  recorded.name_kernel("_Z9far_storePi");
  recorded.add_device("far.nvcudmp.gz");
  CHECK(section(recorded.report(700), "Device") ==
        Lines{"cases.cu:15  block, thread: unknown (the warp had exited)",
              "Warp Illegal Address in a rerun; same kernel; the grid was not recorded"});
}

Diagnosis report_of(const Recorded& recorded, const analyse::Failure& failure) {
  analyse::Analysis analysis;
  analysis.failures = {failure};
  analysis.reruns.resize(recorded.session.reruns.size());
  return diagnose::SessionState(recorded.session, analysis).diagnosis();
}

TEST_CASE("under MPS, the code that failed shows which process failed") {
  Recorded recorded;
  recorded.session.processes[0].record.properties["mps"] = "1";
  recorded.name_kernel("_Z9far_storePi");
  recorded.add_lines();
  analyse::Failure failure = recorded.failure(700);
  failure.evidence = {analyse::Fact::one_running, "it is the only one"};
  failure.evidence.add(analyse::Fact::may_be_others);
  const auto found = [&] { return report_of(recorded, failure).findings.at(0); };
  CHECK(found().cause.value().id == "mps-client");
  recorded.add_device("far.nvcudmp.gz");
  const diagnose::Finding finding = found();
  CHECK(finding.evidence.grade() == analyse::Grade::proven);
  CHECK(finding.evidence.text().find("so no other process under MPS caused the failure") != std::string::npos);
  CHECK_FALSE(finding.cause);
  CHECK(recorded.report(700, true).findings.at(0).evidence.grade() != analyse::Grade::proven);
}

// The dump is from `neighbour works` (test/gpu/cuda/neighbour.cu), a program that ended because another process failed.
TEST_CASE("under MPS an exception in unknown code belongs to another program") {
  Recorded recorded;
  recorded.session.processes[0].record.properties["mps"] = "1";
  recorded.name_kernel("_Z4spinPiy");
  recorded.add_device("mps_neighbour.nvcudmp.gz");
  const diagnose::Finding finding = recorded.report(700).findings.at(0);
  CHECK_FALSE(finding.device);
  CHECK(finding.foreign_exception == "Warp Illegal Address");
  REQUIRE(finding.cause);
  CHECK(finding.cause->id == "mps-client");
  CHECK(finding.cause->text.find("code that this program had not loaded") != std::string::npos);
}

TEST_CASE("under MPS a kernel that runs in a rerun's dump does not prove a hang") {
  Recorded recorded;
  recorded.session.processes[0].record.properties["mps"] = "1";
  recorded.name_kernel("_Z4spinPiy");
  recorded.add_device("running.nvcudmp.gz");
  analyse::Failure failure;
  failure.kind = analyse::Kind::hang;
  failure.evidence = {analyse::Fact::one_running, "it stands"};
  failure.process = &recorded.session.processes[0];
  failure.candidates = {{&recorded.failing(), "next", 3}};
  failure.hang = analyse::Standstill{};
  analyse::Analysis analysis;
  analysis.failures = {failure};
  const Diagnosis report = diagnose::SessionState(recorded.session, analysis).diagnosis();
  REQUIRE(device_of(report).join.starts_with("running in a rerun"));
  CHECK(report.findings[0].evidence.grade() == analyse::Grade::bracketed);
  CHECK(report.findings[0].evidence == "it stands");
}

TEST_CASE("a dump with another kernel does not belong to the finding") {
  Recorded recorded;
  recorded.add_device("load.nvcudmp.gz");
  const Diagnosis report = recorded.report(700);
  CHECK_FALSE(report.findings.at(0).device);
  std::string text;
  for (const std::string& line : section(report, "Device", true)) text += (text.empty() ? "" : " ") + line;
  CHECK(text ==
        "line, block, thread: unknown (in the rerun for a core dump, Warp Illegal Address came from a different "
        "kernel: far_load, cases.cu:16)");
  CHECK(notes(report, "device-disagrees") ==
        Lines{"in the rerun for a core dump, Warp Illegal Address came from a different kernel: far_load, cases.cu:16; "
              "the dump is not used for this finding"});
}

namespace {

using analyse::Fact;
using analyse::Grade;

constexpr const char* kFill = "in a rerun without waits, Warp Illegal Address came from the kernel of ";

std::vector<int> lines_of(const diagnose::Finding& finding) {
  std::vector<int> lines = {finding.location.line};
  for (const diagnose::CandidateLine& candidate : finding.candidates) lines.push_back(candidate.location.line);
  return lines;
}

}  // namespace

// The candidates are operation 3 at line 10 and operation 2 at line 20. The dump shows the kernel of operation 2.
TEST_CASE("the candidate with the dump's kernel leads, and is proven if no other line launches it") {
  Recorded recorded;
  recorded.add_lines();
  recorded.add_device("freed.nvcudmp.gz");
  const diagnose::Finding finding = recorded.report(700, true, Fact::several_running).findings.at(0);
  CHECK(lines_of(finding) == std::vector<int>{20});
  CHECK(finding.launch->kernel == "fill(int*, int)");
  CHECK(finding.evidence.grade() == Grade::proven);
  CHECK(finding.evidence ==
        std::string("it is one of these; ") + kFill + "this line, and no other line launches that kernel");
  REQUIRE(finding.device);
  CHECK(finding.device->line == 8);
  CHECK(finding.device->join == "same kernel; the grid was not recorded");
}

TEST_CASE("the failed call of a line is unknown if a call with a different grid may have failed") {
  Recorded recorded;
  recorded.add_lines();
  recorded.add_device("assert.nvcudmp");
  recorded.failing().site_ordinal = 5;
  CHECK(recorded.report(710, true, Fact::several_running).findings.at(0).launch->site_ordinal == 5);
  session::Operation& other = recorded.session.processes[0].record.operations[1];
  other.site = recorded.failing().site;
  other.grid = {9, 1, 1};
  const diagnose::Finding finding = recorded.report(710, true, Fact::several_running).findings.at(0);
  CHECK(lines_of(finding) == std::vector<int>{10});
  CHECK(finding.evidence.grade() == Grade::proven);
  CHECK_FALSE(finding.launch->site_ordinal);
}

TEST_CASE("the candidate with the dump's kernel leads even if another line launches that kernel") {
  Recorded recorded;
  recorded.session.processes[0].record.sites.push_back(recorded.session.processes[0].record.sites[1]);
  recorded.add_lines();
  recorded.add_device("freed.nvcudmp.gz");
  const diagnose::Finding finding = recorded.report(700, true, Fact::several_running).findings.at(0);
  CHECK(lines_of(finding) == std::vector<int>{20, 20, 10});
  CHECK(finding.evidence.grade() == Grade::inferred);
  CHECK(finding.evidence == std::string("it is one of these; ") + kFill + "the candidate listed first");
  CHECK(finding.device);
}

TEST_CASE("an incomplete record does not show that only one line launches a kernel") {
  using Spoil = void (*)(session::Session&);
  constexpr Spoil kSpoils[] = {
      [](session::Session& session) { session.processes[0].record.dropped_sites = 1; },
      [](session::Session& session) { session.processes[0].record.graphs.resize(1); },
      [](session::Session& session) {
        session::Graph& graph = session.processes[0].record.graphs.emplace_back();
        graph.whole = true;
        graph.nodes.emplace_back().function = 2;
      },
      [](session::Session& session) {
        session::Graph& graph = session.processes[0].record.graphs.emplace_back();
        graph.whole = true;
        graph.nodes.emplace_back().type = 13;  // a conditional node, whose body may contain any kernel
      },
      [](session::Session& session) { session.processes[0].record.sites[1].python = 0; },
      [](session::Session& session) { session.processes[0].record.operations[1].origin.node_thread = 1; }};
  for (const Spoil spoil : kSpoils) {
    Recorded recorded;
    recorded.add_lines();
    recorded.add_device("freed.nvcudmp.gz");
    spoil(recorded.session);
    const diagnose::Finding finding = recorded.report(700, true, Fact::several_running).findings.at(0);
    CHECK(finding.launch->kernel == "fill(int*, int)");
    CHECK(finding.evidence.grade() == Grade::inferred);
  }
}

TEST_CASE("a dump that does not match leaves several candidates unchanged") {
  const auto answer = [](const char* dump, std::uint32_t code, Fact fact, const auto& change) {
    Recorded recorded;
    recorded.add_lines();
    recorded.add_device(dump);
    change(recorded);
    return recorded.report(code, true, fact).findings.at(0);
  };
  const auto as_it_is = [](Recorded&) {};
  const auto changes = [](const diagnose::Finding& finding) {
    return finding.location.line != 10 || finding.evidence.text() != "it is one of these" ||
           finding.candidates.size() != 2;
  };
  CHECK(changes(answer("freed.nvcudmp.gz", 700, Fact::several_running, as_it_is)));
  CHECK_FALSE(changes(answer("freed.nvcudmp.gz", 716, Fact::several_running, as_it_is)));
  CHECK_FALSE(changes(answer("freed.nvcudmp.gz", 710, Fact::several_running, as_it_is)));
  CHECK_FALSE(changes(answer("freed.nvcudmp.gz", 700, Fact::ran_alone, as_it_is)));
  CHECK_FALSE(changes(answer("load.nvcudmp.gz", 700, Fact::several_running, as_it_is)));
  CHECK_FALSE(changes(answer("freed.nvcudmp.gz", 700, Fact::several_running, [](Recorded& recorded) {
    recorded.session.manifest.passes.back().rewritten = {"/tmp/cases/train.py"};
  })));
  // The dump shows the kernel of this candidate, but with a different grid.
  const diagnose::Finding finding = answer("load.nvcudmp.gz", 700, Fact::several_running, [](Recorded& recorded) {
    recorded.session.processes[0].record.functions[1] = "_Z8far_loadPi";
  });
  CHECK_FALSE(changes(finding));
  CHECK(finding.device_unknown ==
        "in the rerun for a core dump, Warp Illegal Address came from a different kernel: far_load, cases.cu:16; that "
        "is candidate 2");
}

TEST_CASE("a dump does not outweigh a leading node of a graph") {
  Recorded recorded;
  symbolize::ToolResults results;
  results.failure.emplace().exception_name = "Warp Illegal Address";
  results.failure->kernel = "_Z4fillPii";
  const session::GraphNode node;
  const session::StalePointer pointer;
  const auto leads = [&](const session::GraphNode* led_by, analyse::Kind kind,
                         const session::StalePointer* stale = nullptr) {
    analyse::Failure failure = recorded.failure(700);
    failure.stale = stale;
    failure.kind = kind;
    failure.evidence.add(Fact::several_running);
    failure.candidates.push_back({&failure.process->record.operations[1], "or this", 2});
    failure.candidates.front().node = led_by;
    std::vector<analyse::Failure> failures = {failure};
    symbolize::Symbolizer symbolizer(recorded.session);
    diagnose::weigh_by_dump(failures, results, recorded.session, symbolizer);
    return failures[0].candidates.front().operation == &recorded.failing();
  };
  CHECK_FALSE(leads(nullptr, analyse::Kind::async_error));
  CHECK(leads(&node, analyse::Kind::async_error));
  CHECK(leads(&node, analyse::Kind::graph_node));
  CHECK(leads(nullptr, analyse::Kind::graph_stale_pointer));
  // A stale pointer in the node does not show which of the two failed: the node or the other operation.
  CHECK_FALSE(leads(&node, analyse::Kind::graph_stale_pointer, &pointer));
}

// Returns a failure of a graph whose nodes have these functions and call sites.
analyse::Failure graph_failure(Recorded& recorded, std::vector<std::pair<std::uint32_t, std::uint32_t>> nodes) {
  recorded.add_lines();
  recorded.add_device("freed.nvcudmp.gz");
  session::Graph& graph = recorded.session.processes[0].record.graphs.emplace_back();
  graph.whole = true;
  for (const auto& [function, site] : nodes) {
    graph.nodes.emplace_back().function = function;
    graph.nodes.back().site = site;
  }
  recorded.failing().kind = wire::operation::Kind::graph;
  recorded.failing().graph = 1;
  analyse::Failure failure = recorded.failure(700);
  analyse::name_graph_nodes(failure);
  return failure;
}

TEST_CASE("a dump may name any node of a graph, including one of several kernels of a line") {
  Recorded recorded;
  recorded.session.processes[0].record.functions.push_back("_Z7sharpenv");
  const Diagnosis report = report_of(recorded, graph_failure(recorded, {{1, 1}, {3, 2}, {2, 2}}));
  CHECK(lines_of(report.findings.at(0)) == std::vector<int>{10, 20, 10});
  CHECK(device_of(report).line == 8);
  CHECK(device_of(report).join == "same kernel; the grid was not recorded; that is candidate 1");
  CHECK(report.findings.at(0).evidence.text().find("a node of the line listed first may run") != std::string::npos);
}

TEST_CASE("a dump names the node of a graph whose launch a rerun has proven") {
  Recorded recorded;
  analyse::Failure failure = graph_failure(recorded, {{1, 1}, {2, 2}});
  failure.evidence = {Fact::ran_alone, "in a rerun, replay 1 of the graph ran alone on the GPU and failed"};
  failure.again = &recorded.failing();
  failure.again_process = failure.process;
  const diagnose::Finding finding = report_of(recorded, failure).findings.at(0);
  CHECK(finding.launch->kernel == "fill(int*, int)");
  CHECK(finding.evidence.proves());
  CHECK(finding.evidence.text().ends_with(
      "only the node of this line runs the kernel shown in the core dump of a rerun"));
}

TEST_CASE("of two findings, a dump belongs to the one whose kernel and grid it contains") {
  Recorded recorded;
  recorded.add_device("assert.nvcudmp");
  recorded.session.processes.push_back(recorded.session.processes[0]);
  recorded.session.processes[0].record.operations[2].grid = {9, 1, 1};
  analyse::Analysis analysis;
  analysis.failures = {recorded.failure(710), recorded.failure(710)};
  analysis.failures[1].process = &recorded.session.processes[1];
  analysis.failures[1].candidates = {{&recorded.session.processes[1].record.operations[2], "next", 3}};
  const Diagnosis report = diagnose::SessionState(recorded.session, analysis).diagnosis();
  REQUIRE(report.findings.size() == 2);
  CHECK_FALSE(report.findings[0].device);
  CHECK(report.findings[0].device_unknown == "the rerun's core dump shows a different failure");
  CHECK(report.findings[1].device);
}

TEST_CASE("no dump: a printed assertion gives line, block and thread if its function is the kernel") {
  Recorded recorded;
  recorded.add_pass("device").cut_short = session::CutShort::time_limit;
  std::ofstream(recorded.session.folder / "device/output.txt") << kAssertion;
  const Diagnosis report = recorded.report();
  CHECK(section(report, "Device") ==
        Lines{"cases.cu:17  block 0,0,0 thread 4,0,0; 1 thread, one assertion", "assertion `p[threadIdx.x] > 0` failed",
              "the assertion was printed in a rerun, in a function with the kernel's name"});
  CHECK(device_of(report).exception == "");
  CHECK(section(report, "Passes", true) == Lines{"record 64 s bracketed; device 64 s time limit"});
}

TEST_CASE("no dump, and an assertion in a different function or after a different error") {
  Recorded recorded;
  recorded.add_pass("device");
  std::ofstream(recorded.session.folder / "device/output.txt") << kOtherAssertion;
  const Diagnosis report = recorded.report();
  CHECK(section(report, "Device", true) == Lines{"line, block, thread: unknown (the rerun left no core dump)"});
  CHECK(section(report, "Passes", true) == Lines{"record 64 s bracketed; device 64 s no core dump"});
  CHECK(notes(report, "assertion-printed").size() == 1);
  std::ofstream(recorded.session.folder / "device/output.txt") << "[1] coredump: Starting GPU coredump generation\n";
  const Diagnosis begun = recorded.report();
  CHECK(section(begun, "Device", true) ==
        Lines{"line, block, thread: unknown (the driver began a core dump but did not finish it)"});
  CHECK(section(begun, "Passes", true) == Lines{"record 64 s bracketed; device 64 s core dump unfinished"});
  std::ofstream(recorded.session.folder / "device/output.txt", std::ios::app) << "[2] coredump: All done (took 0s)\n";
  CHECK(recorded.report().findings.at(0).device_unknown == "the rerun left no core dump");
  std::ofstream(recorded.session.folder / "device/output.txt") << kAssertion;
  CHECK_FALSE(recorded.report(700).findings.at(0).device);
}

TEST_CASE("no dump: the only assertion that Triton printed belongs to the kernel in that file") {
  Recorded recorded;
  recorded.add_pass("device");
  const std::string file = recorded.session.folder / "ck46.py";
  std::ofstream(file) << "@triton.jit\ndef triton_poi_fused_0(in_ptr0):\n    tl.device_assert(0 <= i)\n";
  const std::string at_line = ": unknown: block: [0,0,0], thread: [7,0,0] Assertion `0 <= i < 9` failed.\n";
  std::ofstream(recorded.session.folder / "device/output.txt") << file << ":3" << at_line;
  recorded.name_kernel("triton_poi_fused_0");
  const Diagnosis report = recorded.report();
  CHECK(device_of(report).line == 3);
  CHECK(device_of(report).join == "the only assertion that a rerun printed, on a line of this kernel");
  CHECK(notes(report, "assertion-printed").empty());
  recorded.name_kernel("triton_poi_fused");
  CHECK_FALSE(recorded.report().findings.at(0).device);
  std::ofstream(file, std::ios::app) << "def triton_poi_fused(in_ptr0):\n    pass\n";
  CHECK_FALSE(recorded.report().findings.at(0).device);
  CHECK_FALSE(recorded.report(710, true).findings.at(0).device);
  recorded.name_kernel("triton_poi_fused_0");
  std::ofstream(recorded.session.folder / "device/output.txt") << file << ":3" << at_line << "/tmp/k.py:3" << at_line;
  CHECK_FALSE(recorded.report().findings.at(0).device);
}

// The assertion message that Triton prints does not name a function.
TEST_CASE("no dump: a proven failure gets the only assertion that its rerun printed, from any function") {
  Recorded recorded;
  recorded.add_pass("confirm");
  session::Process again = recorded.session.processes[0];
  recorded.session.reruns[0].push_back(again);
  recorded.add_pass("device");
  fs::create_directories(recorded.session.folder / "confirm");
  const auto print = [&](const std::string& pass, const std::string& text) {
    std::ofstream(recorded.session.folder / pass / "output.txt") << text;
  };
  const auto report = [&](analyse::Fact fact) {
    analyse::Failure failure = recorded.failure(710);
    failure.evidence.add(fact);
    failure.again_process = &recorded.session.reruns[0][0];
    failure.again = &failure.again_process->record.operations[2];
    return report_of(recorded, failure);
  };
  const std::string unnamed = "/tmp/k.py:34: unknown: block: [0,0,0], thread: [7,0,0] Assertion `0 <= i < 9` failed.\n";
  print("confirm", unnamed);
  print("device", unnamed);
  const Diagnosis proven = report(analyse::Fact::ran_alone);
  CHECK(section(proven, "Device") == Lines{"k.py:34  block 0,0,0 thread 7,0,0; 1 thread, one assertion",
                                           "assertion `0 <= i < 9` failed",
                                           "the only assertion printed in the rerun in which this launch failed"});
  CHECK(notes(proven, "assertion-printed").empty());
  CHECK_FALSE(report(analyse::Fact::one_running).findings.at(0).device);

  print("confirm", unnamed + kOtherAssertion);
  CHECK_FALSE(report(analyse::Fact::ran_alone).findings.at(0).device);
  print("confirm", "");
  CHECK_FALSE(report(analyse::Fact::ran_alone).findings.at(0).device);
}

TEST_CASE("the report says why the line on the device is unknown") {
  Recorded recorded;
  CHECK(recorded.report().findings.at(0).device_unknown == "no rerun");
  auto& properties = recorded.session.processes[0].record.properties;
  properties["core_dump"] = "armed";
  CHECK(recorded.report().findings.at(0).device_unknown == "this run left no core dump");
  properties.erase("core_dump");
  recorded.session.processes[0].record.notes = {{"markers-late", "other"}, {"core-dump-off", "the driver is too old"}};
  CHECK(recorded.report().findings.at(0).device_unknown == "the driver is too old");
  recorded.add_pass("confirm");
  CHECK(recorded.report().findings.at(0).device_unknown == "no rerun for a core dump");
  session::Pass& pass = recorded.add_pass("device");
  pass.cut_short = session::CutShort::time_limit;
  CHECK(recorded.report().findings.at(0).device_unknown == "the rerun was cut short: time limit");
  pass.dump = "1.gpucore";
  std::ofstream(recorded.session.folder / "device/1.gpucore") << "x";
  CHECK(recorded.report().findings.at(0).device_unknown.find("is not a GPU core dump") != std::string::npos);
  CHECK(section(recorded.report(), "Passes", true)[0].ends_with("device 64 s core dump not read"));
}

TEST_CASE("an assertion without a text") {
  const auto cases = [](int line) {
    return fmt::format("/tmp/cases/cases.cu:{}: f: block: [0,0,0], thread: [0,0,0] Assertion `` failed.\n", line);
  };
  Recorded recorded;
  recorded.add_device("assert.nvcudmp", cases(17));
  CHECK(section(recorded.report(), "Device")[1] == "an assertion without text failed");
  std::ofstream(recorded.session.folder / "device/output.txt") << cases(17) << cases(18);
  CHECK(notes(recorded.report(), "assertion-printed").at(0) ==
        "a rerun printed a failed assertion: one without text, in f, /tmp/cases/cases.cu:18, by 1 thread, the first of "
        "them block 0,0,0 thread 0,0,0");
}

TEST_CASE("the hostile text of an assertion becomes one harmless line") {
  Recorded recorded;
  recorded.add_device(
      "assert.nvcudmp",
      "\x1b[2J/tmp/cases/cases.cu:17: f: block: [0,0,0], thread: [0,0,0] Assertion `\x1b[31m\xff\xe2\x80\xae"
      "x` failed.\n");
  const Diagnosis report = recorded.report();
  CHECK(section(report, "Device")[1] == "assertion `\\x1b[31m\\xff\\u202ex` failed");
}

}  // namespace device_evidence_test
