#include "record/output/area_cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "record/libc_substitutes.h"
#include "wire/area.h"
#include "wire/pass_files.h"

namespace cudadiag::record {

namespace area = wire::area;
namespace arena = wire::arena;

namespace {

constexpr std::string_view kExtension = ".area";

// In the order of removal.
enum class Ending : std::uint8_t { well, unknown, failed };

struct Earlier {
  char name[32];
  Ending ending;
  std::uint32_t pid;
  std::uint64_t began;
  std::uint64_t removed_before_it;
};

// The number of areas that one process considers. If a folder has more, the next process considers the others.
using Candidates = std::array<Earlier, 64>;

bool take_number(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits > 0;
}

// Matches "4711.area" and "4711-2.area".
bool is_area_name(std::string_view name) {
  if (name.size() >= sizeof Earlier::name || !take_number(name)) return false;
  if (name.starts_with('-')) {
    name.remove_prefix(1);
    if (!take_number(name)) return false;
  }
  return name == kExtension;
}

Ending ending_of(const std::byte* header) {
  const auto state = static_cast<area::State>(wire::load(header, area::kState));
  const std::uint32_t status = wire::load(header, area::kExitStatus);
  if (state == area::State::frozen || status > 1) return Ending::failed;
  return state == area::State::finished && status == 1 ? Ending::well : Ending::unknown;
}

// Opens a regular file of this user. Checks the kind of the file first, because opening a device can have side effects.
int open_own(int folder, const char* name, struct stat& status) {
  const auto is_own = [&] { return S_ISREG(status.st_mode) && status.st_uid == geteuid(); };
  if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !is_own()) return -1;
  // A file on NFS can be locked only if it is open for writing.
  const int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd >= 0 && fstat(fd, &status) == 0 && is_own()) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

bool read_area(int folder, const char* name, Earlier& earlier) {
  struct stat status {};
  const int fd = open_own(folder, name, status);
  if (fd < 0) return false;
  std::byte header[area::kEarlierRemoved.end];
  const bool is_read = pread(fd, header, sizeof header, 0) == static_cast<ssize_t>(sizeof header);
  close(fd);
  if (!is_read || wire::load(header, area::kMagic) != area::kMagicValue) return false;
  snprintf(earlier.name, sizeof earlier.name, "%s", name);
  earlier.ending = ending_of(header);
  earlier.pid = wire::load(header, area::kPid);
  earlier.began = wire::load(header, area::kStartRealtime);
  earlier.removed_before_it = wire::load(header, area::kEarlierRemoved);
  return true;
}

// Holds the lock while it removes the file, so that no other process removes a newer file with the same name.
bool remove_area(int folder, const Earlier& earlier) {
  // This process has not created its own area yet. Its pid therefore belongs to the program that it ran before exec, or
  // to a process of another container.
  const bool has_own_pid = earlier.pid == static_cast<std::uint32_t>(getpid());
  if (!has_own_pid && is_alive(earlier.pid)) return false;
  struct stat opened {
  }, named{};
  const int fd = open_own(folder, earlier.name, opened);
  if (fd < 0) return false;
  const bool is_unused = flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                         fstatat(folder, earlier.name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
  const bool removed = is_unused && unlinkat(folder, earlier.name, 0) == 0;
  if (removed) {
    const auto dump = wire::core_dump::file_name(earlier.pid, earlier.began);
    unlinkat(folder, dump.text, 0);  // removes a link itself, not the file that it names
  }
  close(fd);
  return removed;
}

off_t begin_of(std::uint32_t index) {
  return static_cast<off_t>(arena::kHeaderSize + std::size_t{index} * area::kAreaSize);
}

// The lock belongs to this opening of the file, so it remains while a mapping of the file exists.
bool set_lock(int file, std::uint32_t index, short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = begin_of(index);
  range.l_len = area::kAreaSize;
  return fcntl(file, F_OFD_SETLK, &range) == 0;
}

// Returns whether a report can do without this area: nothing failed in the process, and no other process waited for it.
bool is_dispensable(const std::byte* header) {
  return ending_of(header) == Ending::well && wire::load(header, arena::kHeld) == arena::kLocked &&
         wire::load(header, area::kErrorCount) == 0 && wire::load(header, area::kWaits) == 0 &&
         wire::load(header, area::kCollectivesCalled) == 0;
}

// The lowest kind of area that may be taken over.
enum class Spare : std::uint8_t { none, unknown_end, dispensable };

Spare spare(const std::byte* header) {
  const bool is_held = (wire::load(header, arena::kHeld) & arena::kLocked) != 0;
  if (wire::load(header, area::kMagic) != area::kMagicValue || !is_held) return Spare::none;
  if (is_dispensable(header)) return Spare::dispensable;
  const Ending ending = ending_of(header);
  const bool had_errors = wire::load(header, area::kErrorCount) != 0;
  return ending == Ending::well || (ending == Ending::unknown && !had_errors) ? Spare::unknown_end : Spare::none;
}

Spare spare(int file, std::uint32_t index) {
  std::byte header[arena::kHeld.end];
  const bool is_read = pread(file, header, sizeof header, begin_of(index)) == static_cast<ssize_t>(sizeof header);
  return is_read ? spare(header) : Spare::none;
}

bool take_over(int file, std::uint32_t index, Spare least) {
  if (spare(file, index) < least || !set_lock(file, index, F_WRLCK)) return false;
  // Only the new owner of the lock may be sure of what it read.
  if (spare(file, index) >= least && fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin_of(index),
                                               static_cast<off_t>(area::kAreaSize)) == 0) {
    return true;
  }
  set_lock(file, index, F_UNLCK);
  return false;
}

}  // namespace

