#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "base/files.h"
#include "launch/arena.h"
#include "launch/environment.h"
#include "launch/gpu_usage.h"
#include "launch/libraries.h"
#include "launch/process_tree.h"
#include "launch/signals.h"
#include "launch/spawn.h"
#include "unit/scratch_folder.h"
#include "wire/area.h"

using namespace cudadiag;
namespace fs = std::filesystem;
using test::ScratchFolder;

namespace {

// Sets an environment variable for the duration of a test.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~Setting() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

launch::Arena new_arena() {
  auto arena = launch::Arena::create();
  REQUIRE(std::holds_alternative<launch::Arena>(arena));
  return std::move(std::get<launch::Arena>(arena));
}

// Opens the arena by its path, as a recorder in another process does.
class RecorderSide {
 public:
  explicit RecorderSide(const std::string& path) : file_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    REQUIRE(file_.valid());
    header_ = static_cast<std::byte*>(
        ::mmap(nullptr, wire::arena::kHeaderSize, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0));
    REQUIRE(header_ != MAP_FAILED);
  }
  ~RecorderSide() { ::munmap(header_, wire::arena::kHeaderSize); }
  std::byte* header() { return header_; }
  int file() const { return file_.get(); }

 private:
  base::FileDescriptor file_;
  std::byte* header_ = nullptr;
};

bool sets(const std::vector<std::string>& environment, const std::string& entry) {
  return std::find(environment.begin(), environment.end(), entry) != environment.end();
}

}  // namespace

TEST_CASE("a process claims an area of the arena through the arena's path") {
  const auto arena = new_arena();
  RecorderSide recorder(arena.path());
  CHECK(wire::load(recorder.header(), wire::arena::kMagic) == wire::arena::kMagicValue);
  CHECK(wire::load(recorder.header(), wire::arena::kAreas) == wire::arena::kAreaCount);
  CHECK(wire::load(recorder.header(), wire::arena::kAreaBytes) == wire::area::kAreaSize);
  CHECK(arena.claimed() == 0);
  wire::atomic(recorder.header(), wire::arena::kClaimed).fetch_add(3);
  CHECK(arena.claimed() == 3);
  wire::atomic(recorder.header(), wire::arena::kClaimed).fetch_add(wire::arena::kAreaCount);
  CHECK(arena.claimed() == wire::arena::kAreaCount);
  CHECK(arena.turned_away() == 3);
}

TEST_CASE("an arena counts processes that could not be recorded, and stores the reason of one of them") {
  const auto arena = new_arena();
  CHECK(arena.unrecorded().processes == 0);
  RecorderSide recorder(arena.path());
  wire::atomic(recorder.header(), wire::arena::kUnrecorded).fetch_add(2);
  wire::store(recorder.header(), wire::arena::kUnrecordedWhy, (3u << 16) + EFBIG);
  CHECK(arena.unrecorded().processes == 2);
  CHECK(arena.unrecorded().what == wire::unrecorded::What::file);
  CHECK(arena.unrecorded().error == EFBIG);
}

