// The latest accesses to every place in one process's memory, and the races between them.
//
// The reach of a kernel from an address that it is given is not known, so only the first byte counts. Two kernels meet
// if they are given the same address. A kernel meets a copy, a memset or the end of an allocation that contains the
// address. Different addresses in one allocation never meet.
//
// Memory is bounded: an access that a later one makes redundant is dropped first, then older ones, and these are counted.
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

// How a kernel uses the memory that one of its parameters points to. Nothing: not known yet, ask again. It is called only for
// pairs that nothing orders.
using ModeOf = std::function<std::optional<Mode>(const Access&)>;

struct Conflict {
  Access first, second;  // in the order of issue, their modes as far as they are known
  // Neither side is known to write, both may be atomic, one may end where the other begins, or there may be order that
  // is not seen.
  bool possible = false;
  bool ever_waited = false;  // the second one's stream has waited for the first one's, for something earlier
  bool uncertain = false;    // of `possible`: the order is what is not known
  bool several = false;      // of them, some have other parameters
  std::uint64_t times = 1;   // such pairs
};

class History {
 public:
  static constexpr std::size_t kMostRaces = 256;
  static constexpr std::size_t kMostUnjudged = 64;

  History(const Order& order, ModeOf mode_of, std::size_t most_accesses = 1u << 20);

  // In the order of issue; its stream's clock is that of its operation.
  void add(Access access);
  // Two accesses of one operation without an order: nodes of a graph.
  void meet(const Access& a, const Access& b) {
    if (touches(a, b)) compare(a, b);
  }
  // Visits what may write where `by` reads, and may not have finished. Kernels whose reach is not known may reach all of
  // the memory, from `begin` to `end`.
  void each_writer(const Access& by, std::uint64_t begin, std::uint64_t end,
                   const std::function<void(const Access&)>& visit) const;
  // The memory is new: earlier uses have nothing to do with later ones.
  void forget(std::uint64_t begin, std::uint64_t bytes);
  // Records were lost.
  void forget_all();

  // Judges again the pairs whose kernels' use of the memory was not known; at last, they stay unknown.
  void settle(bool at_last);
  bool settled() const { return open_.empty(); }

  // Each pair of sites once, in the order in which they were found.
  const std::vector<Conflict>& races() const { return races_; }
  // Pairs in which it is not known whether, or where, either side writes; each pair of parameters once; the first ones.
  const std::vector<Conflict>& unjudged_pairs() const { return unjudged_pairs_; }
  std::uint64_t unlisted() const { return unlisted_; }  // pairs for which there was no room
  std::uint64_t forgotten() const {
    return forgotten_;
  }                                                     // accesses dropped for lack of room that others might have met
  std::uint64_t unjudged() const { return unjudged_; }  // so many such pairs in all
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
  // The access against those at a place that it touches.
  void check(Place& place, const Access& access);
  void put(Place& place, Access access);
  void make_room_at(Place& place, Access& coming);
  void compare(const Access& earlier, const Access& later);
  std::optional<Mode> resolved(const Access& access) const;
  // False: not yet to be said.
  bool conclude(Conflict& race, bool at_last);
  void keep(const Conflict& race);
  void keep_unjudged(const Conflict& race);
  void make_room();

  const Order& order_;
  ModeOf mode_of_;
  std::size_t most_, accesses_ = 0;
  Points points_;
  Pieces pieces_;  // of copies and the like: they do not overlap
  // Where points lie: looking for them in the map would be half of all the time.
  struct Hint {
    std::uint64_t address = 0;
    Place* place = nullptr;
    std::uint64_t generation = 0;
  };
  static constexpr unsigned kHintBits = 15;
  std::vector<Hint> hints_ = std::vector<Hint>(1u << kHintBits);
  std::uint64_t generation_ = 1;  // of the hints that hold: a new one when points go

  std::vector<Conflict> races_, unjudged_pairs_;
  std::map<std::array<std::uint32_t, 6>, std::size_t> index_;  // by the two sides
  std::map<std::array<std::uint32_t, 12>, Conflict> open_;
  std::uint64_t unlisted_ = 0, forgotten_ = 0, unjudged_ = 0;
};

}  // namespace cudadiag::races
