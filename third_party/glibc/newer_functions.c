// Symbols of newer C libraries that the compiler's runtime and our code need, so that our programs also run on glibc
// 2.28. They are linked in only if the C library lacks them, and hidden, so that no library of the process finds them.
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

// 2.32. Always false, so reference counts are always updated atomically.
char __libc_single_threaded = 0;

// 2.30
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

// 2.36. std::random_device asks for four bytes at a time.
uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
    if (errno != EINTR) abort();
  }
  return value;
}

// 2.30. The condition may use any clock, so the time left is converted to the clock of pthread_cond_timedwait.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  struct timespec now, deadline;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += until->tv_sec - now.tv_sec;
  deadline.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (deadline.tv_nsec < 0) {
    deadline.tv_nsec += 1000000000;
    --deadline.tv_sec;
  } else if (deadline.tv_nsec >= 1000000000) {
    deadline.tv_nsec -= 1000000000;
    ++deadline.tv_sec;
  }
  if (deadline.tv_sec < 0) deadline.tv_sec = deadline.tv_nsec = 0;
  return pthread_cond_timedwait(condition, mutex, &deadline);
}

// 2.32
const char* sigabbrev_np(int signal) {
  static const char names[][8] = {
      [SIGHUP] = "HUP",       [SIGINT] = "INT",       [SIGQUIT] = "QUIT",   [SIGILL] = "ILL",   [SIGTRAP] = "TRAP",
      [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",       [SIGFPE] = "FPE",     [SIGKILL] = "KILL", [SIGUSR1] = "USR1",
      [SIGSEGV] = "SEGV",     [SIGUSR2] = "USR2",     [SIGPIPE] = "PIPE",   [SIGALRM] = "ALRM", [SIGTERM] = "TERM",
      [SIGCHLD] = "CHLD",     [SIGSTKFLT] = "STKFLT", [SIGCONT] = "CONT",   [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
      [SIGTTIN] = "TTIN",     [SIGTTOU] = "TTOU",     [SIGURG] = "URG",     [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ",
      [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF",     [SIGWINCH] = "WINCH", [SIGPOLL] = "POLL", [SIGPWR] = "PWR",
      [SIGSYS] = "SYS",
  };
  const int known = (int)(sizeof names / sizeof *names);
  return signal > 0 && signal < known && names[signal][0] != '\0' ? names[signal] : NULL;
}

// 2.35. The compiler's unwinder calls this to find the object that contains an address.
struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int holds(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct search* search = data;
  const ElfW(Phdr)* headers = info->dlpi_phdr;
  uintptr_t least = UINTPTR_MAX, most = 0, eh_frame = 0;
  int inside = 0;
  for (ElfW(Half) i = 0; i < info->dlpi_phnum; ++i) {
    const uintptr_t begin = info->dlpi_addr + headers[i].p_vaddr, end = begin + headers[i].p_memsz;
    if (headers[i].p_type == PT_GNU_EH_FRAME) eh_frame = begin;
    if (headers[i].p_type != PT_LOAD) continue;
    if (begin < least) least = begin;
    if (end > most) most = end;
    inside |= search->address >= begin && search->address < end;
  }
  if (!inside || eh_frame == 0) return inside ? -1 : 0;
  *search->found = (struct dl_find_object){
      .dlfo_map_start = (void*)least, .dlfo_map_end = (void*)most, .dlfo_eh_frame = (void*)eh_frame};
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result) {
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(holds, &search) == 1 ? 0 : -1;
}
