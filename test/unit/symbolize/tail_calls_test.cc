#include <dlfcn.h>
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "fixture_library.h"
#include "symbolize/symbolizer.h"

using namespace cudadiag;
using symbolize::NativeFrame;
using symbolize::TrueLine;

namespace {

int mark(const char* name) { return fixture::marked_line(name, FIXTURE_LAUNCHES_SOURCE); }

const char* const kForeignFunctions = "/lib/libffi.so.8";

bool is_fixture(const std::string& path) {
  return path.find("fixture") != std::string::npos || path.find("libcudart") != std::string::npos;
}

Dl_info module_of(const void* address) {
  Dl_info info{};
  REQUIRE(dladdr(address, &info) != 0);
  return info;
}

// Adds a frame in the form that the recorder writes. The test itself appears as module `caller`, because it calls
// through a pointer.
void add_frame(session::ProcessRecord& record, const void* address, const char* caller) {
  const Dl_info info = module_of(address);
  const std::string path = is_fixture(info.dli_fname) ? info.dli_fname : caller;
  std::uint32_t module = 0;
  while (module < record.modules.size() && record.modules[module].path != path) ++module;
  if (module == record.modules.size()) record.modules.push_back({path, ""});
  const auto offset = reinterpret_cast<std::uint64_t>(address) - reinterpret_cast<std::uint64_t>(info.dli_fbase);
  record.native_stacks[0].frames.push_back({module + 1, offset});
}

// Calls `function` of a library, and symbolizes the stack that the runtime saw.
struct Launched {
  symbolize::SourceStack stack;
  TrueLine line;

  Launched(const char* path, const char* function, const char* kernel, const char* caller = kForeignFunctions,
           const std::vector<std::string>& also_seen = {}) {
    const fixture::Library library(path);
    library.entry<void (*)(int)>(function)(1);
    int depth = 0;
    void* const* addresses = library.entry<void* const* (*)(int*)>("fixture_stack")(&depth);
    session::Session session;
    session.processes.emplace_back();
    session::ProcessRecord& record = session.processes[0].record;
    record.functions = {kernel};
    record.native_stacks.emplace_back();
    // Skips the frames before the runtime's. With a sanitizer, the first frame is the sanitizer's backtrace(), which is
    // linked into the test and would look like a caller.
    int runtime = 0;
    while (runtime < depth && !is_fixture(module_of(addresses[runtime]).dli_fname)) ++runtime;
    for (int i = runtime; i < depth; ++i) add_frame(record, addresses[i], caller);
    for (const std::string& module : also_seen) record.modules.push_back({module, ""});
    symbolize::Symbolizer symbolizer(session);
    session::Site site;
    site.native = 1;
    site.function = *kernel ? 1 : 0;
    stack = symbolizer.stack(session.processes[0], site);
    line = symbolizer.true_line(stack, kernel);
  }
};

void check_found(const Launched& launched, const std::string& function, const char* marked) {
  CHECK(launched.line.user);
  CHECK(launched.line.tail_call);
  CHECK(launched.line.location.function == function);
  CHECK(launched.line.location.file == FIXTURE_LAUNCHES_SOURCE);
  CHECK(launched.line.location.line == mark(marked));
}

// Returns the number of restored frames in user code. The host function of the kernel is not user code.
int restored(const symbolize::SourceStack& stack) {
  int count = 0;
  for (const NativeFrame& frame : stack.native) count += frame.tail_call && frame.user;
  return count;
}

void check_left_alone(const Launched& launched) {
  CHECK(restored(launched.stack) == 0);
  CHECK_FALSE(launched.line.tail_call);
}

const char* const kStatic[] = {FIXTURE_LAUNCHES5, FIXTURE_LAUNCHES4};

}  // namespace

TEST_CASE("a launch that ends its function is found, although the function is not on the stack") {
  for (const char* path : kStatic) {
    INFO(path);
    const Launched launched(path, "launch_once", "_Z4oncev");
    check_found(launched, "launch_once", "once");
    CHECK(restored(launched.stack) == 1);
  }
}

