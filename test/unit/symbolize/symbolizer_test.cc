#include "symbolize/symbolizer.h"

#include <doctest/doctest.h>

#include "fixture_library.h"

using namespace cudadiag;
using symbolize::Symbolizer;

namespace {

// A script that calls the fixture library through ctypes. The stack has frames of the script, of the library and of the
// interpreter.
struct RecordedSite {
  session::Session session;
  session::Site site;

  RecordedSite(const std::string& path, const std::string& build_id, std::uint64_t address) {
    session::Process process;
    session::ProcessRecord& record = process.record;
    record.properties["cwd"] = "/home/user/project";
    record.functions = {"_Z4fillPii"};
    record.modules = {{path, build_id}, {"/usr/bin/python3.12", ""}};
    record.codes = {{"./train.py", "Model.forward", 40, 12, std::string("\xe8\x02", 2)},
                    {"/usr/lib/python3.12/runpy.py", "run", 1, 12, std::string("\xe8\x00", 2)}};
    record.python_stacks = {{{{1, 0}, {2, 0}, {9, 0}}}};
    record.native_stacks = {{{{0, 0xffff}, {1, address}, {2, 0x1000}, {1, address}}}};
    session.processes.push_back(process);
    site.python = 1;
    site.native = 1;
    site.function = 1;
  }
  const session::Process& process() const { return session.processes[0]; }
};

std::uint64_t address_in(const std::string& path) { return fixture::Library(path).return_address(fixture::kInlined); }

}  // namespace

TEST_CASE("a stack through Python and native code") {
  const RecordedSite recorded(FIXTURE_DWARF5, "", address_in(FIXTURE_DWARF5));
  Symbolizer symbolizer(recorded.session);
  const auto stack = symbolizer.stack(recorded.process(), recorded.site);

  REQUIRE(stack.python.size() == 2);  // the frame whose code was not recorded is omitted
  CHECK(stack.python[0].file == "/home/user/project/train.py");
  CHECK(stack.python[0].line == 41);
  CHECK(stack.python[0].function == "Model.forward");
  CHECK(stack.python[0].user);
  CHECK_FALSE(stack.python[1].user);

  REQUIRE(stack.native.size() == 4);  // an unknown module, two inlined functions and their caller, but not the
                                      // interpreter
  CHECK(stack.native[0].module == "");
  CHECK(stack.native[1].line == fixture::marked_line("inner"));
  CHECK(stack.native[3].function == "fixture::from_inlined_functions()");

  const auto line = symbolizer.true_line(stack, "_Z4fillPii");
  CHECK(line.user);
  CHECK(line.location.file == FIXTURE_SOURCE);
  CHECK(line.location.line == fixture::marked_line("inner"));
  CHECK(line.location.language == symbolize::Language::cplusplus);
  CHECK(line.caller.line == 41);
  CHECK(symbolizer.notes().empty());
}

TEST_CASE("a rebuilt library gives no lines and one note") {
  const RecordedSite recorded(FIXTURE_DWARF5, "abcd", address_in(FIXTURE_DWARF5));
  Symbolizer symbolizer(recorded.session);
  const auto stack = symbolizer.stack(recorded.process(), recorded.site);
  symbolizer.stack(recorded.process(), recorded.site);
  const auto line = symbolizer.true_line(stack, "");
  CHECK(line.location.language == symbolize::Language::python);
  CHECK(line.location.line == 41);
  REQUIRE(symbolizer.notes().size() == 1);
  CHECK(symbolizer.notes()[0].find("rebuilt") != std::string::npos);
}

// Linkers write a build-id only if asked to.
TEST_CASE("a library without a build-id that was written after the run") {
  RecordedSite recorded(FIXTURE_DWARF5, "", address_in(FIXTURE_DWARF5));
  session::ProcessRecord& record = recorded.session.processes[0].record;
  record.start_realtime = 1'000'000'000;  // nanoseconds since the epoch, so in 1970
  record.seconds_per_tick = 1e-9;
  const auto line = [&] {
    Symbolizer symbolizer(recorded.session);
    return symbolizer.true_line(symbolizer.stack(recorded.process(), recorded.site), "").location;
  };
  CHECK(line().file == FIXTURE_SOURCE);  // the time at which the process ended is unknown
  record.clock_last = 5'000'000'000;
  CHECK(line().language == symbolize::Language::python);
  record.clock_last = 9'000'000'000'000'000'000;
  CHECK(line().file == FIXTURE_SOURCE);
}

TEST_CASE("a user's library without line information is named in a note") {
  const RecordedSite recorded(FIXTURE_STRIPPED, "", address_in(FIXTURE_STRIPPED));
  Symbolizer symbolizer(recorded.session);
  symbolizer.stack(recorded.process(), recorded.site);
  REQUIRE(symbolizer.notes().size() == 1);
  CHECK(symbolizer.notes()[0].find("build it with -g") != std::string::npos);
}

TEST_CASE("a site without stacks has an empty stack and no line") {
  const RecordedSite recorded(FIXTURE_DWARF5, "", 0);
  Symbolizer symbolizer(recorded.session);
  const auto stack = symbolizer.stack(recorded.process(), session::Site{});
  CHECK(stack.python.empty());
  CHECK(stack.native.empty());
  CHECK_FALSE(symbolizer.true_line(stack, "").location.known());
}

TEST_CASE("a launch by one of JAX's own threads is noted, and other launches are not") {
  for (const char* module :
       {"/v/site-packages/jax_plugins/xla_cuda12/xla_cuda_plugin.so", "/v/site-packages/torch/c.so"}) {
    INFO(module);
    RecordedSite recorded(module, "", 0x1000);
    recorded.session.processes[0].record.properties["python"] = "3.12.3";
    const bool by_jax = std::string(module).find("jax") != std::string::npos;
    Symbolizer symbolizer(recorded.session);
    symbolizer.stack(recorded.process(), recorded.site);
    CHECK(symbolizer.notes().empty());  // none, because the stack has Python frames
    recorded.site.python = 0;
    symbolizer.stack(recorded.process(), recorded.site);
    CHECK(symbolizer.notes().size() == (by_jax ? 1 : 0));
  }
}

TEST_CASE("the user's rules about code are read from the session") {
  RecordedSite recorded(FIXTURE_DWARF5, "", address_in(FIXTURE_DWARF5));
  recorded.session.manifest.code_rules = {
      {FIXTURE_SOURCE, false}, {"/home/user/project", false}, {"/usr/lib/python3.12/runpy.py", true}};
  Symbolizer symbolizer(recorded.session);
  const auto line = symbolizer.true_line(symbolizer.stack(recorded.process(), recorded.site), "_Z4fillPii");
  CHECK(line.location.file == "/usr/lib/python3.12/runpy.py");
}
