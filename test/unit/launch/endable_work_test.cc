#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "launch/signals.h"

using namespace cudadiag;

namespace {

// Starts a process that does not react to signals, as if it were waiting for a file server. It writes a byte when it is
// ready, and another for each signal that its handlers receive.
pid_t work(int told, std::chrono::milliseconds patience) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(20);  // if nothing else kills the process, the test must fail rather than hang
  launch::SignalRelay relay;
  const launch::EndableWork endable(patience);
  [[maybe_unused]] ssize_t written = ::write(told, "r", 1);
  while (true) {
    relay.wait(-1);
    if (!relay.take_signals().empty()) written = ::write(told, "s", 1);
  }
}

bool hears(int told) {
  char byte = 0;
  return ::read(told, &byte, 1) == 1;
}

int end_of(pid_t process) {
  int status = 0;
  REQUIRE(::waitpid(process, &status, 0) == process);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

}  // namespace

TEST_CASE("the first request goes to the handlers, and a second one ends the work") {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    int told[2];
    REQUIRE(::pipe(told) == 0);
    const pid_t worker = work(told[1], std::chrono::milliseconds(0));
    ::close(told[1]);
    REQUIRE(hears(told[0]));
    ::kill(worker, signal);
    REQUIRE(hears(told[0]));
    ::kill(worker, signal);
    CHECK(end_of(worker) == signal);
    ::close(told[0]);
  }
}

TEST_CASE("an ignored signal is no request") {
  int told[2];
  REQUIRE(::pipe(told) == 0);
  ::signal(SIGHUP, SIG_IGN);
  const pid_t worker = work(told[1], std::chrono::milliseconds(0));
  ::signal(SIGHUP, SIG_DFL);
  ::close(told[1]);
  REQUIRE(hears(told[0]));
  ::kill(worker, SIGHUP);
  ::kill(worker, SIGTERM);
  CHECK(hears(told[0]));
  ::kill(worker, SIGTERM);
  CHECK(end_of(worker) == SIGTERM);
  ::close(told[0]);
}

TEST_CASE("a request soon after the first counts as the same one") {
  int told[2];
  REQUIRE(::pipe(told) == 0);
  const pid_t worker = work(told[1], std::chrono::hours(1));
  ::close(told[1]);
  REQUIRE(hears(told[0]));
  for (int i = 0; i < 3; ++i) {
    ::kill(worker, SIGTERM);
    REQUIRE(hears(told[0]));
  }
  ::kill(worker, SIGKILL);
  CHECK(end_of(worker) == SIGKILL);
  ::close(told[0]);
}

TEST_CASE("work that is idle is given up, and work that is not is left alone") {
  // The test fails if alarm() kills the process instead.
  const auto status_of = [](bool idles) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      const launch::EndableWork endable(std::chrono::seconds(1), [](std::chrono::milliseconds idle, bool) {
        if (idle >= std::chrono::seconds(1)) ::_exit(7);
      });
      if (idles) ::pause();
      for (int i = 0; i < 30; ++i) ::usleep(100'000);
      ::_exit(3);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  CHECK(status_of(true) == 7);
  CHECK(status_of(false) == 3);
}

TEST_CASE("a second request gives up work that does not end") {
  int told[2];
  REQUIRE(::pipe(told) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    launch::SignalRelay relay;
    const launch::EndableWork endable(std::chrono::milliseconds(0), [](std::chrono::milliseconds, bool asked) {
      if (asked) ::_exit(7);
    });
    [[maybe_unused]] ssize_t written = ::write(told[1], "r", 1);
    while (true) {
      relay.wait(-1);
      if (!relay.take_signals().empty()) written = ::write(told[1], "s", 1);
    }
  }
  ::close(told[1]);
  REQUIRE(hears(told[0]));
  for (int i = 0; i < 2; ++i) {
    ::kill(child, SIGTERM);
    REQUIRE(hears(told[0]));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 7));
  ::close(told[0]);
}

TEST_CASE("after the work, signals are handled as before") {
  sigset_t before, after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  { const launch::EndableWork endable; }
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) {
    CHECK(::sigismember(&before, signal) == ::sigismember(&after, signal));
  }
}
