// The conditions of a rerun: the input once more, no traces of the first run, and an end for everything it starts.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "launch/changed_files.h"
#include "launch/input.h"
#include "launch/process.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;
using base::FileDescriptor;
using launch::Input;
using test::ScratchFolder;
namespace fs = std::filesystem;

namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    from = base::FileDescriptor(ends[0]);
    to = base::FileDescriptor(ends[1]);
  }
  void write(std::string_view text) const {
    REQUIRE(::write(to.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void close() { to = base::FileDescriptor(); }
  base::FileDescriptor from, to;
};

std::string all_of(const base::FileDescriptor& file) {
  std::string text;
  std::array<char, 64> piece{};
  for (ssize_t got = 0; (got = ::read(file.get(), piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Later than the test runs: what the system notes by itself is before it.
constexpr const char* kManifest = R"({"schema": "cudadiag.session/1"})";
constexpr std::int64_t kNow = 4'000'000'000'000'000'000;

// Written one second after kNow, or before it.
void date(const fs::path& path, bool after) {
  const std::int64_t seconds = kNow / 1'000'000'000 + (after ? 1 : -1);
  const std::array<timespec, 2> times = {timespec{seconds, 0}, timespec{seconds, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
}

launch::Target spawn(const std::string& script, const launch::SpawnOptions& options) {
  auto spawned = launch::Target::spawn({"sh", "-c", script}, {"PATH=/usr/bin:/bin"}, options);
  REQUIRE(std::holds_alternative<launch::Target>(spawned));
  return std::get<launch::Target>(std::move(spawned));
}

// "NAME=VALUE" lines that a script left.
std::string value(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  }
  return "";
}

}  // namespace

TEST_CASE("what was in a closed pipe is given again, as often as it is asked for") {
  Pipe pipe;
  pipe.write("words");
  pipe.close();
  const Input input(pipe.from.get());
  CHECK(all_of(pipe.from) == "words");
  CHECK(input.obstacle() == "");
  for (int rerun = 0; rerun < 2; ++rerun) CHECK(all_of(input.again()) == "words");
}

TEST_CASE("a pipe with a writer, or that was filled later, cannot be given again") {
  Pipe open;
  open.write("words");
  CHECK(Input(open.from.get()).obstacle() == "its input is a pipe that cannot be read again");
  Pipe later;
  const Input input(later.from.get());
  // Whatever was read since has left no trace.
  CHECK(input.obstacle() == "its input is a pipe that somebody could write to");
  CHECK(all_of(input.again()) == "");
  later.write("words");
  CHECK(input.obstacle() == "its input is a pipe that cannot be read again");
}

TEST_CASE("a large pipe is given again whole") {
  Pipe pipe;
  REQUIRE(::fcntl(pipe.to.get(), F_SETPIPE_SZ, 1 << 18) >= 1 << 18);
  // Many small writes fill a pipe before its bytes do.
  std::string text;
  for (int line = 0; line < 20; ++line) {
    pipe.write(std::string(4096, static_cast<char>('a' + line)));
    text += std::string(4096, static_cast<char>('a' + line));
  }
  pipe.close();
  CHECK(all_of(Input(pipe.from.get()).again()) == text);
}

TEST_CASE("a file is given again from where it stood, the reader of the first run left where he is") {
  const ScratchFolder scratch;
  const base::FileDescriptor file(::open(scratch.file("input", "first second").c_str(), O_RDONLY | O_CLOEXEC));
  ::lseek(file.get(), 6, SEEK_SET);
  const Input input(file.get());
  CHECK(all_of(file) == "second");
  CHECK(input.obstacle() == "");
  for (int rerun = 0; rerun < 2; ++rerun) CHECK(all_of(input.again()) == "second");
  CHECK(::lseek(file.get(), 0, SEEK_CUR) == 12);
}

TEST_CASE("no input at all and a device are no obstacle, a terminal is") {
  CHECK(Input(-1).obstacle() == "");
  CHECK(all_of(Input(-1).again()) == "");
  const base::FileDescriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK(Input(null.get()).obstacle() == "");
  CHECK(all_of(Input(null.get()).again()) == "");
  const base::FileDescriptor terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(terminal.valid());
  CHECK(Input(terminal.get()).obstacle() == "its input is a terminal");
}

TEST_CASE("a file written since then is found, at any depth") {
  const ScratchFolder scratch;
  launch::FileSearch search;
  search.folder = scratch.path();
  search.before.file_time = kNow;
  date(scratch.file("old"), false);
  CHECK_FALSE(launch::changed_files(search).first);
  const auto changed = scratch.file("a/b/new");
  date(changed, true);
  CHECK(launch::changed_files(search).first == fs::canonical(changed));
  search.except = {scratch.path() / "a"};
  CHECK_FALSE(launch::changed_files(search).first);
}

TEST_CASE("what is written as soon as the time was taken is found, what was written just before is not") {
  const ScratchFolder scratch;
  launch::FileSearch search;
  search.folder = scratch.path();
  // The clock that files are stamped with ticks every few milliseconds.
  for (int i = 0; i < 20; ++i) {
    const auto file = scratch.file("file");
    search.before = launch::look_at_folder(search.folder);
    CHECK_FALSE(launch::changed_files(search).first);
    scratch.file("file", "more");
    CHECK(launch::changed_files(search).first == fs::canonical(file));
  }
}

TEST_CASE("what was made, moved or removed is found") {
  const ScratchFolder scratch;
  launch::FileSearch search;
  search.folder = fs::canonical(scratch.path());
  scratch.file("old/file");
  const auto top = scratch.file("top");
  const auto since_now = [&] { search.before = launch::look_at_folder(search.folder); };
  since_now();
  fs::create_directory(scratch.path() / "old/new");
  CHECK(launch::changed_files(search).first == search.folder / "old/new");
  since_now();
  fs::create_symlink("nowhere", scratch.path() / "old/link");
  CHECK(launch::changed_files(search).first == search.folder / "old/link");
  since_now();
  CHECK_FALSE(launch::changed_files(search).first);
  fs::rename(scratch.path() / "old/file", scratch.path() / "old/moved");
  CHECK(launch::changed_files(search).first == search.folder / "old/moved");
  since_now();
  fs::remove(top);
  CHECK(launch::changed_files(search).first == search.folder / "top");
}

TEST_CASE(
    "what was made and removed again is no trace, nor what is left out, nor what others remove from a shared folder") {
  const ScratchFolder scratch;
  launch::FileSearch search;
  search.folder = scratch.path();
  search.except = {scratch.path() / "report.json"};
  const auto others = scratch.file("others");
  scratch.file("20261121-101500-4700/manifest.json", kManifest);
  search.before = launch::look_at_folder(search.folder);
  fs::remove(scratch.file(".main.py.swp"));
  for (const char* made : {"__pycache__/x.pyc", "report.json"}) scratch.file(made);
  scratch.file("20261121-101500-4711/manifest.json", kManifest);
  fs::create_directory(scratch.path() / ".benchmarks");  // by a plugin of pytest, whatever is tested
  fs::remove_all(scratch.path() / "20261121-101500-4700");
  CHECK_FALSE(launch::changed_files(search).first);
  REQUIRE(::chmod(scratch.path().c_str(), 01777) == 0);
  fs::remove(others);
  CHECK_FALSE(launch::changed_files(search).first);
  REQUIRE(::chmod(scratch.path().c_str(), 0700) == 0);
  CHECK(launch::changed_files(search).first == fs::canonical(scratch.path()) / "others");
}

TEST_CASE("exceptions hold however they are spelled") {
  const ScratchFolder scratch;
  launch::FileSearch search;
  search.folder = scratch.path();
  search.before.file_time = kNow;
  date(scratch.file("kept/session/manifest.json"), true);
  fs::create_directory_symlink("kept", scratch.path() / "link");
  for (const char* spelled : {"kept/session", "./kept/../kept/session", "link/session"}) {
    search.except = {scratch.path() / spelled};
    CHECK_FALSE(launch::changed_files(search).first);
  }
  search.except = {scratch.path() / "kept/sess"};
  CHECK(launch::changed_files(search).first);
}

TEST_CASE("caches, links and our own output are no traces, and a large folder is seen in part") {
  const ScratchFolder scratch;
  launch::FileSearch search;
  search.folder = scratch.path();
  search.before.file_time = kNow;
  date(scratch.file("__pycache__/x.pyc"), true);
  date(scratch.file(".git/index"), true);
  fs::create_symlink("nowhere", scratch.path() / "link");
  CHECK_FALSE(launch::changed_files(search).first);
  const auto own = scratch.file("log");
  date(own, true);
  CHECK(launch::changed_files(search).first);
  const base::FileDescriptor before(::dup(STDIN_FILENO));
  const base::FileDescriptor log(::open(own.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::dup2(log.get(), STDIN_FILENO) == STDIN_FILENO);
  CHECK_FALSE(launch::changed_files(search).first);
  CHECK(launch::changed_files(search).whole);
  ::dup2(before.get(), STDIN_FILENO);
  search.most_entries = 0;
  CHECK_FALSE(launch::changed_files(search).first);
  CHECK_FALSE(launch::changed_files(search).whole);
  search.folder = "/nowhere";
  CHECK_FALSE(launch::changed_files(search).whole);
}

TEST_CASE("a copy that was given the time of its original is found") {
  const ScratchFolder scratch;
  const auto copy = scratch.file("copy");
  date(copy, false);
  struct stat status {};
  REQUIRE(::stat(copy.c_str(), &status) == 0);
  launch::FileSearch search;
  search.folder = scratch.path();
  search.before.file_time = status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec;
  CHECK(launch::changed_files(search).first == fs::canonical(copy));
}

TEST_CASE("sessions are no traces, wherever they lie") {
  const ScratchFolder scratch;
  launch::FileSearch search;
  search.folder = scratch.path();
  search.before.file_time = kNow;
  date(scratch.file("out/1/20261121-101500-4711.incomplete/record/1.area"), true);
  date(scratch.file("out/1/20261121-101500-4712/manifest.json", kManifest), true);
  CHECK_FALSE(launch::changed_files(search).first);
  const auto other = scratch.file("out/1/20261121-101500-4713/result");
  date(other, true);
  CHECK(launch::changed_files(search).first == fs::canonical(other));
}

TEST_CASE("a target apart has its own group, folder, input and output, and leaves no core") {
  const ScratchFolder scratch;
  fs::create_directory(scratch.path() / "work");
  const base::FileDescriptor input(::open(scratch.file("input", "words").c_str(), O_RDONLY | O_CLOEXEC));
  const base::FileDescriptor output(::open(scratch.file("output").c_str(), O_WRONLY | O_CLOEXEC));
  launch::SignalRelay relay;
  auto target = spawn(
      "read -r line; echo got=$line; echo in=$(pwd); echo core=$(ulimit -c); echo to=err >&2; "
      "echo group=$(cut -d' ' -f5 /proc/self/stat)",
      {true, input.get(), output.get(), (scratch.path() / "work").string()});
  while (!target.reap()) relay.wait(1000);
  const auto said = scratch.path() / "output";
  CHECK(value(said, "got") == "words");
  CHECK(value(said, "in") == fs::canonical(scratch.path() / "work"));
  CHECK(value(said, "core") == "0");
  CHECK(value(said, "to") == "err");
  CHECK(value(said, "group") == std::to_string(target.pid()));
}

TEST_CASE("a path is seen from the folder in which the target starts") {
  const ScratchFolder scratch;
  fs::permissions(scratch.file("tool", "#!/bin/sh\necho $0 >said\n"), fs::perms::owner_all);
  launch::SignalRelay relay;
  auto spawned = launch::Target::spawn({"./tool"}, {"PATH=/usr/bin:/bin"}, {true, -1, -1, scratch.path().string()});
  REQUIRE(std::holds_alternative<launch::Target>(spawned));
  auto& target = std::get<launch::Target>(spawned);
  while (!target.reap()) relay.wait(1000);
  CHECK(target.end().code == 0);
  CHECK(fs::exists(scratch.path() / "said"));
  spawned = launch::Target::spawn({"./tool"}, {}, {true, -1, -1, "/"});
  CHECK(std::get<launch::SpawnFailure>(spawned).exit_status == 127);
}

TEST_CASE("everything that a target started is ended, in other sessions too, and nothing else") {
  const ScratchFolder scratch;
  launch::SignalRelay relay;
  // A process that an earlier target left running.
  Pipe started;
  auto earlier = spawn("sleep 1000 & echo", {true, -1, started.to.get(), ""});
  while (!earlier.reap()) relay.wait(1000);
  Pipe ready;
  auto target =
      spawn("setsid sh -c 'trap \"\" TERM; echo; sleep 1000; :' & sleep 1000 & wait", {true, -1, ready.to.get(), ""});
  char byte = 0;
  REQUIRE(::read(ready.from.get(), &byte, 1) == 1);
  CHECK(target.signal_all(0));
  while (target.signal_all(SIGKILL)) {
    target.reap();
    relay.wait(10);
    relay.take_signals();
  }
  CHECK(target.reap());
  CHECK(target.end().signal == SIGKILL);
  // Nobody holds the other end any more.
  ready.close();
  CHECK(all_of(ready.from).empty());
  int status = 0;
  CHECK(::waitpid(-1, &status, WNOHANG) == 0);  // the earlier one's
  started.close();
  CHECK(earlier.signal_all(SIGKILL));
  CHECK(all_of(started.from) == "\n");
  while (::waitpid(-1, &status, 0) > 0) {
  }
}
