// The process's area (wire/area.h), to which the recorder writes. It is a part of the launcher's arena or, if the arena
// cannot be used, a file in the session folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/area.h"
#include "wire/pass_files.h"

namespace cudadiag::record {

// Why a process cannot be recorded. Without a report of this, the process would look like one that does not use CUDA.
struct Lack {
  wire::unrecorded::What what;
  int error;  // errno
};

// Creates the folder of a pass if it does not exist. Without a launcher, no other process creates it. Also creates the
// session's folder, because the folder from `cudadiag env` may have been removed in the meantime.
void make_session_folder(const char* folder);

// Stores the reason in the launcher's arena or, if that is impossible, in the session's folder.
void leave_unrecorded(const Lack& lack);

// These functions return true if `bytes` is at most a quarter of what the process may still allocate under RLIMIT_AS or
// RLIMIT_DATA. If the recorder took more, the program could run out of memory. RLIMIT_AS limits all mappings, and
// RLIMIT_DATA limits only private ones.
bool may_take_address_space(std::size_t bytes);
bool may_take_data(std::size_t bytes);

class AreaMap {
 public:
  // Maps and initialises an area. Returns false if no memory could be mapped. The process is then not recorded, and the
  // reason is stored for the launcher if possible.
  bool open();

  std::byte* header() { return base_; }
  std::byte* region(wire::area::Region region) { return base_ + ranges_[static_cast<std::size_t>(region)].offset; }
  std::size_t region_size(wire::area::Region region) const { return ranges_[static_cast<std::size_t>(region)].size; }

  template <typename Field>
  void count(Field field) {
    wire::atomic(base_, field).fetch_add(1, std::memory_order_relaxed);
  }

  std::uint64_t start() const { return wire::load(base_, wire::area::kStartRealtime); }

  void set_state(wire::area::State state);
  wire::area::State state() const;
  void set_exit_status(int status);
  void note_events_unseen();  // see wire::area::kEventsUnseen
  bool is_file() const { return arena_ == nullptr; }
  // Returns false only if it is certain that no other process has recorded.
  bool may_have_others() const;
  // Stores a second pair of readings of the tick counter and the system clock. From the two pairs, readers of the area
  // learn how to convert ticks to time.
  void calibrate();
  // Wakes the launcher if it is waiting for something to read.
  void wake_launcher();

 private:
  // `beside`: no area is free, but this process may record to a file. `full`: no area is free, and too many processes
  // already record to files.
  enum class Claim { made, out_of_reach, unmapped, beside, full };
  Claim claim_in_arena(Lack& lack);
  bool create_file(Lack& lack);
  void initialise();

  static constexpr auto ranges_ = wire::area::layout();
  std::uint64_t earlier_removed_ = 0;  // see wire::area::kEarlierRemoved
  std::uint32_t held_ = 0;             // see wire::arena::kHeld
  std::byte* base_ = nullptr;
  std::byte* arena_ = nullptr;  // header page of the arena; null if the area is a file
};

// Opens the launcher's arena (wire/area.h), whose path is in an environment variable. `access` is O_RDONLY or O_RDWR.
// Returns -1 if the arena is missing or cannot be opened.
int open_arena(int access);

// Fills `text` with the pids of the live processes that record in the same arena: decimal numbers separated by spaces,
// as many as fit. When one process of a program fails, the parent process may kill the others, which no recorder can
// observe. Returns an empty text if the arena cannot be opened. Safe to call on any thread, even while the process
// exits.
std::string_view others_at_work(std::span<char> text);

}  // namespace cudadiag::record