TEST_CASE("an arena takes no memory for what was never written, and cannot be shrunk") {
  const auto arena = new_arena();
  const RecorderSide recorder(arena.path());
  struct stat status {};
  REQUIRE(::fstat(arena.file(), &status) == 0);
  CHECK(status.st_size ==
        static_cast<off_t>(wire::arena::kHeaderSize + wire::arena::kAreaCount * wire::area::kAreaSize));
  CHECK(status.st_blocks * 512 <= 2 * ::sysconf(_SC_PAGESIZE));
  CHECK(::ftruncate(recorder.file(), 0) != 0);
  CHECK((::fcntl(arena.file(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a live area shows what its process writes") {
  const auto arena = new_arena();
  const RecorderSide recorder(arena.path());
  const launch::LiveArea area(arena, 2);
  REQUIRE(area.bytes().size() == wire::area::kAreaSize);
  const std::uint64_t magic = wire::area::kMagicValue;
  REQUIRE(::pwrite(recorder.file(), &magic, sizeof magic, static_cast<off_t>(arena.begin(2))) == sizeof magic);
  CHECK(wire::load(area.bytes().data(), wire::area::kMagic) == magic);
}

TEST_CASE("a waiting thread is woken by an event") {
  auto arena = new_arena();
  const std::uint32_t seen = arena.events();
  CHECK(arena.wait_for_event(seen, 0) == seen);
  std::thread recorder([&] { arena.wake(); });
  std::uint32_t now = seen;
  while (now == seen) now = arena.wait_for_event(seen, 60'000);
  recorder.join();
  CHECK(now == seen + 1);
}

TEST_CASE("commands are found as a shell would find them") {
  const ScratchFolder scratch;
  scratch.file("first/tool");
  const auto tool = scratch.file("second/tool");
  fs::permissions(tool, fs::perms::owner_all);
  const Setting path("PATH", (scratch.path() / "first").string().append(":").append(scratch.path() / "second").c_str());
  CHECK(launch::find_command("tool").path == tool);
  CHECK(launch::find_command("other").error == ENOENT);
  CHECK(launch::find_command(scratch.path() / "first/tool").error == EACCES);
  CHECK(launch::find_command(scratch.path()).error == EACCES);
  fs::permissions(tool, fs::perms::owner_read);
  CHECK(launch::find_command("tool").error == EACCES);
}

TEST_CASE("a virtual environment's python brings the CUPTI of its wheel, but paths given by the user come first") {
  const ScratchFolder scratch;
  const auto python = scratch.file("venv/bin/python");
  fs::permissions(python, fs::perms::owner_all);
  const auto wheel = scratch.file("venv/lib/python3.12/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12");
  const auto newer = scratch.file("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13");
  const auto named = scratch.file("mine.so");
  const Setting variable("CUDADIAG_CUPTI", (named.string() + "::/nowhere.so").c_str());
  const Setting libraries("LD_LIBRARY_PATH", nullptr);
  const Setting environment("VIRTUAL_ENV", nullptr);
  const auto found = launch::find_cupti({python.string(), "train.py"});
  REQUIRE(found.size() >= 3);
  CHECK(found.front() == named);
  CHECK(found[found.size() - 2] == newer);
  CHECK(found.back() == wheel);
}

TEST_CASE("packages are searched only in the folders of an interpreter, not of other programs") {
  const ScratchFolder scratch;
  const Setting environment("VIRTUAL_ENV", nullptr);
  const char* const tool = "triton/backends/nvidia/bin/nvdisasm";
  const auto file = scratch.file("lib/python3.99/site-packages/triton/backends/nvidia/bin/nvdisasm");
  const auto program = scratch.file("build/solver"), script = scratch.file("bin/torchrun");
  for (const auto& each : {program, script}) fs::permissions(each, fs::perms::owner_all);
  CHECK(launch::files_in_python_packages({program.string()}, tool).empty());
  CHECK(launch::files_in_python_packages({script.string()}, tool).empty());
  fs::permissions(scratch.file("bin/python3"), fs::perms::owner_all);
  CHECK(launch::files_in_python_packages({script.string()}, tool) == std::vector<fs::path>{file});
  CHECK(launch::files_in_python_packages({program.string()}, tool).empty());
  fs::permissions(scratch.path() / "lib/python3.99/site-packages", fs::perms::others_write, fs::perm_options::add);
  CHECK(launch::files_in_python_packages({script.string()}, tool).empty());
}

TEST_CASE("the target's environment contains what the recorder needs and keeps the rest") {
  const Setting outer("CUDADIAG_ARENA", "/proc/1/fd/9");
  const Setting other("CUDA_INJECTION64_PATH", "/opt/tool.so");
  const Setting kept("CUDADIAG_TEST_KEPT", "a=b");
  const auto variables = launch::recording_variables("/lib/record.so", {"", "/s/record", "record", ""},
                                                     {"/a.so", "/b.so"}, {wire::Markers::dense, true, false});
  const auto environment = launch::environment_with(variables);
  CHECK(sets(environment, "CUDA_INJECTION64_PATH=/lib/record.so"));
  CHECK(sets(environment, "CUDADIAG_SESSION=/s/record"));
  CHECK(sets(environment, "CUDADIAG_CUPTI=/a.so:/b.so"));
  CHECK(sets(environment, "CUDADIAG_RECORD=markers=dense,python=on,native=off"));
  CHECK(sets(environment, "CUDADIAG_PASS=record"));
  CHECK(sets(environment, "CUDADIAG_TEST_KEPT=a=b"));
  CHECK_FALSE(sets(environment, "CUDA_INJECTION64_PATH=/opt/tool.so"));
  CHECK_FALSE(sets(environment, "CUDADIAG_ARENA=/proc/1/fd/9"));
}

TEST_CASE("the user's injection library is kept, except under a second recorder") {
  const Setting theirs("CUDA_INJECTION64_PATH", "/opt/tool.so");
  const auto variables_with = [](const wire::RecordOptions& options) {
    return launch::environment_with(
        launch::recording_variables("/lib/record.so", {"", "/s/record", "record", ""}, {}, options));
  };
  wire::RecordOptions once;
  once.once = true;
  CHECK(sets(variables_with({}), "CUDADIAG_EARLIER_INJECTION=/opt/tool.so"));
  CHECK(sets(variables_with(once), "CUDADIAG_EARLIER_INJECTION=/opt/tool.so"));
  CHECK(launch::dropped_injection("/lib/record.so").empty());

  const Setting ours("CUDA_INJECTION64_PATH", "/other/libcudadiag_record.so");
  CHECK_FALSE(sets(variables_with({}), "CUDADIAG_EARLIER_INJECTION=/other/libcudadiag_record.so"));
  CHECK_FALSE(sets(variables_with(once), "CUDADIAG_EARLIER_INJECTION=/other/libcudadiag_record.so"));
  CHECK(launch::dropped_injection("/lib/record.so").find("another copy") != std::string::npos);
}

TEST_CASE("the recorder is NCCL's profiler plugin, in front of the one that the user set") {
  const ScratchFolder scratch;
  const std::string file = (scratch.path() / "nccl.conf").string();
  const Setting settings("NCCL_CONF_FILE", file.c_str());
  const auto variables = [] { return launch::environment_with(launch::profiler_variables("/lib/record.so")); };
  SUBCASE("none is set") {
    CHECK(sets(variables(), "NCCL_PROFILER_PLUGIN=/lib/record.so"));
    CHECK_FALSE(sets(variables(), "CUDADIAG_NCCL_PROFILER="));
  }
  SUBCASE("by the environment, which comes before NCCL's settings") {
    std::ofstream(file) << "NCCL_PROFILER_PLUGIN=none\n";
    const Setting named("NCCL_PROFILER_PLUGIN", "inspector");
    CHECK(sets(variables(), "CUDADIAG_NCCL_PROFILER=inspector"));
    CHECK(sets(variables(), "NCCL_PROFILER_PLUGIN=/lib/record.so"));
  }
  SUBCASE("by NCCL's settings") {
    std::ofstream(file) << "# NCCL_PROFILER_PLUGIN=other\nNCCL_DEBUG=WARN\nNCCL_PROFILER_PLUGIN=inspector\r\n";
    CHECK(sets(variables(), "CUDADIAG_NCCL_PROFILER=inspector"));
  }
  SUBCASE("if it is turned off, it stays off") {
    const Setting off("NCCL_PROFILER_PLUGIN", "None");
    CHECK(launch::profiler_variables("/lib/record.so").empty());
  }
  SUBCASE("inside another cudadiag, it is still the user's own") {
    const Setting outer("NCCL_PROFILER_PLUGIN", "/opt/record.so");
    const Setting named("CUDADIAG_NCCL_PROFILER", "inspector");
    CHECK(sets(variables(), "CUDADIAG_NCCL_PROFILER=inspector"));
  }
}

TEST_CASE("a run for a core dump has no injection library") {
  const Setting theirs("CUDA_INJECTION64_PATH", "/opt/tool.so");
  const auto environment = launch::environment_without_injection({{"A", "b"}});
  CHECK(sets(environment, "A=b"));
  CHECK_FALSE(sets(environment, "CUDA_INJECTION64_PATH=/opt/tool.so"));
}

TEST_CASE("the recorder is taken from its variable's path, or the error mentions that path") {
  const ScratchFolder scratch;
  const auto file = scratch.file("record.so");
  {
    const Setting variable("CUDADIAG_RECORDER", file.c_str());
    CHECK(std::get<fs::path>(launch::find_recorder()) == file);
  }
  const Setting variable("CUDADIAG_RECORDER", "/nowhere/record.so");
  CHECK(std::get<base::Error>(launch::find_recorder()).what.find("/nowhere/record.so") != std::string::npos);
}

TEST_CASE("a target's exit status or signal is reported unchanged") {
  launch::SignalRelay relay;
  const auto end_of = [&](const std::string& script) {
    auto spawned = launch::Target::spawn({"sh", "-c", script}, {"PATH=/usr/bin:/bin"});
    REQUIRE(std::holds_alternative<launch::Target>(spawned));
    auto& target = std::get<launch::Target>(spawned);
    while (!target.reap()) relay.wait(1000);
    CHECK(launch::end_of_child(target.pid()) != nullptr);
    return target.end();
  };
  CHECK(end_of("exit 7").code == 7);
  CHECK(end_of("kill -KILL $$").signal == 9);
}

TEST_CASE("a tool that runs while the target ends leaves the target's exit status") {
  launch::SignalRelay relay;
  const auto spawn = [](const std::string& script) {
    auto spawned = launch::Target::spawn({"sh", "-c", script}, {"PATH=/usr/bin:/bin"});
    REQUIRE(std::holds_alternative<launch::Target>(spawned));
    return std::move(std::get<launch::Target>(spawned));
  };
  launch::Target target = spawn("exit 7");
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(target.pid()), &ended, WEXITED | WNOWAIT) == 0);
  launch::Target tool = spawn("exit 0");
  while (!tool.reap()) relay.wait(1000);
  CHECK(tool.end().code == 0);
  while (!target.reap()) relay.wait(1000);
  CHECK(target.end().code == 7);
}

TEST_CASE("an adopted process with the target's pid leaves the target's exit status") {
  launch::SignalRelay relay;
  auto spawned = launch::Target::spawn({"sh", "-c", "exit 7"}, {"PATH=/usr/bin:/bin"});
  REQUIRE(std::holds_alternative<launch::Target>(spawned));
  auto& target = std::get<launch::Target>(spawned);
  while (!target.reap()) relay.wait(1000);
  pid_t same = target.pid();
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<std::uintptr_t>(&same);
  arguments.set_tid_size = 1;
  const long child = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (child == 0) ::_exit(55);
  if (child < 0) {
    MESSAGE("skipped: this process may not choose a pid: " << std::strerror(errno));
    return;
  }
  while (launch::end_of_child(same)->code != 55) {
    relay.wait(1000);
    target.reap();
  }
  CHECK(target.end().code == 7);
}

TEST_CASE("a command that cannot be started gives the exit statuses of a shell") {
  const ScratchFolder scratch;
  const auto script = scratch.file("script", "#!/nowhere/interpreter\n");
  fs::permissions(script, fs::perms::owner_all);
  const auto status_of = [](const std::string& command) {
    const auto spawned = launch::Target::spawn({command}, {});
    REQUIRE(std::holds_alternative<launch::SpawnFailure>(spawned));
    return std::get<launch::SpawnFailure>(spawned).exit_status;
  };
  CHECK(status_of("no-such-command-anywhere") == 127);
  CHECK(status_of(script) == 127);
  CHECK(status_of(scratch.file("plain")) == 126);
}

namespace {

// If true, this program cannot create threads.
bool no_thread_can_be_made = false;

// If not 0, the child receives this signal between the fork and the exec of a target.
int signal_of_the_child = 0;

std::string blocked_signals_of(const char* status_file) {
  std::ifstream file(status_file);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("SigBlk:")) return line.substr(8);
  }
  return "";
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return no_thread_can_be_made ? EAGAIN : real(thread, attributes, start, argument);
}

TEST_CASE("freezes are noticed even if the thread that waits for them cannot be created") {
  auto arena = new_arena();
  launch::SignalRelay relay;
  no_thread_can_be_made = true;
  launch::Watcher watcher(arena, relay);
  no_thread_can_be_made = false;
  CHECK_FALSE(watcher.take_freeze());
  RecorderSide recorder(arena.path());
  wire::atomic(recorder.header(), wire::arena::kEvents).fetch_add(1);
  CHECK(watcher.take_freeze());
  CHECK_FALSE(watcher.take_freeze());
}

TEST_CASE("signals that the parent had blocked are blocked only in the target") {
  const ScratchFolder scratch;
  const std::string told = scratch.path() / "status";
  sigset_t some, before;
  ::sigemptyset(&some);
  for (const int signal : {SIGCHLD, SIGTERM, SIGWINCH}) ::sigaddset(&some, signal);
  ::pthread_sigmask(SIG_BLOCK, &some, &before);
  const std::string wanted = blocked_signals_of("/proc/thread-self/status");
  {
    launch::SignalRelay relay;
    sigset_t now;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
    CHECK_FALSE(::sigismember(&now, SIGCHLD));
    CHECK_FALSE(::sigismember(&now, SIGTERM));
    CHECK(::sigismember(&now, SIGWINCH));
    auto spawned = launch::Target::spawn({"cp", "/proc/self/status", told}, {"PATH=/usr/bin:/bin"});
    auto& target = std::get<launch::Target>(spawned);
    while (!target.reap()) relay.wait(1000);
  }
  CHECK(blocked_signals_of(told.c_str()) == wanted);
  CHECK(blocked_signals_of("/proc/thread-self/status") == wanted);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("a rerun leaves no core dump, and no report of the machine's crash handler") {
  const ScratchFolder scratch;
  const fs::path told = scratch.path() / "limits";
  launch::SpawnOptions apart;
  apart.apart = true;
  const auto started = launch::start_process({"/bin/cp", "/proc/self/limits", told}, {}, apart);
  REQUIRE(launch::succeeds(std::get<pid_t>(started)));
  // The kernel starts the handler with a limit of 0, but not with a limit of 1.
  CHECK(base::read_start(told, 4096).find("Max core file size        1 ") != std::string::npos);
}

TEST_CASE("a signal that arrives before the target is executed reaches the target") {
  ::pthread_atfork(nullptr, nullptr, [] {
    if (signal_of_the_child != 0) ::raise(std::exchange(signal_of_the_child, 0));
  });
  launch::SignalRelay relay;
  signal_of_the_child = SIGUSR1;
  auto spawned = launch::Target::spawn({"true"}, {"PATH=/usr/bin:/bin"});
  signal_of_the_child = 0;
  REQUIRE(std::holds_alternative<launch::Target>(spawned));
  auto& target = std::get<launch::Target>(spawned);
  while (!target.reap()) relay.wait(1000);
  CHECK(target.end().signal == SIGUSR1);
}

namespace {

// Opens a socket at `path`, as the MPS daemon does.
base::FileDescriptor listening_socket(const fs::path& path) {
  base::FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.native().size() < sizeof address.sun_path);
  path.native().copy(address.sun_path, path.native().size());
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(socket.get(), 1) == 0);
  return socket;
}

bool has_connection(const base::FileDescriptor& socket) {
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  return base::FileDescriptor(::accept(socket.get(), nullptr, nullptr)).valid();
}

}  // namespace

TEST_CASE("MPS may be in use if a daemon listens in its folder, but not if a daemon only left its files there") {
  const ScratchFolder scratch;
  const Setting folder("CUDA_MPS_PIPE_DIRECTORY", scratch.path().c_str());
  CHECK(launch::mps_folder() == scratch.path());
  CHECK_FALSE(launch::may_use_mps());
  const fs::path control = scratch.path() / "control";
  SUBCASE("socket") {
    auto daemon = listening_socket(control);
    CHECK(launch::may_use_mps());
    CHECK_FALSE(has_connection(daemon));  // the daemon notices nothing
    daemon = base::FileDescriptor();
    REQUIRE(fs::exists(control));
    CHECK_FALSE(launch::may_use_mps());
  }
  SUBCASE("pipe") {
    REQUIRE(::mkfifo(control.c_str(), 0600) == 0);
    CHECK_FALSE(launch::may_use_mps());
    const base::FileDescriptor daemon(::open(control.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    CHECK(launch::may_use_mps());
  }
  SUBCASE("another file") {
    scratch.file("control");
    CHECK_FALSE(launch::may_use_mps());
  }
}

TEST_CASE("MPS may be in use if the environment configures its clients") {
  const Setting folder("CUDA_MPS_PIPE_DIRECTORY", "/dev/null");
  CHECK_FALSE(launch::may_use_mps());
  const Setting logs("CUDA_MPS_LOG_DIRECTORY", "/var/log/nvidia-mps");
  CHECK_FALSE(launch::may_use_mps());
  const Setting share("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50");
  CHECK(launch::may_use_mps());
}
