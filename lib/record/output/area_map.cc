#include "record/output/area_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <iterator>
#include <optional>
#include <string_view>

#include "record/libc_substitutes.h"
#include "record/output/area_cleanup.h"
#include "wire/environment.h"

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

namespace area = wire::area;
using wire::unrecorded::What;

namespace {

std::byte* map_shared(int fd, std::size_t offset, std::size_t size) {
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

// How many file names to try for one process id. A file that already exists belongs to a process in another container,
// or to the program that this process ran before exec. Larger than kMostAreaFiles, because areas that cannot be removed
// do not count.
constexpr int kMostOfOneNumber = 64;

int create_exclusively(const char* folder, char (&path)[PATH_MAX]) {
  for (int n = 1; n <= kMostOfOneNumber; ++n) {
    char further[16] = "";
    if (n > 1) snprintf(further, sizeof further, "-%d", n);
    if (snprintf(path, sizeof path, "%s/%d%s.area", folder, getpid(), further) >= static_cast<int>(sizeof path)) break;
    const int fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

bool is_rank() {
  return std::any_of(std::begin(wire::kRankVariables), std::end(wire::kRankVariables),
                     [](const wire::RankVariables& names) { return getenv(names.rank) != nullptr; });
}

}  // namespace

bool AreaMap::open() {
  Lack lack{What::memory, 0};
  const Claim claim = claim_in_arena(lack);
  if (claim == Claim::full) return false;
  if (claim != Claim::made) {
    Lack of_file{What::file, 0};
    const bool made = create_file(of_file);
    if (!made && claim != Claim::beside) leave_unrecorded(claim == Claim::unmapped ? lack : of_file);
    if (!made) return false;
  }
  // A forked child inherits this mapping, but g_home (inject.cc) keeps the child from writing into it.
  initialise();
  return true;
}

AreaMap::Claim AreaMap::claim_in_arena(Lack& lack) {
  const int fd = open_arena(O_RDWR);
  if (fd < 0) return Claim::out_of_reach;
  Claim claim = Claim::out_of_reach;
  struct stat status {};
  std::byte* header = nullptr;
  if (fstat(fd, &status) == 0 && static_cast<std::size_t>(status.st_size) >= arena::kHeaderSize) {
    header = map_shared(fd, 0, arena::kHeaderSize);
  }
  if (header != nullptr && wire::load(header, arena::kMagic) == arena::kMagicValue &&
      wire::load(header, arena::kVersion) == area::kFormatVersion &&
      wire::load(header, arena::kAreaBytes) == area::kAreaSize) {
    const std::optional<std::uint32_t> taken = take_over_area(fd, header);
    const std::uint32_t index = taken ? *taken : wire::atomic(header, arena::kClaimed).fetch_add(1);
    const std::size_t offset = arena::kHeaderSize + std::size_t{index} * area::kAreaSize;
    const std::size_t areas = wire::load(header, arena::kAreas);
    if (index >= areas) {
      claim = index >= areas + arena::kFilesBeside ? Claim::full : Claim::beside;
    } else if (offset + area::kAreaSize <= static_cast<std::size_t>(status.st_size)) {
      base_ = map_shared(fd, offset, area::kAreaSize);
      claim = base_ != nullptr ? Claim::made : Claim::unmapped;
      lack.error = errno;
      if (lock_area(fd, index)) held_ = arena::kLocked | (is_rank() ? arena::kOfRank : 0u);
    }
  }
  close(fd);
  if (base_ != nullptr) {
    arena_ = header;
  } else if (header != nullptr) {
    munmap(header, arena::kHeaderSize);
  }
  return claim;
}

bool AreaMap::create_file(Lack& lack) {
  const char* folder = getenv(wire::environment::kSession);
  lack.error = ENOENT;
  if (folder == nullptr) return false;
  char path[PATH_MAX];
  make_session_folder(folder);
  // A launcher bounds the number of files itself, and reads them at its end.
  if (getenv(wire::environment::kArena) == nullptr) earlier_removed_ = remove_earlier_areas(folder);
  const int fd = create_exclusively(folder, path);
  if (fd < 0) {
    lack.error = errno;
    return false;
  }
  mark_alive(fd);
  // A file larger than RLIMIT_FSIZE would kill the program with SIGXFSZ.
  rlimit limit{};
  const bool fits = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= area::kAreaSize;
  // Leaves as much room to the program, which may share a small /dev/shm with its own workers, and to a core dump.
  struct statvfs disk {};
  const bool has_room = fstatvfs(fd, &disk) != 0 || disk.f_bavail * disk.f_frsize >= 2 * area::kAreaSize;
  // Allocates the blocks now. Without this, the program would get SIGBUS later if the disk were full.
  lack.error = !fits ? EFBIG : !has_room ? ENOSPC : posix_fallocate(fd, 0, area::kAreaSize);
  if (lack.error == 0) {
    base_ = map_shared(fd, 0, area::kAreaSize);
    if (base_ == nullptr) lack = {What::memory, errno};
  }
  if (base_ == nullptr) unlink(path);
  close(fd);
  return base_ != nullptr;
}

void AreaMap::initialise() {
  for (std::size_t i = 0; i < area::kRegions; ++i) {
    std::byte* entry = base_ + area::kRegionTable + i * 16;
    wire::store(entry, area::kRegionOffset, ranges_[i].offset);
    wire::store(entry, area::kRegionBytes, ranges_[i].size);
  }
  wire::store(base_, area::kMarkerPage, static_cast<std::uint32_t>(area::kPage));
  wire::store(base_, area::kVersion, area::kFormatVersion);
  wire::store(base_, area::kPid, static_cast<std::uint32_t>(getpid()));
  wire::store(base_, area::kParentPid, static_cast<std::uint32_t>(getppid()));
  wire::store(base_, area::kEarlierRemoved, earlier_removed_);
  wire::store(base_, arena::kHeld, held_);
  wire::store(base_, area::kStartRealtime, nanoseconds(CLOCK_REALTIME));
  wire::store(base_, area::kClockTicks, ticks());
  wire::store(base_, area::kClockNanoseconds, nanoseconds(CLOCK_MONOTONIC));
  wire::store_release(base_, area::kMagic, area::kMagicValue);
  set_state(area::State::recording);
}

void AreaMap::set_state(area::State state) {
  wire::store_release(base_, area::kState, static_cast<std::uint32_t>(state));
}

area::State AreaMap::state() const { return static_cast<area::State>(wire::load_acquire(base_, area::kState)); }

void AreaMap::set_exit_status(int status) {
  constexpr int kLowByte = 0xff;  // the parent process sees only this part
  wire::store_release(base_, area::kExitStatus, 1 + static_cast<std::uint32_t>(status & kLowByte));
}

void AreaMap::note_events_unseen() {
  std::uint64_t not_yet = 0;
  wire::atomic(base_, area::kEventsUnseen).compare_exchange_strong(not_yet, ticks(), std::memory_order_relaxed);
}

bool AreaMap::may_have_others() const { return arena_ == nullptr || wire::atomic(arena_, arena::kClaimed) > 1; }

void AreaMap::calibrate() {
  wire::store(base_, area::kClockTicksLast, ticks());
  wire::store(base_, area::kClockNanosecondsLast, nanoseconds(CLOCK_MONOTONIC));
}

void AreaMap::wake_launcher() {
  if (arena_ == nullptr) return;
  wire::atomic(arena_, arena::kEvents).fetch_add(1);
  syscall(SYS_futex, arena_ + arena::kEvents.offset, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Checks the link's target first. A process that outlives its launcher still has the old path, but the process id in
// this path may belong to another process by then. Opening a terminal or device of that process could have side
// effects.
int open_arena(int access) {
  const char* path = getenv(wire::environment::kArena);
  if (path == nullptr) return -1;
  char target[64];
  const ssize_t length = readlink(path, target, sizeof target);
  if (length < 0) return -1;
  const std::string_view found(target, static_cast<std::size_t>(length));
  if (!found.starts_with(wire::arena::kLink)) return -1;
  return ::open(path, access | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

namespace {

template <std::size_t kSize>
bool read_at(int file, std::size_t offset, std::byte (&to)[kSize]) {
  return pread(file, to, kSize, static_cast<off_t>(offset)) == static_cast<ssize_t>(kSize);
}

}  // namespace

std::string_view others_at_work(std::span<char> text) {
  const int file = open_arena(O_RDONLY);
  if (file < 0) return {};
  std::byte header[arena::kClaimed.end];
  const std::size_t claimed = read_at(file, 0, header) ? wire::load(header, arena::kClaimed) : 0;
  const auto self = static_cast<std::uint32_t>(getpid());
  std::size_t used = 0;
  for (std::size_t i = 0; i < std::min(claimed, arena::kAreaCount); ++i) {
    std::byte other[area::kPid.end];
    if (!read_at(file, arena::kHeaderSize + i * area::kAreaSize, other)) break;
    const std::uint32_t pid = wire::load(other, area::kPid);
    const bool recording = wire::load(other, area::kState) == static_cast<std::uint32_t>(area::State::recording);
    if (wire::load(other, area::kMagic) != area::kMagicValue || !recording || pid == self || !is_alive(pid)) continue;
    const int length = snprintf(text.data() + used, text.size() - used, used == 0 ? "%u" : " %u", pid);
    if (length < 0 || used + static_cast<std::size_t>(length) >= text.size()) break;
    used += static_cast<std::size_t>(length);
  }
  close(file);
  return {text.data(), used};
}

}  // namespace cudadiag::record
