#include <doctest/doctest.h>

#include "analyse/first_failure.h"
#include "analyse/reruns.h"
#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

constexpr const char* kKernelFile = "/tmp/torchinductor_u/ab/cab.py";
constexpr const char* kPackages = "/venv/lib/python3.12/site-packages/";

struct Frame {
  std::string file, function;
};

Frame package(const char* file) { return {std::string(kPackages) + file, "call"}; }

// Builds a process that failed in its only operation. `frames` is the operation's stack, innermost frame first.
session::Process failed(const std::vector<Frame>& frames) {
  PictureBuilder picture(710);
  picture.issue(picture.stream(0)).site = 1;
  session::ProcessRecord& record = picture.process.record;
  session::RawStack<session::RawPythonFrame> stack;
  for (const Frame& frame : frames) {
    record.codes.push_back({frame.file, frame.function, 1, 12, ""});
    stack.frames.push_back({static_cast<std::uint32_t>(record.codes.size()), 0});
  }
  record.python_stacks.push_back(stack);
  record.sites.push_back({1, 0, 0, wire::operation::Kind::kernel, 0, 1});
  return picture.process;
}

bool compiled(const std::vector<Frame>& frames) {
  const session::Process process = failed(frames);
  return is_compiled(*first_failure(process));
}

// Returns true if the session's first rerun ran without the compiler and shows the line of the failure.
bool told(const session::Session& session) {
  const session::Session eager = eager_session(session);
  if (eager.processes.empty()) return false;
  return shows_line_of(*first_failure(session.processes[0]), *first_failure(eager.processes[0]), eager);
}

bool told(const Frame& function, const std::vector<Frame>& eager, session::PassKind pass = session::PassKind::eager,
          const std::string& rewritten = "", const std::string& kernel_file = kKernelFile) {
  session::Session session;
  session.processes = {failed({package("torch/_inductor/runtime/static_triton_launcher.py"),
                               {"<string>", "launcher"},
                               {kernel_file, "call"},
                               package("torch/_dynamo/eval_frame.py"),
                               function})};
  session.reruns = {{failed(eager)}};
  session.manifest.passes.resize(2);
  session.manifest.passes[1].kind = pass;
  session.manifest.passes[1].rewritten = {rewritten};
  return told(session);
}

}  // namespace

TEST_CASE("code that Inductor generated from a user's or a library's function is compiled") {
  const Frame users{"/work/train.py", "Model.forward"}, generated{kKernelFile, "call"};
  const Frame heuristics = package("torch/_inductor/runtime/triton_heuristics.py");
  const Frame output = package("torch/_inductor/output_code.py"), dynamo = package("torch/_dynamo/eval_frame.py");
  CHECK(compiled({heuristics, generated, output, package("torch/_functorch/aot_autograd.py"), dynamo, users}));
  CHECK(compiled({generated, output, dynamo, package("transformers/models/llama.py"), dynamo, users}));
  CHECK(compiled({package("torch/_inductor/runtime/static_triton_launcher.py"),
                  {"<string>", "launcher"},
                  heuristics,
                  generated,
                  output,
                  dynamo,
                  users}));
  // The path of a generated file if TORCHINDUCTOR_CACHE_DIR is set.
  CHECK(told(users, {users}, session::PassKind::eager, "",
             "/scratch/3l/c3lgvasfdy6dpfr2hirqpua5bhr7hp2ra7vldjlqt4tsebjzvw77.py"));
  CHECK(compiled({output, dynamo, package("torch/nn/modules/linear.py"), users}));
  CHECK_FALSE(compiled({package("torch/nn/modules/module.py"), users}));
  CHECK_FALSE(compiled({package("triton/runtime/jit.py"), {"<string>", "main"}}));
  CHECK_FALSE(compiled({generated, output, dynamo}));
  CHECK_FALSE(compiled({}));
  // A backward pass runs on an autograd thread, whose stack has no user frames.
  CHECK_FALSE(compiled({heuristics, generated, output, package("torch/autograd/function.py")}));
  // Compiled code called the user's own operator, so the line of the failure is already on the stack.
  CHECK_FALSE(compiled({{"/work/operators.py", "smooth"}, generated, output, dynamo, users}));
}

