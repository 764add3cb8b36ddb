// The shared memory into which the recorded processes write: a sparse memfd with the layout of wire/area.h. Once
// created it cannot shrink, so a reader never faults on a missing page.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>

#include "base/files.h"
#include "launch/signals.h"
#include "session/session.h"
#include "session/session_folders.h"

namespace cudadiag::launch {

// Returns true if RLIMIT_FSIZE allows recording at least one process, in memory or in a folder.
bool fits_in_files();

class Arena {
 public:
  // Creates fewer areas if not all of them fit below RLIMIT_FSIZE. Exceeding that limit would kill this process.
  static base::Result<Arena> create();

  // Maps the arena of another running launcher for reading. Fails if `place` does not refer to an arena.
  static base::Result<Arena> attach(const session::LivePlace& place);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  // Returns the path at which other processes can open the arena.
  std::string path() const;
  session::LivePlace place() const;
  int file() const { return file_.get(); }

  // Returns the number of processes that the arena can record at the same time.
  std::size_t places() const { return areas_; }
  // Makes processes claim new areas only, because the areas of processes that have ended are still needed.
  void keep_areas() const;
  // Makes processes that start from now on record to files, because nobody reads new areas any more.
  void close_to_others() const;
  // Returns the number of processes whose areas were reused although it is unknown how they ended.
  std::size_t forgotten() const;
  // Returns the number of areas that processes have claimed. Excludes processes that found no free area.
  std::size_t claimed() const;
  // Returns the number of processes that found no free area.
  std::size_t turned_away() const;
  // Returns how many processes could not be recorded for reasons other than a lack of areas, and one such reason.
  session::Unrecorded unrecorded() const;
  std::uint64_t begin(std::size_t area) const;
  std::uint64_t end(std::size_t area) const { return begin(area) + area_bytes_; }

  // Stores the current clock times in the area, so that readers can convert ticks. Does nothing if the process has
  // stopped recording, because it stored its own times when it stopped.
  void stamp_clock(std::size_t area) const;

  // events() returns the number of freezes and wake-ups so far. wait_for_event() waits until this number differs from
  // `seen`, but at most `milliseconds`, and returns the number.
  std::uint32_t events() const;
  std::uint32_t wait_for_event(std::uint32_t seen, int milliseconds) const;
  // Wakes the thread of this process that is blocked in wait_for_event().
  void wake();

 private:
  Arena(base::FileDescriptor file, std::byte* header, std::size_t areas, std::uint64_t area_bytes)
      : file_(std::move(file)), header_(header), areas_(areas), area_bytes_(area_bytes) {}

  base::FileDescriptor file_;
  std::byte* header_ = nullptr;
  std::size_t areas_ = 0;
  std::uint64_t area_bytes_ = 0;
};

// A read-only mapping of one area while a process is still writing to it.
class LiveArea {
 public:
  LiveArea(const Arena& arena, std::size_t area);
  ~LiveArea();
  LiveArea(const LiveArea&) = delete;
  LiveArea& operator=(const LiveArea&) = delete;

  // Empty if the area could not be mapped.
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Waits for freezes in the arena on a separate thread, and wakes the launcher's loop at each freeze. If the thread
// cannot be started, the loop notices a freeze in its next iteration.
class Watcher {
 public:
  Watcher(Arena& arena, SignalRelay& relay);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Returns true if a process has frozen its recording since the last call.
  bool take_freeze();

 private:
  Arena& arena_;
  std::uint32_t seen_;  // used only by the thread, if it was started
  std::atomic<bool> frozen_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace cudadiag::launch
