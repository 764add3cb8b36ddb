// Bounds the number of areas in a session: a new process removes or takes over the areas of processes that have ended.
// Without a launcher, this bounds the disk space of, for example, a service that is restarted again and again. In an
// arena, it leaves room for a process that fails after thousands of others.
//
// In a folder, a process locks its area's file (flock) and then closes it. Its mapping of the file keeps the lock
// until the process ends or calls exec. On overlayfs, a mapping keeps no lock. A process with the area's pid is
// therefore another sign of life.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cudadiag::record {

// The number of area files in a folder at which a new one replaces an older one: 1 GB.
inline constexpr unsigned kMostAreaFiles = 16;

// Call this before the process creates its own area in `folder`. Leaves fewer than kMostAreaFiles areas, if the others
// can be removed. Processes that ended with status 0 come first, then those that never called exit(), then failures;
// within each group, the oldest. The process's GPU core dump is removed too. Keeps areas of live processes and of other
// users, and files that are not areas. Never follows a link. Returns how many areas have been removed since the session
// began, as far as the remaining areas show.
std::uint64_t remove_earlier_areas(const char* folder);

// In the arena with this header, open as `file`, takes over an area that may be reused (see wire/area.h). The area is
// empty and locked until `file` and all its mappings are closed. Returns its index; nullopt if no area may be reused.
std::optional<std::uint32_t> take_over_area(int file, std::byte* header);

// Locks a claimed area of the arena that is open as `file`. Returns false if it cannot be locked.
bool lock_area(int file, std::uint32_t index);

// Locks the new area file `fd` until the process ends. Call this before the file looks like an area.
void mark_alive(int fd);

// Returns whether this pid namespace has a process with this id that has not ended.
bool is_alive(std::uint32_t pid);

}  // namespace cudadiag::record
