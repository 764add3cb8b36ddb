#include "record/process/exit_handlers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "record/clock.h"
#include "record/output/decimal.h"
#include "record/this_thread.h"
#include "record/uncancelled.h"

// A function of the C++ ABI. Given a null argument, it runs all atexit() handlers and static destructors that have not
// started yet, newest first.
extern "C" void __cxa_finalize(void* library);

namespace cudadiag::record {

namespace {

// How long a second thread that calls exit() waits for the first one before it runs handlers itself. The wait is
// limited, because a handler on the first thread may be waiting for the second thread.
constexpr std::uint64_t kPatience = 1'000'000'000;  // ns
// How many copies of our handler are in libc's list. Each thread that calls exit() takes one copy and then registers a
// replacement, which needs libc's lock. Other threads may get the lock first, and each of them takes a further copy.
constexpr int kCopies = 64;

void (*g_first)(int status);
std::atomic<bool> g_begun;
std::atomic<int> g_running;   // threads inside handlers
std::atomic<bool> g_leaving;  // one thread has returned to libc, which frees its blocks and ends the process
thread_local bool t_running;

void wait_for_first() {
  const Uncancelled uncancelled;
  const std::uint64_t deadline = nanoseconds(CLOCK_MONOTONIC) + kPatience;
  while (!g_leaving.load() && nanoseconds(CLOCK_MONOTONIC) < deadline) {
    const timespec pause = {0, 200'000};
    nanosleep(&pause, nullptr);
  }
}

[[noreturn]] void wait_for_end() {
  t_running = false;  // so that exit() in a signal handler also waits
  const Uncancelled uncancelled;
  for (;;) pause();
}

void run_handlers(int status, void*) {
  if (!is_own_process()) return;                // a forked child: the other handlers belong to the parent
  if (t_running) return g_leaving.store(true);  // a handler has called exit()
  on_exit(run_handlers, nullptr);
  if (g_begun.exchange(true)) {
    wait_for_first();
  } else {
    t_running = true;  // set before g_first(), because a signal handler may call exit()
    g_first(status);
  }
  if (g_leaving.load()) wait_for_end();
  t_running = true;
  g_running.fetch_add(1);
  __cxa_finalize(nullptr);
  if (g_leaving.exchange(true)) wait_for_end();
  if (g_running.load() == 1) return;
  // Exits at once, because libc must not free the blocks of the handlers that other threads are still running.
  fflush(nullptr);
  _exit(status);
}

void run_first(int status, void*) { g_first(status); }

// Returns false for glibc 2.41 and later, which let only one thread run exit handlers.
bool libc_frees_too_early() {
  constexpr char kTwo[] = "glibc 2.";
  char version[32] = "";
  confstr(_CS_GNU_LIBC_VERSION, version, sizeof version);
  return strncmp(version, kTwo, sizeof kTwo - 1) == 0 && leading_number(version + sizeof kTwo - 1) < 41;
}

}  // namespace

void run_at_exit(void (*first)(int status)) {
  g_first = first;
  if (!libc_frees_too_early()) {
    on_exit(run_first, nullptr);
  } else {
    for (int i = 0; i < kCopies; ++i) on_exit(run_handlers, nullptr);
  }
}

}  // namespace cudadiag::record