TEST_CASE("a rerun without torch.compile shows the line of the compiled function, and of what it calls") {
  const Frame forward{"/work/train.py", "Model.forward"},
      rest{"/work/train.py", "Model.torch_dynamo_resume_in_forward_at_31"};
  const Frame called{"/work/layers.py", "Tower.forward"}, main{"/work/train.py", "main"};
  CHECK(told(forward, {called, package("torch/nn/modules/module.py"), forward, main}));
  CHECK(told(rest, {forward, main}));
  CHECK_FALSE(told(forward, {called, main}));
  CHECK_FALSE(told(forward, {{"/work/other.py", "Model.forward"}, main}));
  CHECK_FALSE(told(forward, {{kKernelFile, "call"}, package("torch/_dynamo/eval_frame.py"), forward, main}));
  CHECK_FALSE(told(forward, {forward, main}, session::PassKind::confirm));
  CHECK(told({"<string>", "forward"}, {{"<string>", "forward"}, main}));
  CHECK(told(forward, {forward, main}, session::PassKind::eager, kKernelFile));
  CHECK_FALSE(told(forward, {called, forward, main}, session::PassKind::eager, called.file));
}

// Uses the stack that PyTorch 2.11 has on a GPU.
TEST_CASE("from Inductor's kernel outwards, the first frame outside all compilers is the compiled function's") {
  std::vector<Frame> frames = {package("torch/_inductor/runtime/static_triton_launcher.py"),
                               {"<string>", "launcher"},
                               package("torch/_inductor/runtime/triton_heuristics.py"),
                               {kKernelFile, "Runner.call"},
                               package("torch/_inductor/utils.py"),
                               package("torch/_inductor/output_code.py"),
                               package("torch/_functorch/_aot_autograd/runtime_wrappers.py"),
                               package("torch/_functorch/aot_autograd.py"),
                               package("torch/_dynamo/eval_frame.py"),
                               {"/work/train.py", "Ranker.forward"},
                               package("torch/nn/modules/module.py"),
                               package("torch/_dynamo/eval_frame.py"),
                               {"/work/train.py", "main"}};
  const Frame called{"/work/train.py", "Tower.forward"}, module = package("torch/nn/modules/module.py");
  session::Session session;
  session.processes = {failed(frames)};
  session.manifest.passes.resize(2);
  session.manifest.passes[1].kind = session::PassKind::eager;
  session.reruns = {{failed({package("torch/nn/functional.py"), called, module, frames[9], module, frames.back()})}};
  CHECK(told(session));
  session.reruns = {{failed({package("torch/nn/functional.py"), called, module, frames.back()})}};
  CHECK_FALSE(told(session));
}

TEST_CASE("the first of several reruns without torch.compile is the first run of their session") {
  session::Session session;
  session.processes = {failed({{kKernelFile, "call"}, {"/work/train.py", "forward"}})};
  session.reruns = {{}, {failed({})}, {failed({}), failed({})}};
  session.manifest.passes.resize(4);
  for (const std::size_t i : {2, 3}) session.manifest.passes[i].kind = session::PassKind::eager;
  session.manifest.passes[3].folder = "eager-2";
  const session::Session eager = eager_session(session);
  CHECK(eager.processes.size() == 1);
  REQUIRE(eager.reruns.size() == 1);
  CHECK(eager.reruns[0].size() == 2);
  REQUIRE(eager.manifest.passes.size() == 2);
  CHECK(eager.manifest.passes[0].kind == session::PassKind::record);
  CHECK(eager.manifest.passes[1].kind == session::PassKind::confirm);
  CHECK(eager.manifest.passes[1].folder == "eager-2");
}

TEST_CASE("a rerun shows the line of a failed operation in a process of the same rank") {
  const Frame forward{"/work/train.py", "forward"};
  session::Session session;
  session.processes = {failed({{kKernelFile, "call"}, forward})};
  session.reruns = {{failed({forward})}};
  session.manifest.passes.resize(2);
  session.manifest.passes[1].kind = session::PassKind::eager;
  const session::Session eager = eager_session(session);
  Failure failure = *first_failure(session.processes[0]);
  const Failure again = *first_failure(eager.processes[0]);
  CHECK(shows_line_of(failure, again, eager));
  failure.kind = Kind::hang;
  CHECK_FALSE(shows_line_of(failure, again, eager));
  failure.kind = Kind::async_error;
  session.processes[0].rank = 1;
  CHECK_FALSE(shows_line_of(failure, again, eager));
}
