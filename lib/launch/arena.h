// The memory that the launcher holds for the processes that it records: a sparse memfd with the layout of wire/arena.h.
// Once created, it cannot shrink, so a reader never touches a missing page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file_descriptor.h"
#include "session/area/live_place.h"
#include "session/notes/unrecorded.h"
#include "session/session.h"

namespace cudadiag::launch {

// Whether RLIMIT_FSIZE leaves room to record at least one process, in memory or in a folder.
bool fits_in_files();

class Arena {
 public:
  // Creates fewer areas if not all fit below RLIMIT_FSIZE. Growing the file past that limit would kill this process.
  static base::Result<Arena> create();

  // Attaches to the arena of another running launcher for reading. Fails if the place has no arena.
  static base::Result<Arena> attach(const session::LivePlace& place);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  // Returns the path by which another process opens the arena.
  std::string path() const;
  session::LivePlace place() const;
  int file() const { return file_.get(); }

  // Returns the number of processes that the arena can record. A place is not reused after its process has ended,
  // because other processes may still be reading it.
  std::size_t places() const { return areas_; }
  // Returns the number of areas claimed so far, without the processes that found no free area.
  std::size_t claimed() const;
  // Returns the number of processes that found no free area.
  std::size_t turned_away() const;
  // Returns the processes that could not be recorded for other reasons.
  session::Unrecorded unrecorded() const;
  std::uint64_t begin(std::size_t area) const;
  std::uint64_t end(std::size_t area) const { return begin(area) + area_bytes_; }

  // Stores the clock's current times in the area for later readers, if the process has not stored its last times
  // itself.
  void stamp_clock(std::size_t area) const;

  // events() counts freezes and wake-ups. wait_for_event() returns that count when it differs from `seen`, or after
  // `milliseconds`.
  std::uint32_t events() const;
  std::uint32_t wait_for_event(std::uint32_t seen, int milliseconds) const;
  // Wakes the thread of this process that is in wait_for_event().
  void wake();

 private:
  Arena(base::FileDescriptor file, std::byte* header, std::size_t areas, std::uint64_t area_bytes)
      : file_(std::move(file)), header_(header), areas_(areas), area_bytes_(area_bytes) {}

  base::FileDescriptor file_;
  std::byte* header_ = nullptr;
  std::size_t areas_ = 0;
  std::uint64_t area_bytes_ = 0;
};

// One area of an arena, mapped while its process is still writing to it.
class LiveArea {
 public:
  LiveArea(const Arena& arena, std::size_t area);
  ~LiveArea();
  LiveArea(const LiveArea&) = delete;
  LiveArea& operator=(const LiveArea&) = delete;

  // Returns an empty span if the area could not be mapped.
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cudadiag::launch