std::optional<std::uint32_t> take_over_area(int file, std::byte* header) {
  const std::uint32_t areas = wire::load(header, arena::kAreas);
  const std::uint32_t claimed = std::min(wire::load_acquire(header, arena::kClaimed), areas);
  const std::uint32_t from = wire::load(header, arena::kReusedFrom);
  if (from == 0 || claimed < std::min(from, areas)) return std::nullopt;
  for (const Spare least : {Spare::dispensable, Spare::unknown_end}) {
    if (least == Spare::unknown_end && claimed < areas) break;
    for (std::uint32_t index = 0; index < claimed; ++index) {
      if (!take_over(file, index, least)) continue;
      if (least == Spare::unknown_end) wire::atomic(header, arena::kForgotten).fetch_add(1);
      return index;
    }
  }
  return std::nullopt;
}

bool lock_area(int file, std::uint32_t index) { return set_lock(file, index, F_WRLCK); }

std::uint64_t remove_earlier_areas(const char* folder) {
  const int descriptor = ::open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return 0;
  Candidates candidates;
  std::size_t areas = 0;
  std::uint64_t removed = 0;
  each_name(descriptor, [&](const char* name) {
    Earlier earlier;
    if (!is_area_name(name) || !read_area(descriptor, name, earlier)) return;
    removed = std::max(removed, earlier.removed_before_it);
    if (areas < candidates.size()) candidates[areas] = earlier;
    ++areas;
  });
  const std::span<Earlier> considered(candidates.data(), std::min(areas, candidates.size()));
  std::sort(considered.begin(), considered.end(), [](const Earlier& a, const Earlier& b) {
    return a.ending != b.ending ? a.ending < b.ending : a.began < b.began;
  });
  for (const Earlier& earlier : considered) {
    if (areas < kMostAreaFiles) break;
    if (!remove_area(descriptor, earlier)) continue;
    --areas;
    ++removed;
  }
  close(descriptor);
  return removed;
}

void mark_alive(int fd) { flock(fd, LOCK_EX | LOCK_NB); }

// Also checks the state of the process, because a process that has ended keeps its pid until its parent has waited for
// it.
bool is_alive(std::uint32_t pid) {
  char path[32], line[128];
  snprintf(path, sizeof path, "/proc/%u/stat", pid);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = read(file, line, sizeof line);
  close(file);
  const auto* end = size > 0 ? static_cast<const char*>(memrchr(line, ')', static_cast<std::size_t>(size))) : nullptr;
  return end != nullptr && end + 2 < line + size && end[2] != 'Z' && end[2] != 'X';
}

}  // namespace cudadiag::record
