#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "symbolize/source_file.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;
using Names = std::vector<std::string>;

namespace {

std::string written_at(const std::filesystem::path& file, std::time_t seconds) {
  const timespec times[] = {{seconds, 0}, {seconds, 0}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  return file;
}

// Builds a process that loaded `module`. It started at second 1000 and made its last record 100 seconds later.
session::Process process_with(const std::string& module) {
  session::Process process;
  process.record.start_realtime = 1'000'000'000'000;
  process.record.clock_start = 1;
  process.record.clock_last = 101;
  process.record.seconds_per_tick = 1;
  process.record.modules.emplace_back().path = module;
  return process;
}

}  // namespace

TEST_CASE("files written after the process that loaded them are listed, with the process's names for them") {
  const test::ScratchFolder folder;
  session::Session session;
  session.processes.push_back(process_with(written_at(folder.file("older.so"), 1099)));
  auto& record = session.processes[0].record;
  record.modules.emplace_back().path = written_at(folder.file("newer.so"), 1101);
  record.modules.emplace_back().path = (folder.path() / "gone.so").string();
  record.properties["cwd"] = folder.path().string();
  written_at(folder.file("train.py"), 1101);
  record.codes.emplace_back().file = "train.py";
  record.codes.emplace_back().file = "<string>";
  CHECK(symbolize::rewritten_files(session) == Names{(folder.path() / "newer.so").string(), "train.py"});
}

TEST_CASE("a file written after the failure is listed, although the process continued") {
  const test::ScratchFolder folder;
  session::Session session;
  session.processes.push_back(process_with(written_at(folder.file("library.so"), 1050)));
  CHECK(symbolize::rewritten_files(session).empty());
  session.processes[0].record.frozen_ticks = 31;
  CHECK(symbolize::rewritten_files(session) == Names{(folder.path() / "library.so").string()});
}

TEST_CASE("a file that the command itself wrote for a later process is not listed") {
  const test::ScratchFolder folder;
  session::Session session;
  const std::string program = written_at(folder.file("program"), 1150);
  session.processes.push_back(process_with(program));
  session.processes.push_back(process_with(program));
  session.processes[1].record.start_realtime = 1'200'000'000'000;
  CHECK(symbolize::rewritten_files(session).empty());
}
