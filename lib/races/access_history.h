// Keeps the latest accesses to each place in one process's memory, and finds the races between them.
//
// If we do not know which bytes a kernel uses near an address that it receives, only the byte at that address is
// compared. Two such kernels conflict if they receive the same address. A kernel conflicts with a copy, memset,
// allocation or free that covers the address. Different addresses in one allocation never conflict.
//
// A kernel that reads a texture may use an unknown part of it. It conflicts only with an operation that certainly uses
// the whole texture.
//
// The number of stored accesses is limited. Accesses that a later one makes redundant are dropped first. If that is not
// enough, the oldest ones are dropped and counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "races/access.h"
#include "races/happens_before.h"

namespace cudadiag::races {

// Returns how a kernel uses the memory that one of its parameters points to; nullopt if this is not known yet. Called
// only for an access that is unordered with respect to another access.
using ModeOf = std::function<std::optional<Mode>(const Access&)>;

struct Conflict {
  Access first, second;  // in the order of issue; a mode may be unknown
  // The race is not certain, for one of these reasons: neither access is known to write, both may be atomic, one may
  // end where the other begins, or untracked synchronisation may order them.
  bool possible = false;
  bool ever_waited = false;  // the second access's stream has waited for the first one's stream, but only for work
                             // before the first access
  bool uncertain = false;    // implies `possible`: untracked synchronisation may order them
  bool several = false;      // the pairs involve different parameters
  std::uint64_t times = 1;   // number of pairs that this entry represents
};

class History {
 public:
  static constexpr std::size_t kMostRaces = 256;
  static constexpr std::size_t kMostUnjudged = 64;

  History(const Order& order, ModeOf mode_of, std::size_t most_accesses = 1u << 20);

  // Call this for accesses in the order of issue, before the next operation is issued to the same stream.
  void add(Access access);
  // Compares two unordered accesses of one operation, such as nodes of a graph.
  void meet(const Access& a, const Access& b) {
    if (touches(a, b)) compare(a, b);
  }
  // Visits the unfinished accesses that may write to memory that `by` reads. If we do not know where a kernel writes,
  // assumes that it may write anywhere from `begin` to `end`.
  void each_writer(const Access& by, std::uint64_t begin, std::uint64_t end,
                   const std::function<void(const Access&)>& visit) const;
  // Call this for new memory, because earlier uses of its addresses were uses of different memory.
  void forget(std::uint64_t begin, std::uint64_t bytes);
  // Call this after records were lost.
  void forget_all();

  // Checks again the pairs in which a kernel's use of memory was unknown. If `at_last` is true, decides all of them
  // now, because no more code will be read.
  void settle(bool at_last);
  bool settled() const { return open_.empty(); }

  // One conflict for each pair of sites, in the order in which they were found.
  const std::vector<Conflict>& races() const { return races_; }
  // The first pairs in which we do not know whether either access writes, or where. One entry for each pair of
  // parameters.
  const std::vector<Conflict>& unjudged_pairs() const { return unjudged_pairs_; }
  std::uint64_t unlisted() const { return unlisted_; }    // number of pairs dropped for lack of room
  std::uint64_t forgotten() const { return forgotten_; }  // accesses dropped for lack of room, which may hide races
  std::uint64_t unjudged() const {
    return unjudged_;
  }  // number of all unjudged pairs, including those that were not stored
  std::size_t size() const { return accesses_; }

 private:
  static constexpr std::size_t kMostPerPlace = 8, kMostPerCrowdedPlace = 64;
  static constexpr std::size_t kMostOpen = 1u << 16;
  using Place = std::vector<Access>;
  struct Piece {
    std::uint64_t end = 0;
    Place place;
  };
  using Points = std::map<std::uint64_t, Place>;
  using Pieces = std::map<std::uint64_t, Piece>;

  Place& point(std::uint64_t address);
  void split(std::uint64_t at);
  // Compares `access` with those accesses at `place` that overlap it.
  void check(Place& place, const Access& access);
  void put(Place& place, Access access);
  void make_room_at(Place& place, Access& coming);
  Place::iterator oldest_redundant(Place& place, const Access& coming) const;
  void pass_on_hidden(Place& place, const Access& victim, Access& coming);
  void compare(const Access& earlier, const Access& later);
  std::optional<Mode> resolved(const Access& access) const;
  // Returns false if a kernel's use of memory is not known yet.
  bool conclude(Conflict& race, bool at_last);
  void keep(const Conflict& race);
  void keep_unjudged(const Conflict& race);
  void make_room();

  const Order& order_;
  ModeOf mode_of_;
  std::size_t most_, accesses_ = 0;
  Points points_;
  Pieces pieces_;  // ranges that exact accesses use; they do not overlap
  // Caches look-ups in `points_`. Without this cache, they take half of the run time.
  struct Hint {
    std::uint64_t address = 0;
    Place* place = nullptr;
    std::uint64_t generation = 0;
  };
  static constexpr unsigned kHintBits = 15;
  std::vector<Hint> hints_ = std::vector<Hint>(1u << kHintBits);
  std::uint64_t generation_ = 1;  // generation of the valid hints; changes when points are erased

  std::vector<Conflict> races_, unjudged_pairs_;
  std::map<std::array<std::uint32_t, 6>, std::size_t> index_;  // keyed by both sides
  std::map<std::array<std::uint32_t, 12>, Conflict> open_;
  std::uint64_t unlisted_ = 0, forgotten_ = 0, unjudged_ = 0;
};

}  // namespace cudadiag::races
