#include "record/python/deliveries.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <climits>

#include "record/clock.h"
#include "record/uncancelled.h"
#include "wire/names/environment.h"
#include "wire/rerun/delivery.h"

namespace cudadiag::record {

namespace delivery = wire::delivery;

// Opens the file for every line, because the program may close descriptors that it does not recognise.
int Deliveries::open(const char* suffix, int flags) {
  const char* folder = getenv(wire::environment::kSession);
  if (folder == nullptr) return -1;
  // A write beyond RLIMIT_FSIZE would kill the program with SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < delivery::kMostBytes) return -1;
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%d%s", folder, getpid(), suffix) >= static_cast<int>(sizeof path)) {
    return -1;
  }
  return ::open(path, O_WRONLY | O_CREAT | flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

bool Deliveries::add(std::string_view text) {
  char head[64];
  const int length =
      snprintf(head, sizeof head, "%ld %llu ", syscall(SYS_gettid), static_cast<unsigned long long>(ticks()));
  const std::size_t size = static_cast<std::size_t>(length) + text.size() + 1;
  if (text.size() > delivery::kMostLine || memchr(text.data(), '\n', text.size()) != nullptr) return false;
  if (used_.fetch_add(size) + size > delivery::kMostBytes) return false;
  const Uncancelled uncancelled;
  const int file = open(delivery::kSuffix, O_APPEND);
  if (file < 0) return false;
  char end[] = "\n";
  const iovec parts[] = {
      {head, static_cast<std::size_t>(length)}, {const_cast<char*>(text.data()), text.size()}, {end, 1}};
  const bool written = writev(file, parts, 3) == static_cast<ssize_t>(size);
  close(file);
  return written;
}

bool Deliveries::add_watched(std::string_view text) {
  char line[delivery::kWatchedLine];
  const int length =
      snprintf(line, sizeof line, "%ld %llu ", syscall(SYS_gettid), static_cast<unsigned long long>(ticks()));
  const auto head = static_cast<std::size_t>(length);
  if (text.size() >= sizeof line - head || memchr(text.data(), '\n', text.size()) != nullptr) return false;
  memcpy(line + head, text.data(), text.size());
  memset(line + head + text.size(), ' ', sizeof line - head - text.size());
  line[sizeof line - 1] = '\n';
  const Uncancelled uncancelled;
  const int file = open(delivery::kWatchedSuffix, 0);
  if (file < 0) return false;
  const auto place = static_cast<off_t>(watched_.fetch_add(1) % delivery::kWatched * sizeof line);
  const bool written = pwrite(file, line, sizeof line, place) == static_cast<ssize_t>(sizeof line);
  close(file);
  return written;
}

}  // namespace cudadiag::record
