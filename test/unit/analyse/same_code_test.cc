#include <doctest/doctest.h>

#include "analyse/analysis.h"
#include "analyse/reruns.h"
#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;
using Outcome = Rerun::Outcome;

namespace {

// A Python program that launches kernels through a library's functions. Each launch is on a separate stream.
class Program : public PictureBuilder {
 public:
  struct Call {
    std::string function, kernel = "bad", file = "/p/train.py";
    std::uint32_t offset = 0x40;
    bool finished = false;
  };

  Program& call(const Call& call) {
    auto& record = process.record;
    const std::uint32_t library = code("/v/lib/python3.12/site-packages/net.py", call.function);
    record.python_stacks.push_back({{{library, 8}, {code(call.file, "main"), call.offset}}, false});
    const std::uint32_t at = site(call.kernel);
    record.sites[at - 1].python = static_cast<std::uint32_t>(record.python_stacks.size());
    issue_at(at, stream(call.finished ? 1 : 0), op::kMarked);
    return *this;
  }
  // Returns the process of a rerun that proved the last call to be the failing one.
  session::Process proven() {
    process.record.operations.back().flags |= op::kAlone;
    process.record.waits = process.record.operations.size();
    return process;
  }

 private:
  std::uint32_t code(const std::string& file, const std::string& function) {
    process.record.codes.push_back({file, function, 1, 12, "table"});
    return static_cast<std::uint32_t>(process.record.codes.size());
  }
};

session::Session session_of(session::Process first, session::Process rerun) {
  session::Session session;
  session.manifest.passes.resize(2);
  session.manifest.passes[1].kind = session::PassKind::confirm;
  session.processes.push_back(std::move(first));
  session.reruns.push_back({std::move(rerun)});
  return session;
}

std::string lead_kernel(const Failure& failure) {
  const auto& record = failure.process->record;
  return record.functions[record.sites[failure.candidates.front().operation->site - 1].function - 1];
}

// Returns true if the rerun's proof is accepted for the only candidate of the first run.
bool is_taken(const session::Process& first, const session::Process& rerun) {
  const session::Session session = session_of(first, rerun);
  const Analysis analysis = analyse::analyse(session);
  const bool known = analysis.reruns.at(0).outcome == Outcome::proven;
  CHECK(analysis.failures.size() == (known ? 1 : 2));
  CHECK(analysis.failures.at(0).evidence.grade() == (known ? Grade::proven : Grade::bracketed));
  return known;
}

const session::Process kLoaded = Program().call({"loaded"}).proven();

}  // namespace

TEST_CASE("a line is proven even if the library takes a different path from it in the rerun") {
  const session::Session session =
      session_of(Program().call({"other", "good", "/p/train.py", 0x20}).call({"compiled"}).process, kLoaded);
  const Analysis analysis = analyse::analyse(session);
  REQUIRE(analysis.failures.size() == 1);
  const Failure& failure = analysis.failures[0];
  CHECK(analysis.first_grade == Grade::inferred);
  CHECK(analysis.reruns[0].outcome == Outcome::proven);
  CHECK(failure.evidence.grade() == Grade::proven);
  CHECK(failure.evidence ==
        "one of 2 candidates: in a rerun, this line's operation ran alone on the GPU and failed; in the rerun, "
        "libraries reached the operation by a different path");
  REQUIRE(failure.candidates.size() == 1);
  CHECK(lead_kernel(failure) == "bad");
  CHECK(failure.call_not_known);
  CHECK(failure.again == &session.reruns[0][0].record.operations[0]);
}

TEST_CASE("all library calls on the proven line that launch this kernel remain candidates") {
  const session::Session session =
      session_of(Program().call({"compiled"}).call({"checked"}).call({"other", "good"}).process, kLoaded);
  const Failure failure = analyse::analyse(session).failures.at(0);
  CHECK(failure.evidence.grade() == Grade::proven);
  CHECK(failure.candidates.size() == 2);
  CHECK(failure.call_not_known);
}

