#include "record/output/unrecorded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <string_view>

#include "record/guest.h"
#include "record/output/area_map.h"
#include "wire/area.h"
#include "wire/arena.h"
#include "wire/names/environment.h"

namespace cudadiag::record {

namespace arena = wire::arena;
namespace unrecorded = wire::unrecorded;

namespace {

bool leave_in_arena(const Lack& lack) {
  const int fd = open_arena(O_RDWR);
  if (fd < 0) return false;
  struct stat status {};
  void* mapped = MAP_FAILED;
  if (fstat(fd, &status) == 0 && static_cast<std::size_t>(status.st_size) >= arena::kHeaderSize) {
    mapped = mmap(nullptr, arena::kHeaderSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (mapped == MAP_FAILED) return false;
  auto* header = static_cast<std::byte*>(mapped);
  const bool is_arena = wire::load(header, arena::kMagic) == arena::kMagicValue &&
                        wire::load(header, arena::kVersion) == wire::area::kFormatVersion;
  if (is_arena) {
    wire::store_release(header, arena::kUnrecordedWhy, unrecorded::pack(lack.what, lack.error));
    wire::atomic(header, arena::kUnrecorded).fetch_add(1);
  }
  munmap(mapped, arena::kHeaderSize);
  return is_arena;
}

// Leaves the file empty, because a write beyond RLIMIT_FSIZE would kill the program with SIGXFSZ.
void leave_in_folder(const Lack& lack) {
  const char* folder = getenv(wire::environment::kSession);
  if (folder == nullptr) return;
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s/%d-%u-%d%s", folder, getpid(), static_cast<unsigned>(lack.what),
                              lack.error, unrecorded::kExtension);
  if (length < 0 || length >= static_cast<int>(sizeof path)) return;
  make_session_folder(folder);
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
}

// Returns the number at this position of /proc/self/statm, converted from pages to bytes; 0 if it is unknown.
std::size_t bytes_in_use(int place) {
  const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[256] = "";
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return 0;
  std::string_view rest(text, static_cast<std::size_t>(size));
  for (int i = 0; i < place; ++i) rest.remove_prefix(rest.find(' ') + 1);
  return static_cast<std::size_t>(leading_number(rest)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

bool leaves_enough(std::size_t bytes, std::size_t limit, std::size_t used) {
  constexpr std::size_t kShare = 4;
  return used < limit && bytes <= (limit - used) / kShare;
}

}  // namespace

void make_session_folder(const char* folder) {
  if (mkdir(folder, 0700) == 0 || errno != ENOENT) return;
  char parent[PATH_MAX];
  const char* end = strrchr(folder, '/');
  const auto length = end == nullptr ? std::size_t{0} : static_cast<std::size_t>(end - folder);
  if (length == 0 || length >= sizeof parent) return;
  memcpy(parent, folder, length);
  parent[length] = '\0';
  if (mkdir(parent, 0700) == 0) mkdir(folder, 0700);
}

void leave_unrecorded(const Lack& lack) {
  if (!leave_in_arena(lack)) leave_in_folder(lack);
}

bool may_take_address_space(std::size_t bytes) {
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return !limited || leaves_enough(bytes, limit.rlim_cur, bytes_in_use(0));
}

bool may_take_data(std::size_t bytes) {
  constexpr int kData = 5;  // the data segment and the stack
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return !limited || leaves_enough(bytes, limit.rlim_cur, bytes_in_use(kData));
}

}  // namespace cudadiag::record
