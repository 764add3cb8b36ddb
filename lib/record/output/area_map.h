// The process's area (wire/area.h) as the recorder writes it: a part of the launcher's arena, or a file in the session
// folder if it cannot reach an arena.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/output/unrecorded.h"
#include "wire/area.h"
#include "wire/arena.h"

namespace cudadiag::record {

class AreaMap {
 public:
  // Maps and initialises an area. Returns false if no memory could be mapped; then the process is not recorded, and the
  // reason is left if possible.
  bool open();

  std::byte* header() { return base_; }
  std::byte* region(wire::area::Region region) { return base_ + ranges_[static_cast<std::size_t>(region)].offset; }
  std::size_t region_size(wire::area::Region region) const { return ranges_[static_cast<std::size_t>(region)].size; }

  template <typename Field>
  void count(Field field) {
    wire::atomic(base_, field).fetch_add(1, std::memory_order_relaxed);
  }

  void set_state(wire::area::State state);
  wire::area::State state() const;
  void set_exit_status(int status);
  void note_events_unseen();  // wire::area::kEventsUnseen
  // Returns false if no other process has recorded into this arena.
  bool may_have_others() const;
  // Takes the second reading of both clocks.
  void calibrate();
  // Wakes a waiting launcher, since there is something new to read.
  void wake_launcher();

 private:
  // The arena counts processes that found no free area. `beside`: this
  // one is among the few that may record to a file. `full`: it is not.
  enum class Claim { made, out_of_reach, unmapped, beside, full };
  Claim claim_in_arena(Lack& lack);
  bool create_file(Lack& lack);
  void initialise();

  static constexpr auto ranges_ = wire::area::layout();
  std::byte* base_ = nullptr;
  std::byte* arena_ = nullptr;  // header page of the arena; null if the area is a file
};

}  // namespace cudadiag::record
