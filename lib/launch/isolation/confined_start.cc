#include "launch/isolation/confined_start.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <new>
#include <thread>
#include <utility>

#include "base/text.h"
#include "launch/isolation/call_rules.h"
#include "launch/process.h"
#include "wire/names/environment.h"

namespace cudadiag::launch {
namespace {

// The child's report to its parent, in memory that child and parent share until the child calls exec.
struct Told {
  enum class Stage : int { none, filter, exec };
  int listener = -1;
  int error = 0;
  Stage stage = Stage::none;
};

void close_on_exec_from(unsigned first) {
  constexpr unsigned kCloseOnExec = 1u << 2;
  if (::syscall(SYS_close_range, first, ~0u, kCloseOnExec) == 0) return;
  constexpr int kMost = 4096;
  for (int number = static_cast<int>(first); number < kMost; ++number) ::fcntl(number, F_SETFD, FD_CLOEXEC);
}

// Everything that the child needs, prepared before the fork, because the child must not allocate memory.
struct Prepared {
  const char* path;
  char* const* arguments;
  char* const* shell_arguments;
  char* const* environment;
  const sigset_t* blocked;
  const std::vector<sock_filter>* filter;  // null if it is not isolated
  pid_t parent;
  Told* told;
};

// Runs in the child, which has a copy of the parent's memory but shares its descriptor table. May call only
// async-signal-safe functions.
[[noreturn]] void become_target(const Prepared& prepared) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != prepared.parent) ::_exit(125);
  Told& told = *prepared.told;
  // Closes the descriptors that the first run inherited. Without this, a rerun could write to them again.
  close_on_exec_from(3);
  if (prepared.filter != nullptr) {
    told.stage = Told::Stage::filter;
    told.listener = install_filter(*prepared.filter);
    if (told.listener < 0) {
      told.error = errno;
      ::_exit(125);
    }
  }
  told.stage = Told::Stage::exec;
  restore_signals_for_target(*prepared.blocked);
  ::execve(prepared.path, prepared.arguments, prepared.environment);
  // A script without a #! line runs in a shell, as with execvp().
  if (errno == ENOEXEC) ::execve("/bin/sh", prepared.shell_arguments, prepared.environment);
  told.error = errno;
  ::_exit(127);
}

ConfinedTarget start_here(ConfinedStart& start) {
  if (start.isolation) {
    if (const int error = confine_this_thread(*start.isolation)) return {-1, -1, error, "cannot confine it (Landlock)"};
  }
  if (start.arena >= 0) {
    const std::string path = "/proc/" + std::to_string(::getpid()) + "/task/" + std::to_string(::gettid()) + "/fd/" +
                             std::to_string(start.arena);
    start.environment.push_back(std::string(wire::environment::kArena) + "=" + path);
  }
  void* shared = ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return {-1, -1, errno, "cannot share memory with it"};
  Told* told = new (shared) Told;
  std::vector<std::string> shell = {"sh", start.path};
  if (!start.arguments.empty()) shell.insert(shell.end(), start.arguments.begin() + 1, start.arguments.end());
  const auto arguments = base::c_strings(start.arguments), shell_arguments = base::c_strings(shell),
             environment = base::c_strings(start.environment);
  const std::vector<sock_filter> filter = filter_program();
  const Prepared prepared{start.path.c_str(),
                          arguments.data(),
                          shell_arguments.data(),
                          environment.data(),
                          &start.blocked,
                          start.isolation ? &filter : nullptr,
                          ::getpid(),
                          told};
  // CLONE_FILES shares the descriptor table, so this process also gets the listener's descriptor. CLONE_VFORK blocks
  // this thread until exec() gives the child its own table.
  const long child = ::syscall(SYS_clone, CLONE_FILES | CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) become_target(prepared);
  if (child < 0) return {-1, -1, errno, "cannot create a process (fork)"};
  ConfinedTarget target{static_cast<pid_t>(child), told->listener, told->error};
  if (told->error != 0) {
    if (told->stage == Told::Stage::filter) target.failed = "cannot watch its system calls (seccomp)";
    ::waitpid(target.process, nullptr, 0);
    target.process = -1;
  }
  return target;
}

}  // namespace

ConfinedTarget start_confined(ConfinedStart start) {
  std::promise<ConfinedTarget> promise;
  std::future<ConfinedTarget> target = promise.get_future();
  // This thread must never exit, because the kernel would then kill the target. The target also opens the arena through
  // this thread's /proc entry.
  std::thread([start = std::move(start), promise = std::move(promise)]() mutable {
    promise.set_value(start_here(start));
    while (true) ::pause();
  }).detach();
  return target.get();
}

}  // namespace cudadiag::launch
