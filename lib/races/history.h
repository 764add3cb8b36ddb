// The latest accesses to every place in one process's memory, and the races between them.
//
// A kernel's reach from an address that it receives is unknown, so only the first byte counts. Two kernels conflict if
// they receive the same address. A kernel conflicts with a copy, memset, allocation or free that covers the address.
// Different addresses in one allocation never conflict.
//
// Memory is bounded. Accesses that a later one makes redundant are dropped first, then older ones, which are counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "races/access.h"
#include "races/order.h"

namespace cudadiag::races {

// Returns how a kernel uses the memory that one of its parameters points to, or nullopt if that is not known yet. It is
// called only for pairs that nothing orders.
using ModeOf = std::function<std::optional<Mode>(const Access&)>;

struct Conflict {
  Access first, second;  // in the order of issue, with their modes as far as they are known
  // Set if neither side is known to write, both may be atomic, or one may end where the other begins. Also set if there
  // may be an order that we cannot see.
  bool possible = false;
  bool ever_waited = false;  // the second access's stream has waited for the first one's, but for something earlier
  bool uncertain = false;    // implies `possible`: it is the order that is unknown
  bool several = false;      // not all of these pairs have the same parameters
  std::uint64_t times = 1;   // number of such pairs
};

class History {
 public:
  static constexpr std::size_t kMostRaces = 256;
  static constexpr std::size_t kMostUnjudged = 64;

  History(const Order& order, ModeOf mode_of, std::size_t most_accesses = 1u << 20);

  // Call this in the order of issue, while the clock of the access's stream is that of its operation.
  void add(Access access);
  // Compares two unordered accesses of one operation, such as nodes of a graph.
  void meet(const Access& a, const Access& b) {
    if (touches(a, b)) compare(a, b);
  }
  // Visits the accesses that may write where `by` reads and may not have finished. Kernels of unknown reach may reach
  // all of the memory from `begin` to `end`.
  void each_writer(const Access& by, std::uint64_t begin, std::uint64_t end,
                   const std::function<void(const Access&)>& visit) const;
  // Call this for new memory: earlier uses of the addresses do not concern later ones.
  void forget(std::uint64_t begin, std::uint64_t bytes);
  // Call this after records were lost.
  void forget_all();

  // Checks again the pairs with a kernel whose use of memory was unknown. With `at_last`, unknown uses stay unknown.
  void settle(bool at_last);
  bool settled() const { return open_.empty(); }

  // One conflict per pair of sites, in the order in which they were found.
  const std::vector<Conflict>& races() const { return races_; }
  // The first pairs for which it is unknown whether, or where, either side writes. One entry per pair of parameters.
  const std::vector<Conflict>& unjudged_pairs() const { return unjudged_pairs_; }
  std::uint64_t unlisted() const { return unlisted_; }    // pairs for which there was no room
  std::uint64_t forgotten() const { return forgotten_; }  // dropped for lack of room; they might still have raced
  std::uint64_t unjudged() const { return unjudged_; }    // total number of such pairs
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
  // Compares the access with those at a place that it touches.
  void check(Place& place, const Access& access);
  void put(Place& place, Access access);
  void make_room_at(Place& place, Access& coming);
  void compare(const Access& earlier, const Access& later);
  std::optional<Mode> resolved(const Access& access) const;
  // Returns false if we cannot decide about the race yet.
  bool conclude(Conflict& race, bool at_last);
  void keep(const Conflict& race);
  void keep_unjudged(const Conflict& race);
  void make_room();

  const Order& order_;
  ModeOf mode_of_;
  std::size_t most_, accesses_ = 0;
  Points points_;
  Pieces pieces_;  // pieces that copies and memsets use; they do not overlap
  // Caches where points are: without it, lookups in the map take half of the run time.
  struct Hint {
    std::uint64_t address = 0;
    Place* place = nullptr;
    std::uint64_t generation = 0;
  };
  static constexpr unsigned kHintBits = 15;
  std::vector<Hint> hints_ = std::vector<Hint>(1u << kHintBits);
  std::uint64_t generation_ = 1;  // of the valid hints; it changes when points are erased

  std::vector<Conflict> races_, unjudged_pairs_;
  std::map<std::array<std::uint32_t, 6>, std::size_t> index_;  // by the two sides
  std::map<std::array<std::uint32_t, 12>, Conflict> open_;
  std::uint64_t unlisted_ = 0, forgotten_ = 0, unjudged_ = 0;
};

}  // namespace cudadiag::races