TEST_CASE("the same lines of the program do not count with a different kernel, line or entry") {
  const auto first = Program().call({"compiled"}).process;
  CHECK(is_taken(first, kLoaded));
  CHECK_FALSE(is_taken(first, Program().call({"loaded", "other"}).proven()));
  CHECK_FALSE(is_taken(first, Program().call({"loaded", "bad", "/p/train.py", 0x50}).proven()));
  CHECK_FALSE(is_taken(first, Program().call({"loaded", "bad", "/p/other.py"}).proven()));
  auto graph = kLoaded;
  graph.record.sites[0].kind = op::Kind::graph;
  CHECK_FALSE(is_taken(first, graph));
  auto cut = kLoaded;
  cut.record.python_stacks[0].truncated = true;
  CHECK_FALSE(is_taken(first, cut));
}

TEST_CASE("a kernel that is launched at one place identifies this place if hooks observe the rerun of a run by CUPTI") {
  const auto by_cupti = [](session::Process process) {
    process.record.properties["cupti.path"] = "/usr/lib/libcupti.so.13";
    return process;
  };
  const auto elsewhere = Program().call({"loaded", "bad", "/p/other.py"}).proven();
  CHECK(is_taken(by_cupti(Program().call({"compiled"}).process), elsewhere));
  CHECK_FALSE(is_taken(Program().call({"compiled"}).process, elsewhere));
  CHECK_FALSE(is_taken(by_cupti(Program().call({"compiled"}).process), by_cupti(elsewhere)));
  const Program::Call other{"compiled", "bad", "/p/train.py", 0x60, true};
  CHECK_FALSE(is_taken(by_cupti(Program().call(other).call({"compiled"}).process), elsewhere));
}

TEST_CASE("without a line of the program's own nothing counts as the same") {
  for (const char* file : {"/v/lib/python3.12/site-packages/tool.py", "/usr/lib/python3.12/runpy.py", "<string>",
                           "/tmp/torchinductor_u/ab/cab.py", "/tmp/nn.conv_q9dx4sbc.py"}) {
    INFO(file);
    CHECK_FALSE(
        is_taken(Program().call({"compiled", "bad", file}).process, Program().call({"loaded", "bad", file}).proven()));
  }
}

TEST_CASE("the program's own native code is part of the path") {
  const auto through = [](session::Process process, const char* module, std::uint64_t address) {
    process.record.modules.emplace_back().path = module;
    process.record.native_stacks.push_back({{{1, address}}, false});
    process.record.sites[0].native = 1;
    return process;
  };
  const auto first = Program().call({"compiled"}).process;
  const char *own = "/p/_kernels.so", *torch = "/v/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so";
  CHECK(is_taken(through(first, torch, 0x40), through(kLoaded, torch, 0x80)));
  CHECK(is_taken(through(first, own, 0x40), through(kLoaded, own, 0x40)));
  CHECK_FALSE(is_taken(through(first, own, 0x40), through(kLoaded, own, 0x80)));
  CHECK_FALSE(is_taken(through(first, own, 0x40), kLoaded));
}

TEST_CASE("an exact match that did not fail is not replaced by a match of lines") {
  const auto first = Program().call({"forward"}).process;
  CHECK_FALSE(is_taken(first, Program().call({"forward", "bad", "/p/train.py", 0x40, true}).call({"loaded"}).proven()));
  const auto both = Program().call({"loaded", "bad", "/p/train.py", 0x40, true}).call({"forward"}).process;
  CHECK_FALSE(is_taken(both, kLoaded));
}

TEST_CASE("another path to the same line casts no doubt on it") {
  const auto rerun = [](const char* file) {
    return Program().call({"loaded", "bad", file}).call({"other", "good"}).process;
  };
  for (const char* file : {"/p/train.py", "/p/other.py"}) {
    const session::Session session = session_of(Program().call({"compiled"}).process, rerun(file));
    const Analysis analysis = analyse::analyse(session);
    CHECK(analysis.reruns.at(0).outcome == Outcome::failed);
    CHECK(analysis.failures.at(0).evidence.grade() ==
          (std::string(file) == "/p/train.py" ? Grade::bracketed : Grade::inferred));
  }
}
