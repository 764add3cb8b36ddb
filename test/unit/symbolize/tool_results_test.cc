#include "symbolize/tool_results.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "session/session_folders.h"

using namespace cudadiag;
using namespace cudadiag::symbolize;
namespace fs = std::filesystem;

namespace {

using Dim3 = std::array<std::uint32_t, 3>;

constexpr const char* kAssertionLine =
    "/tmp/cases/cases.cu:17: assert_positive: block: [0,0,0], thread: [0,0,0] Assertion `p[threadIdx.x] > 0` failed.\n";

// A session on disk with a record pass. Tests add the reruns.
class Recorded {
 public:
  Recorded() {
    session.folder = fs::temp_directory_path() / ("device-results-" + std::to_string(::getpid()));
    add("record", "record");
  }
  ~Recorded() { fs::remove_all(session.folder); }

  session::Pass& add(const char* name, const char* folder, const std::string& output = "") {
    fs::create_directories(session.folder / folder);
    if (!output.empty()) std::ofstream(session.folder / folder / "output.txt") << output;
    session::Pass pass;
    pass.kind = *session::pass_kind(name);
    pass.folder = folder;
    session.manifest.passes.push_back(pass);
    return session.manifest.passes.back();
  }

  void add_device(const char* fixture, const char* dump, const std::string& output = "") {
    add("device", "device", output).dump = dump;
    fs::copy_file(fs::path(TEST_DATA "/gpucore") / fixture, session.folder / "device" / dump);
  }

  session::Session session;
};

}  // namespace

TEST_CASE("a failed assertion has the dump's data and the program's text") {
  Recorded recorded;
  recorded.add("confirm", "confirm", "a.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `other` failed.\n");
  recorded.add_device("assert.nvcudmp", "642.gpucore", kAssertionLine);
  const ToolResults results = tool_results(recorded.session);
  CHECK(results.device_pass);
  CHECK(results.dump == (recorded.session.folder / "device/642.gpucore").string());
  CHECK(results.unreadable == "");
  REQUIRE(results.failure);
  const evidence::DumpedFailure& failure = *results.failure;
  CHECK(failure.exception_name == "Warp Assert");
  CHECK(failure.asserted());
  CHECK(failure.place.function == "_Z15assert_positivePKi");
  CHECK(failure.place.offset == 0x180);
  REQUIRE(failure.place.lines.size() == 1);
  CHECK(failure.place.lines[0].file == "/tmp/cases/cases.cu");
  CHECK(failure.place.lines[0].line == 17);
  CHECK(failure.place.lines[0].function == "_Z15assert_positivePKi");
  CHECK(failure.block == Dim3{0, 0, 0});
  CHECK(failure.thread == Dim3{0, 0, 0});
  CHECK(failure.threads == 64u);
  CHECK(failure.blocks == 2u);
  CHECK(failure.kernel == "_Z15assert_positivePKi");
  CHECK(failure.grid == Dim3{2, 1, 1});
  CHECK(failure.block_dim == Dim3{32, 1, 1});
  CHECK(failure.grid_id == 3u);
  REQUIRE(results.printed.size() == 2);
  CHECK(results.printed[0].pass == "device");
  REQUIRE(results.printed[0].assertions.size() == 1);
  CHECK(results.printed[0].assertions[0].condition == "p[threadIdx.x] > 0");
  CHECK(results.printed[1].pass == "confirm");
}

TEST_CASE("a warp that has exited leaves no block, thread or grid") {
  Recorded recorded;
  recorded.add_device("far.nvcudmp.gz", "core.gz");
  const ToolResults results = tool_results(recorded.session);
  REQUIRE(results.failure);
  CHECK_FALSE(results.failure->asserted());
  CHECK(results.failure->place.lines.at(0).line == 15);
  CHECK_FALSE(results.failure->block);
  CHECK_FALSE(results.failure->thread);
  CHECK_FALSE(results.failure->threads);
  CHECK_FALSE(results.failure->grid);
  CHECK(results.failure->kernel == "_Z9far_storePi");
}

TEST_CASE("no rerun, no dump, and an unreadable dump") {
  Recorded recorded;
  CHECK_FALSE(tool_results(recorded.session).device_pass);
  recorded.add("device", "device").cut_short = session::CutShort::time_limit;
  ToolResults results = tool_results(recorded.session);
  CHECK(results.device_pass);
  CHECK(results.dump == "");
  CHECK(results.cut_short == "time limit");
  CHECK_FALSE(results.failure);
  session::Pass& pass = recorded.session.manifest.passes.back();
  pass.dump = "gone.gpucore";
  CHECK(tool_results(recorded.session).unreadable.find("gone.gpucore cannot be read") != std::string::npos);
  pass.dump = "7.gpucore";
  std::ofstream(recorded.session.folder / "device/7.gpucore") << "no dump";
  CHECK(tool_results(recorded.session).unreadable.find("is not a GPU core dump") != std::string::npos);
}

TEST_CASE("a manifest cannot lead out of its session") {
  Recorded recorded;
  recorded.add_device("assert.nvcudmp", "642.gpucore", kAssertionLine);
  session::Pass& pass = recorded.session.manifest.passes.back();
  for (const char* dump : {"../device/642.gpucore", "..", "/etc/passwd"}) {
    pass.dump = dump;
    const ToolResults results = tool_results(recorded.session);
    CHECK(results.dump == "");
    CHECK_FALSE(results.failure);
    CHECK(results.printed.size() == 1);
  }
  pass.folder = "confirm/../device";
  CHECK(tool_results(recorded.session).printed.empty());
}

TEST_CASE("assertions come from an earlier rerun if the device pass printed none") {
  Recorded recorded;
  recorded.add("confirm", "confirm", kAssertionLine);
  recorded.add_device("assert.nvcudmp", "642.gpucore", "nothing\n");
  const ToolResults results = tool_results(recorded.session);
  REQUIRE(results.printed.size() == 1);
  CHECK(results.printed[0].pass == "confirm");
}

TEST_CASE("a session that is still being written is read in its current folder") {
  Recorded recorded;
  recorded.add_device("load.nvcudmp.gz", "core.gz", kAssertionLine);
  const fs::path folder = recorded.session.folder;
  std::ofstream(folder / "device" / session::kCodeFile) << "LDG.E R0, [R2.64]";
  const std::string whole = folder.string() + session::kIncomplete;
  fs::rename(folder, whole);
  const ToolResults results = tool_results(recorded.session);
  fs::rename(whole, folder);
  REQUIRE(results.failure);
  CHECK(results.code == "LDG.E R0, [R2.64]");
  CHECK(results.printed.size() == 1);
}

TEST_CASE("a report names the path that a core dump has after the run") {
  Recorded recorded;
  recorded.add("device", "device").dump = "7.gpucore";
  const fs::path folder = recorded.session.folder;
  std::ofstream(folder / "device/7.gpucore") << "no dump";
  const std::string whole = folder.string() + session::kIncomplete, dump = (folder / "device/7.gpucore").string();
  fs::rename(folder, whole);
  ToolResults results = tool_results(recorded.session);
  CHECK(results.unreadable == dump + " is not a GPU core dump");
  CHECK(results.dump == dump);
  fs::remove(fs::path(whole) / "device/7.gpucore");
  results = tool_results(recorded.session);
  fs::rename(whole, folder);
  CHECK(results.unreadable == dump + " cannot be read: No such file or directory");
}
