#include <doctest/doctest.h>

#include <algorithm>

#include "diagnose/facts/report_model.h"
#include "diagnose/session_state.h"
#include "diagnose/unreported/findings.h"
#include "report/finding_text.h"

namespace races_test {

using namespace cudadiag;
using diagnose::Diagnosis;
using session::DeliveryKind;
using session::RaceMode;

namespace {

constexpr const char* kProgram = TEST_DATA "/report/program.py";
constexpr std::uint64_t kThen = 0x7000, kNow = 0x9000;  // the buffer's address in the first run, and in the rerun

session::Code code_at(std::uint32_t line, const char* function) {
  return {kProgram, function, line, 11, std::string("\xef\0", 2)};
}

// Builds a process in which site 1 (program.py:3) and site 2 (program.py:7) launch a kernel. `native`: the launches
// have native stacks.
session::Process process(bool native) {
  session::Process process;
  process.pid = native ? 4711 : 4900;
  session::ProcessRecord& record = process.record;
  record.codes = {code_at(3, "launch"), code_at(7, "read")};
  record.python_stacks = {{{{1, 0}}, false}, {{{2, 0}}, false}};
  if (native) {
    record.modules = {{"/lib/libtorch.so", "", 0, 0, 0x1000}};
    record.native_stacks = {{{{1, 0x10}}, false}};
  }
  record.functions = {"_Z5scalePf", "_Z3sumPf"};
  record.sites.resize(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    record.sites[i].kind = wire::operation::Kind::kernel;
    record.sites[i].python = record.sites[i].function = i + 1;
    record.sites[i].native = native ? 1 : 0;
  }
  record.threads.resize(1);
  record.threads[0].tid = 12;
  return process;
}

session::Race race_of(std::uint32_t pid, std::uint64_t begin, session::RaceMode first, session::RaceMode second) {
  session::Race race;
  race.pid = pid;
  race.first = {.what = session::Work::kernel,
                .mode = first,
                .begin = begin,
                .end = begin + 1,
                .stream = 1,
                .site = 1,
                .function = 1,
                .ticks = 110};
  race.second = {.what = session::Work::kernel,
                 .mode = second,
                 .begin = begin,
                 .end = begin + 1,
                 .stream = 0x50,
                 .site = 2,
                 .function = 2,
                 .ticks = 210};
  return race;
}

session::DeliveredValue tensor(const char* name, const char* parameter, bool written) {
  session::DeliveredValue value;
  value.name = name;
  value.origin = *parameter == 0 ? session::NameSource::schema : session::NameSource::variable;
  value.in_schema = parameter;
  value.dtype = "float32";
  value.shape = {16, 4};
  value.strides = {4, 1};
  value.pointer = kNow - 64;
  value.extent = 256;
  value.written = written;
  return value;
}

session::Delivery told(DeliveryKind kind, std::uint64_t ticks, int line, const char* op,
                       std::vector<session::DeliveredValue> values) {
  session::Delivery delivery;
  delivery.tid = 12;
  delivery.ticks = ticks;
  delivery.kind = kind;
  delivery.op = op;
  delivery.overload = "Tensor";
  delivery.schema = std::string(op) + ".Tensor(…)";
  delivery.whole = true;
  delivery.file = "program.py";
  delivery.line = line;
  delivery.values = std::move(values);
  return delivery;
}

// A first run with one race or one unproven pair. A rerun shows the same race or pair again.
struct Runs {
  explicit Runs(RaceMode first = RaceMode::write, RaceMode second = RaceMode::read) {
    session.manifest.working_directory = TEST_DATA;
    session.manifest.passes.resize(2);
    session.manifest.passes[0].kind = session::PassKind::record;
    session.manifest.passes[0].folder = "record";
    session.manifest.passes[1].kind = session::PassKind::races;
    session.manifest.passes[1].folder = "races";
    session.processes = {process(true)};
    session.reruns = {{process(false)}};
    session::Races races;
    races.found = {race_of(4711, kThen, first, second)};
    races.kernels = {1, 1, true};
    session.races = races;
    races.found = {race_of(4900, kNow, first, second)};
    session.rerun_races = {races};
    deliveries() = {told(DeliveryKind::call, 100, 3, "aten::add_", {tensor("x", "self", true)}),
                    told(DeliveryKind::results, 120, 3, "aten::add_", {}),
                    told(DeliveryKind::call, 200, 7, "aten::sum", {tensor("x", "self", false)}),
                    told(DeliveryKind::results, 220, 7, "aten::sum", {})};
  }
  std::vector<session::Delivery>& deliveries() { return session.reruns[0][0].deliveries; }
  // Makes both access modes unknown, so that each run has an unproven pair rather than a race.
  void open_both() {
    for (session::Races* races : {&*session.races, &*session.rerun_races[0]}) {
      races->unjudged = std::move(races->found);
      races->found.clear();
      races->unjudged[0].first.mode = races->unjudged[0].second.mode = RaceMode::unknown;
      races->counts = {{.pid = races->unjudged[0].pid, .unjudged = 1}};
    }
  }
  Diagnosis report() const { return diagnose::SessionState(session).diagnosis(); }

