#include "base/processes.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace cudadiag::base {
namespace {

constexpr const char* kName = "a) Z 1 (b";  // hard to parse

// A child that stops itself, and then waits until it is killed.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::prctl(PR_SET_NAME, kName);
      ::raise(SIGSTOP);
      while (true) ::pause();
    }
    await(WSTOPPED);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal, int event) const {
    ::kill(pid_, signal);
    await(event);
  }

 private:
  // Does not reap the child.
  void await(int event) const {
    siginfo_t happened{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &happened, event | WNOWAIT);
  }

  pid_t pid_;
};

}  // namespace

TEST_CASE("a process whose first thread has exited has not ended while another thread runs") {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    std::thread([] {
      while (true) ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);
  }
  const auto letter = [pid] {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    file >> number >> name >> state;
    return state;
  };
  while (letter() != "Z") ::sched_yield();
  CHECK_FALSE(state_of(pid).ended);
  ::kill(pid, SIGKILL);
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT);
  CHECK(state_of(pid).ended);
  ::waitpid(pid, nullptr, 0);
}

TEST_CASE("the states of a process, from its start until it is gone") {
  pid_t pid = 0;
  {
    const Child child;
    pid = child.pid();
    const auto all = all_processes();
    CHECK(std::find(all.begin(), all.end(), pid) != all.end());
    CHECK(process_name(pid) == kName);
    CHECK(state_of(pid).parent == ::getpid());
    CHECK(state_of(pid).start >= state_of(::getpid()).start);
    CHECK(state_of(::getpid()).start > 0);
    CHECK(life_of(pid) == Life::stopped);
    CHECK_FALSE(has_ended(pid));

    child.send(SIGCONT, WCONTINUED);
    CHECK(life_of(pid) == Life::runs);
    CHECK_FALSE(state_of(pid).ended);

    child.send(SIGKILL, WEXITED);
    CHECK(state_of(pid).ended);
    CHECK(has_ended(pid));
  }
  CHECK(life_of(pid) == Life::gone);
  CHECK(state_of(pid).parent == 0);
  CHECK(process_name(pid) == "");
}

}  // namespace cudadiag::base
