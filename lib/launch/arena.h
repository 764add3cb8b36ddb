// The memory that the launcher holds for the processes it records: a sparse memfd laid out as wire/arena.h says.
// It cannot be shrunk once made, so that reading it never meets a missing page.
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

// Whether RLIMIT_FSIZE leaves room for the recording of a process, in memory or in a folder.
bool fits_in_files();

class Arena {
 public:
  // Fewer areas if RLIMIT_FSIZE does not allow all of them: one that does not fit would kill this process.
  static base::Result<Arena> create();

  // Attaches to the arena of another launcher that is still running, to read it. Fails if the place has no arena.
  static base::Result<Arena> attach(const session::LivePlace& place);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  // How another process opens it.
  std::string path() const;
  session::LivePlace place() const;
  int file() const { return file_.get(); }

  // How many processes it can take. A place is not given back when its process ends: others may be reading it.
  std::size_t places() const { return areas_; }
  // Areas claimed so far, those that did not fit left out.
  std::size_t claimed() const;
  // Processes that found no area left.
  std::size_t turned_away() const;
  // Those that could not be recorded for other reasons.
  session::Unrecorded unrecorded() const;
  std::uint64_t begin(std::size_t area) const;
  std::uint64_t end(std::size_t area) const { return begin(area) + area_bytes_; }

  // The time of a process that has not stamped it itself, for those who read the area later.
  void stamp_clock(std::size_t area) const;

  // Waits until the count of freezes is no longer `seen`, at most `milliseconds`; the count now.
  std::uint32_t events() const;
  std::uint32_t wait_for_event(std::uint32_t seen, int milliseconds) const;
  // Wakes the waiting thread of this process.
  void wake();

 private:
  Arena(base::FileDescriptor file, std::byte* header, std::size_t areas, std::uint64_t area_bytes)
      : file_(std::move(file)), header_(header), areas_(areas), area_bytes_(area_bytes) {}

  base::FileDescriptor file_;
  std::byte* header_ = nullptr;
  std::size_t areas_ = 0;
  std::uint64_t area_bytes_ = 0;
};

// One area of an arena, mapped while its process is still writing.
class LiveArea {
 public:
  LiveArea(const Arena& arena, std::size_t area);
  ~LiveArea();
  LiveArea(const LiveArea&) = delete;
  LiveArea& operator=(const LiveArea&) = delete;

  // Empty if it could not be mapped.
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cudadiag::launch