  session::Session session;
};

bool noted(const Diagnosis& report, const char* code) {
  return std::any_of(report.notes.begin(), report.notes.end(),
                     [&](const auto& note) { return word(note.code) == code; });
}

}  // namespace

TEST_CASE("a rerun names operators and tensors of a race") {
  const Diagnosis report = Runs().report();
  REQUIRE(report.findings.size() == 1);
  const auto& accesses = report.findings[0].race->accesses;
  CHECK(accesses[0].op == "aten::add_.Tensor");
  REQUIRE(accesses[0].tensor);
  CHECK(accesses[0].tensor->name == "x");
  CHECK(accesses[0].tensor->argument == "self");
  CHECK(accesses[0].tensor->written == true);
  CHECK(accesses[1].tensor->written == false);
  CHECK(accesses[0].tensor->begin == kThen - 64);
  CHECK(accesses[0].tensor->end == kThen + 192);
  const std::vector<std::string> text = {
      "x float32[16,4]: argument self of aten::add_ (written); argument self of aten::sum (read)"};
  CHECK(report::race_tensors(*report.findings[0].race) == text);
  CHECK(report.findings[0].text.starts_with("x is written on "));
}

TEST_CASE("operators that use every element give exact byte ranges") {
  Runs runs;
  const Diagnosis whole = runs.report();
  CHECK(whole.findings[0].evidence.grade() == analyse::Grade::proven);
  CHECK(whole.findings[0].race->accesses[0].exact);
  CHECK(whole.findings[0].race->accesses[0].begin == kThen - 64);
  const auto grade = [&] { return runs.report().findings[0].evidence.grade(); };
  runs.deliveries()[2].whole = false;
  CHECK(grade() == analyse::Grade::inferred);
  runs.deliveries()[2].whole = true;
  runs.deliveries()[2].values[0].strides = {8, 1};  // every other row of a larger tensor, so not all bytes in the range
  CHECK(grade() == analyse::Grade::inferred);
  runs.deliveries()[2].values[0].strides = {1, 16};
  CHECK(grade() == analyse::Grade::proven);
}

TEST_CASE("the schema decides if the kernel's code does not") {
  Runs runs(RaceMode::unknown, RaceMode::read);
  runs.session.races->found[0].possible = runs.session.rerun_races[0]->found[0].possible = true;
  const Diagnosis race = runs.report();
  REQUIRE(race.findings.size() == 1);
  CHECK(!race.findings[0].race->possible);
  CHECK(race.findings[0].race->accesses[0].mode == RaceMode::write);
  CHECK(race.findings[0].evidence.text().find("schema") != std::string::npos);
  runs.deliveries()[0].values[0].written = false;
  const Diagnosis none = runs.report();
  CHECK(none.findings.empty());
  CHECK(noted(none, "races-dismissed"));
  runs.session.races->found[0].several = true;
  CHECK(runs.report().findings.size() == 1);
}

TEST_CASE("a race that is uncertain for a different reason stays possible") {
  Runs runs(RaceMode::unknown, RaceMode::read);
  runs.session.races->found[0].possible = runs.session.races->found[0].uncertain = true;
  CHECK(runs.report().findings[0].race->possible);
}

TEST_CASE("the schema turns an unjudged pair into a race, or rules it out") {
  Runs runs;
  runs.open_both();
  const Diagnosis race = runs.report();
  REQUIRE(race.findings.size() == 1);
  CHECK(!race.findings[0].race->possible);
  CHECK(race.verdict == analyse::Verdict::cuda_failure);
  runs.session.whole = false;
  CHECK(runs.report().verdict == analyse::Verdict::cuda_failure);
  runs.session.whole = true;
  CHECK(!noted(race, "races-unjudged"));
  runs.deliveries()[0].values[0].written = false;
  const Diagnosis none = runs.report();
  CHECK(none.findings.empty());
  CHECK(!noted(none, "races-unjudged"));
  runs.deliveries().clear();
  const Diagnosis open = runs.report();
  CHECK(open.findings.empty());
  CHECK(noted(open, "races-unjudged"));
}

TEST_CASE("not every schema is trusted on arguments that are only read") {
  Runs runs;
  runs.open_both();
  const auto judged = [&](const char* op, const char* parameter) {
    for (std::size_t i : {0u, 2u}) {
      runs.deliveries()[i].op = runs.deliveries()[i + 1].op = op;
      runs.deliveries()[i].values[0] = tensor("x", parameter, false);
    }
    return !noted(runs.report(), "races-unjudged");
  };
  CHECK(judged("aten::sum", "self"));
  CHECK(!judged("mine::sum", "self"));
  CHECK(!judged("aten::native_batch_norm", "running_mean"));
}

TEST_CASE("a rerun that does not show the race changes nothing") {
  Runs runs;
  runs.session.rerun_races[0]->found[0].second.parameter = 8;
  const Diagnosis other = runs.report();
  CHECK(!other.findings[0].race->accesses[0].tensor);
  CHECK(other.findings[0].evidence.text().ends_with("; a rerun did not show the race again"));
  CHECK(other.findings[0].evidence.grade() == analyse::Grade::inferred);
  runs.session.manifest.passes[1].cut_short = session::CutShort::time_limit;
  CHECK(runs.report().findings[0].evidence.text().ends_with("(time limit) did not show the race again"));
}

TEST_CASE("PyTorch's own fill before a capture is not reported as a race") {
  Runs runs;
  auto& codes = runs.session.processes[0].record.codes;
  codes.push_back({"/lib/torch/cuda/graphs.py", "CUDAGraph.capture_begin", 115, 11, std::string("\xef\0", 2)});
  auto& frames = runs.session.processes[0].record.python_stacks[0].frames;
  frames.insert(frames.begin(), {3, 0});
  CHECK(runs.report().findings.empty());
  codes[2].file = "/home/user/graphs.py";
  CHECK(runs.report().findings.size() == 1);
}

TEST_CASE("a rerun may show the two accesses in the other order") {
  Runs runs;
  std::swap(runs.session.rerun_races[0]->found[0].first, runs.session.rerun_races[0]->found[0].second);
  CHECK(runs.report().findings[0].race->accesses[0].op == "aten::add_.Tensor");
}

TEST_CASE("a call that the hook did not report is named if all reported uses of its address are alike") {
  Runs runs;
  auto& found = runs.session.rerun_races[0]->found[0];
  found.first.ticks = 10000;  // long after the reported call of this operator
  CHECK(runs.report().findings[0].race->accesses[0].op == "aten::add_.Tensor");
  runs.deliveries().push_back(told(DeliveryKind::untold, 900, 0, "", {}));
  CHECK(runs.report().findings[0].race->accesses[0].op == "");
  found.second.ticks = 10000;  // this access is not within the last reported call either
  CHECK(runs.report().findings[0].race->accesses[1].op == "");
  found.second.ticks = 210;
  runs.deliveries().back() = told(DeliveryKind::call, 300, 3, "aten::mul_", {tensor("x", "self", true)});
  CHECK(runs.report().findings[0].race->accesses[0].op == "");
  CHECK(runs.report().findings[0].race->accesses[1].op == "aten::sum.Tensor");
}

TEST_CASE("reports from a different thread or line do not name the access") {
  Runs runs;
  runs.deliveries()[0].tid = runs.deliveries()[1].tid = 13;
  runs.deliveries()[2].line = 5;
  const Diagnosis report = runs.report();
  const auto& accesses = report.findings[0].race->accesses;
  CHECK(accesses[0].op == "");
  CHECK(accesses[1].op == "");
}

TEST_CASE("memory that is neither an argument nor a result belongs to the operator") {
  Runs runs;
  runs.deliveries()[2].values[0].pointer = 0x100000;
  const Diagnosis report = runs.report();
  const auto& access = report.findings[0].race->accesses[1];
  CHECK(access.op == "aten::sum.Tensor");
  CHECK(!access.tensor);
  runs.deliveries()[3].values = {tensor("result", "", true)};
  const Diagnosis made = runs.report();
  CHECK(made.findings[0].race->accesses[1].tensor->role == diagnose::TensorRole::result);
  const std::vector<std::string> text = {
      "x float32[16,4]: argument self of aten::add_ (written); result of aten::sum (written)"};
  CHECK(cudadiag::report::race_tensors(*made.findings[0].race) == text);
}

TEST_CASE("a kernel outside any operator gets the variables of its line") {
  Runs runs;
  for (session::Site& site : runs.session.reruns[0][0].record.sites) site.native = 1;
  runs.session.reruns[0][0].record.modules = runs.session.processes[0].record.modules;
  runs.session.reruns[0][0].record.native_stacks = runs.session.processes[0].record.native_stacks;
  CHECK(runs.report().findings[0].race->accesses[0].op == "");
  runs.deliveries().push_back(told(DeliveryKind::line, 90, 3, "", {tensor("out", "", false)}));
  runs.deliveries().back().values[0].origin = session::NameSource::variable;
  runs.deliveries().back().values[0].written.reset();
  const Diagnosis report = runs.report();
  const auto& access = report.findings[0].race->accesses[0];
  CHECK(access.op == "");
  REQUIRE(access.tensor);
  CHECK(access.tensor->name == "out");
  CHECK(!access.tensor->written);
  CHECK(!access.exact);
}

namespace {

// The report on a process that kept this property.
Diagnosis kept(const std::string& text) {
  Runs runs;
  runs.session.races.reset();
  runs.session.rerun_races.clear();
  runs.session.processes[0].record.properties["source_changed.2"] = text;
  runs.session.processes[0].record.allocations = {{.serial = 1, .address = 4096, .bytes = 65536, .site = 1}};
  return runs.report();
}

}  // namespace

TEST_CASE("a run that compares copies reports the source that changed, without a search for races") {
  const Diagnosis copy = kept("0 0 2 0 80 4096 8192 4196 5196 900 1 0 0");
  REQUIRE(copy.findings.size() == 1);
  const diagnose::Finding& finding = copy.findings[0];
  const auto& accesses = finding.race->accesses;
  CHECK((accesses[0].begin == 4096 && accesses[0].end == 8192 && accesses[0].mode == RaceMode::read));
  CHECK((accesses[1].begin == 4196 && accesses[1].end == 5196 && accesses[1].on_host));
  CHECK(finding.location.line == 7);
  CHECK(finding.race->allocation->allocated->line == 3);
  CHECK(finding.evidence.grade() == analyse::Grade::inferred);
  CHECK(finding.text.find("changed before the copy had finished: at least 900 B, the first at byte 100") !=
        std::string::npos);

  const Diagnosis graph = kept("1 4 2 0 80 4096 8192 4196 5196 900 0 2 1");
  REQUIRE(graph.findings.size() == 1);
  CHECK((graph.findings[0].location.line == 3 && graph.findings[0].race->accesses[0].graph_node == 4));
  CHECK(graph.findings[0].related.front().location.line == 7);
  CHECK(graph.findings[0].text.find("changed before the graph had finished: 900 B") != std::string::npos);
}

TEST_CASE("kernels whose code was read are not named as the reason for unjudged pairs") {
  session::Races races;
  races.counts.resize(1);
  races.counts[0].unjudged = 1;
  races.kernels = {.wanted = 2, .understood = 1, .disassembler = true};
  CHECK(diagnose::unjudged_text(races, 0).ends_with(": the code of only 1 of 2 kernels could be read"));
  races.kernels.understood = 2;
  CHECK(diagnose::unjudged_text(races, 0).ends_with("whether one of them writes, or where"));
}

TEST_CASE("a damaged property gives no change of a source") {
  for (const char* text : {"", "0 0 2", "0 0 2 0 80 4096 8192 4196 5196 900 1 0",
                           "0 0 0 0 80 4096 8192 4196 5196 900 1 0 0", "0 0 2 0 80 4096 8192 4000 5196 900 1 0 0",
                           "0 0 2 0 80 4096 8192 4196 9000 900 1 0 0", "0 0 2 0 80 4096 8192 4196 4196 900 1 0 0",
                           "0 0 2 0 80 4096 8192 4196 5196 0 1 0 0", "0 0 2 0 80 x 8192 4196 5196 900 1 0 0"}) {
    CHECK(kept(text).findings.empty());
  }
}

}  // namespace races_test
