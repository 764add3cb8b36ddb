#include <doctest/doctest.h>

#include "diagnose/session_state.h"
#include "unit/analyse/picture_builder.h"

namespace eager_line_test {

using namespace cudadiag;
using diagnose::Diagnosis;

namespace {

namespace op = wire::operation;

constexpr const char* kGather = "_ZN2at6native24vectorized_gather_kernelILi16ElEEvPcS2_PT0_illllb";
constexpr const char* kFused = "triton_per_fused_add_embedding_0";

struct Frame {
  std::string file, function;
  std::uint32_t line;
};

const Frame kForward{"/work/train.py", "Model.forward", 29}, kCalled{"/work/train.py", "Tower.forward", 18},
    kMain{"/work/train.py", "<module>", 50};

// Builds a process that failed in its only operation. `frames` is the operation's stack, innermost frame first.
session::Process failed(const std::string& kernel, const std::vector<Frame>& frames, unsigned flags = 0) {
  analyse::PictureBuilder picture(710);
  const auto site = picture.site(kernel);
  picture.issue_at(site, picture.stream(0), flags);
  session::ProcessRecord& record = picture.process.record;
  record.threads[0].tid = 4711;
  session::RawStack<session::RawPythonFrame> stack;
  for (const Frame& frame : frames) {
    // Maps all instructions to the function's first line.
    record.codes.push_back({frame.file, frame.function, frame.line, 11, std::string("\xef\0", 2)});
    stack.frames.push_back({static_cast<std::uint32_t>(record.codes.size()), 0});
  }
  record.python_stacks.push_back(stack);
  record.sites[site - 1].python = 1;
  record.waits = (flags & op::kAlone) != 0 ? 1 : 0;
  return picture.process;
}

// Builds a program that fails inside the compiled forward(). In the rerun without the compiler, it fails in a function
// that forward() calls.
session::Session compiled() {
  session::Session session;
  session.processes = {failed(kFused, {{"/tmp/torchinductor_u/ab/cab.py", "call", 3}, kForward, kMain})};
  session.reruns = {{failed(kGather, {kCalled, kForward, kMain})}};
  for (const auto pass : {session::PassKind::record, session::PassKind::eager}) {
    session.manifest.passes.emplace_back().kind = pass;
  }
  return session;
}

// Adds a rerun in which the hook reported the argument values at the line.
void add_values(session::Session& session) {
  session::Process again = failed(kGather, {kCalled, kForward, kMain}, op::kAlone);
  again.record.properties["python"] = "3.11.7";
  again.record.properties["python.hook"] = "on";
  session::DeliveredValue value;
  value.name = value.in_schema = "indices";
  value.origin = session::NameSource::schema;
  value.dtype = "int64";
  value.shape = {4, 64};
  value.min = std::int64_t{0};
  value.max = value.first_value = std::int64_t{60'000'000};
  value.bound = 8000;
  value.outside = 512;
  value.first_outside = {2, 3};
  session::Delivery delivery;
  delivery.tid = 4711;
  delivery.kind = session::DeliveryKind::call;
  delivery.op = "aten::embedding";
  delivery.values = {value};
  again.deliveries = {delivery};
  session.reruns.push_back({again});
  session.manifest.passes.emplace_back().kind = session::PassKind::eager;
  session.manifest.passes.back().values = true;
}

Diagnosis report_of(const session::Session& session) { return diagnose::SessionState(session).diagnosis(); }

std::vector<int> eager_lines(const diagnose::Finding& finding) {
  std::vector<int> lines;
  for (const diagnose::Related& related : finding.related) {
    if (related.role == diagnose::Role::eager) lines.push_back(related.location.line);
  }
  return lines;
}

}  // namespace

TEST_CASE("a failure in compiled code names the line that fails without the compiler, and its arguments") {
  session::Session session = compiled();
  const Diagnosis located = report_of(session);
  REQUIRE(located.findings.size() == 1);
  CHECK(located.findings[0].location.line == 18);
  REQUIRE(located.findings[0].compiled);
  CHECK(located.findings[0].compiled->function == "Model.forward");
  CHECK(located.findings[0].compiled->called.line == 50);
  CHECK(located.findings[0].compiled->inside);
  CHECK(located.findings[0].launch->kernel == kFused);
  CHECK(eager_lines(located.findings[0]) == std::vector{18});
  CHECK(located.findings[0].evidence.text().find("without torch.compile") == std::string::npos);
  session.reruns[0][0].record.frozen_code = session.reruns[0][0].record.errors[0].code = 700;
  CHECK(report_of(session).findings[0].evidence.text().ends_with(
      "; without torch.compile, the error is illegal memory access (700)"));
  session = compiled();

  add_values(session);
  const Diagnosis explained = report_of(session);
  REQUIRE(explained.findings.size() == 1);
  const diagnose::Finding& finding = explained.findings[0];
  CHECK(eager_lines(finding) == std::vector{18});
  REQUIRE(finding.cause);
  CHECK(finding.cause->text ==
        "indices[2,3] = 60000000, but the dimension that it indexes has 8000 entries (valid 0..7999), in the rerun "
        "without torch.compile");
  REQUIRE(finding.cause->proof.size() == 1);
  CHECK(finding.arguments[finding.cause->proof[0]].name == "indices");
  CHECK(finding.evidence.grade() == analyse::Grade::bracketed);
}

TEST_CASE("no line is named if processes without a rank fail at several lines without the compiler") {
  session::Session session = compiled();
  session.reruns[0].push_back(failed(kGather, {{"/work/train.py", "Head.forward", 40}, kForward}));
  session.reruns[0].back().pid = 4712;
  CHECK(eager_lines(report_of(session).findings[0]).empty());
  session.reruns[0].back() = failed(kGather, {kCalled, kForward});
  session.reruns[0].back().pid = 4712;
  CHECK(eager_lines(report_of(session).findings[0]) == std::vector{18});
}

TEST_CASE("a finding in compiled code leads with the call if the line inside is unknown, never with the def line") {
  session::Session session = compiled();
  session.reruns.clear();
  session.manifest.passes.pop_back();
  const Diagnosis called = report_of(session);
  CHECK(called.findings.at(0).location.line == 50);
  REQUIRE(called.findings[0].compiled);
  CHECK_FALSE(called.findings[0].compiled->inside);
  // No user code called the function, for example on a thread of autograd.
  session.processes[0].record.python_stacks[0].frames.pop_back();
  CHECK(report_of(session).findings.at(0).location.line == 29);
}

TEST_CASE("outcomes of a rerun without the compiler") {
  session::Session session = compiled();
  CHECK(report_of(session).passes[1].outcome == "failed");
  session.reruns[0][0].record.state = wire::area::State::finished;
  session.manifest.passes[1].end.code = 3;
  CHECK(report_of(session).passes[1].outcome == "ended with status 3");
}

}  // namespace eager_line_test