TEST_CASE("the kernel's name comes from its stub if the record lacks it") {
  check_found(Launched(FIXTURE_LAUNCHES5, "launch_once", ""), "launch_once", "once");
}

TEST_CASE("the launching function is found, whichever function calls it") {
  for (const std::string caller : {"/usr/bin/python3.12", "/opt/libtorch_python.so", "/home/u/main"}) {
    INFO(caller);
    check_found(Launched(FIXTURE_LAUNCHES5, "launch_once", "_Z4oncev", caller.c_str()), "launch_once", "once");
  }
}

TEST_CASE("two functions on one stack that end with a tail call") {
  for (const char* path : kStatic) {
    INFO(path);
    const Launched launched(path, "launch_deep", "_Z4deepv");
    check_found(launched, "launch_deep_inside", "inside");
  }
}

TEST_CASE("two functions may end with the same launch, and the caller shows which one it was") {
  for (const char* path : kStatic) {
    INFO(path);
    check_left_alone(Launched(path, "launch_twice", "_Z5twicev"));
    check_found(Launched(path, "call_second_launch", "_Z5twicev"), "launch_twice_too", "twice too");
  }
  check_found(Launched(FIXTURE_CALLER5, "call_first_launch", "_Z5twicev"), "launch_twice", "twice");
}

TEST_CASE("if a function on the way may have jumped elsewhere, no frame is inserted") {
  for (const char* path : kStatic) {
    INFO(path);
    const Launched launched(path, "call_route", "_Z6routedv");
    check_left_alone(launched);
    CHECK(launched.line.location.line == mark("route"));
  }
}

TEST_CASE("two launches of one kernel in one function are not distinguished") {
  check_left_alone(Launched(FIXTURE_LAUNCHES5, "launch_branched", "_Z8branchedv"));
}

TEST_CASE("a function that is on the stack is not added again") {
  const Launched launched(FIXTURE_LAUNCHES5, "launch_and_return", "_Z4oncev");
  check_left_alone(launched);
  CHECK(launched.line.location.line == mark("ordinary"));
}

TEST_CASE("a caller without call-site information in the same module may be the right one") {
  const Launched launched(FIXTURE_LAUNCHES5, "launch_unoptimised", "_Z4oncev");
  check_left_alone(launched);
  CHECK(launched.line.location.line == fixture::marked_line("unoptimised", FIXTURE_UNOPTIMISED_SOURCE));
}

TEST_CASE("a call into the runtime as the last call of its function") {
  SUBCASE("functions of a static runtime are not exported, so a script must have called the user's function") {
    check_found(Launched(FIXTURE_LAUNCHES5, "finish", ""), "finish", "finish");
  }
  SUBCASE("main() is known to be called by the C library") {
    check_found(Launched(FIXTURE_LAUNCHES5, "main", "", "/opt/libc.so.6"), "main", "main");
    check_left_alone(Launched(FIXTURE_LAUNCHES5, "finish", "", "/opt/libc.so.6"));
  }
  SUBCASE("other callers may have received a pointer to them") {
    check_left_alone(Launched(FIXTURE_LAUNCHES5, "finish", "", "/opt/libdeleter.so"));
    check_left_alone(Launched(FIXTURE_LAUNCHES5, "call_pointer", ""));
  }
  SUBCASE("any code may call a shared runtime, so the caller must name the function") {
    check_left_alone(Launched(FIXTURE_LAUNCHES_SHARED, "finish", ""));
    check_found(Launched(FIXTURE_CALLER_SHARED, "call_finish", "", kForeignFunctions, {FIXTURE_LAUNCHES_SHARED}),
                "finish", "finish");
    check_left_alone(Launched(FIXTURE_CALLER_SHARED, "call_finish", ""));
  }
}

TEST_CASE("without line information, nothing is invented") {
  check_left_alone(Launched(FIXTURE_LAUNCHES_BARE, "launch_once", "_Z4oncev"));
}
