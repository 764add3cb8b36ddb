// Tests how a rerun starts and ends. It gets the same input, sees no traces of the first run, and leaves no process
// behind.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "launch/signals.h"
#include "launch/spawn.h"
#include "launch/standard_descriptors.h"
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

launch::Target spawn(const std::string& script, const launch::SpawnOptions& options) {
  auto spawned = launch::Target::spawn({"sh", "-c", script}, {"PATH=/usr/bin:/bin"}, options);
  REQUIRE(std::holds_alternative<launch::Target>(spawned));
  return std::get<launch::Target>(std::move(spawned));
}

// Returns the value of NAME from the "NAME=VALUE" lines that a script wrote.
std::string value(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  }
  return "";
}

}  // namespace

TEST_CASE("the contents of a closed pipe can be given again any number of times") {
  Pipe pipe;
  pipe.write("words");
  pipe.close();
  const Input input(pipe.from.get());
  CHECK(all_of(pipe.from) == "words");
  CHECK(input.obstacle() == "");
  for (int rerun = 0; rerun < 2; ++rerun) CHECK(all_of(input.again()) == "words");
}

TEST_CASE("a pipe that has a writer, or that was filled later, cannot be given again") {
  Pipe open;
  open.write("words");
  CHECK(Input(open.from.get()).obstacle() == "its input is a pipe that cannot be read again");
  Pipe later;
  const Input input(later.from.get());
  // An empty pipe does not show whether data was written and read in the meantime.
  CHECK(input.obstacle() == "its input is a pipe that another process could write to");
  CHECK(all_of(input.again()) == "");
  later.write("words");
  CHECK(input.obstacle() == "its input is a pipe that cannot be read again");
}

TEST_CASE("a FIFO whose writer has gone may get another writer, so it cannot be given again") {
  const ScratchFolder scratch;
  const std::string name = scratch.path() / "fifo";
  REQUIRE(::mkfifo(name.c_str(), 0600) == 0);
  const FileDescriptor from(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  { const FileDescriptor first(::open(name.c_str(), O_WRONLY | O_CLOEXEC)); }
  CHECK(Input(from.get()).obstacle() == "its input is a pipe that cannot be read again");
  {
    const FileDescriptor second(::open(name.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::write(second.get(), "words", 5) == 5);
  }
  CHECK(Input(from.get()).obstacle() == "its input is a pipe that cannot be read again");
  Pipe anonymous;
  anonymous.close();
  CHECK(Input(anonymous.from.get()).obstacle() == "");
}

// Takes the pipe buffers that this user may have without privileges. Must run in a child without privileges.
bool gives_no_part_of_a_pipe() {
  constexpr std::size_t kText = 20'000;
  Pipe pipe;
  pipe.write(std::string(kText, 'x'));
  pipe.close();
  const Input input(pipe.from.get());
  const bool given = all_of(input.again()).size() == kText;
  std::vector<Pipe> others;
  while (others.empty() || ::fcntl(others.back().from.get(), F_GETPIPE_SZ) > static_cast<int>(kText)) {
    others.emplace_back();
  }
  return given && !input.again().valid();
}

TEST_CASE("a pipe is not given again in part") {
  rlimit files{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    files.rlim_cur = files.rlim_max;
    const bool ready = ::setrlimit(RLIMIT_NOFILE, &files) == 0 && (::geteuid() != 0 || ::setuid(kNobody) == 0);
    ::_exit(ready && gives_no_part_of_a_pipe() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a large pipe is given again completely") {
  Pipe pipe;
  REQUIRE(::fcntl(pipe.to.get(), F_SETPIPE_SZ, 1 << 18) >= 1 << 18);
  // After many small writes, a pipe may be full although it has room for more bytes.
  std::string text;
  for (int line = 0; line < 20; ++line) {
    pipe.write(std::string(4096, static_cast<char>('a' + line)));
    text += std::string(4096, static_cast<char>('a' + line));
  }
  pipe.close();
  CHECK(all_of(Input(pipe.from.get()).again()) == text);
}

TEST_CASE("a file is given again from its offset at the start, and the first run's reader keeps its own offset") {
  const ScratchFolder scratch;
  const base::FileDescriptor file(::open(scratch.file("input", "first second").c_str(), O_RDONLY | O_CLOEXEC));
  ::lseek(file.get(), 6, SEEK_SET);
  const Input input(file.get());
  CHECK(all_of(file) == "second");
  CHECK(input.obstacle() == "");
  for (int rerun = 0; rerun < 2; ++rerun) CHECK(all_of(input.again()) == "second");
  CHECK(::lseek(file.get(), 0, SEEK_CUR) == 12);
}

TEST_CASE("no input and a device are not obstacles, but a terminal is") {
  CHECK(Input(-1).obstacle() == "");
  CHECK(all_of(Input(-1).again()) == "");
  const base::FileDescriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK(Input(null.get()).obstacle() == "");
  CHECK(all_of(Input(null.get()).again()) == "");
  const base::FileDescriptor terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(terminal.valid());
  CHECK(Input(terminal.get()).obstacle() == "its input is a terminal");
}

TEST_CASE("a separate target has its own group, folder, input and output, and leaves no core file") {
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

TEST_CASE("a relative path is resolved in the folder in which the target starts") {
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
  // A target that exited but left a process running.
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
  // The pipe has no writer left, because the target's processes were killed.
  ready.close();
  CHECK(all_of(ready.from).empty());
  int status = 0;
  CHECK(::waitpid(-1, &status, WNOHANG) == 0);  // the process of the earlier target is still running
  started.close();
  CHECK(earlier.signal_all(SIGKILL));
  CHECK(all_of(started.from) == "\n");
  while (::waitpid(-1, &status, 0) > 0) {
  }
}
