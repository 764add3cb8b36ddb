#include "analyse/hangs/ranks.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cudadiag::analyse {
namespace {

using Launch = CollectiveSequence::Call;

// The maximum distance, in collectives, between a waiting rank and a rank that is ahead of it. Ranks that are further
// apart have diverged on purpose.
constexpr std::uint64_t kFar = 16;

// A process that is compared, and its index in the caller's list.
struct Compared {
  const CollectiveSequence* sequence = nullptr;
  std::size_t index = 0;
};

Ranks::Difference difference(const Launch& a, const Launch& b) {
  const bool known = a.line != 0 && b.line != 0;
  if (known && a.line != b.line) return Ranks::Difference::line;
  if (a.kernel != b.kernel) return Ranks::Difference::kernel;
  return a.grid == b.grid ? Ranks::Difference::none : Ranks::Difference::blocks;
}

// Returns whether threads of the two ranks may have issued the same collectives in a different order.
bool may_be_swapped(const CollectiveSequence& a, const CollectiveSequence& b, std::uint64_t number) {
  const Launch &of_a = *a.at(number), &of_b = *b.at(number);
  return a.soon(number, of_b.line, of_a.thread) || b.soon(number, of_a.line, of_b.thread);
}

RankCall rank_call(const Compared& rank, const Launch* call) {
  const CollectiveSequence& of = *rank.sequence;
  RankCall made{rank.index, of.rank(), of.pid(), of.host(), of.ended(), of.issued(), std::nullopt, 0};
  if (call != nullptr) {
    made.collective = call->operation;
    made.waited = call->waited;
  }
  return made;
}

// Compares the ranks at the collective with this number. Returns nullopt if it is unknown where they diverge.
std::optional<Ranks> compare(const std::vector<Compared>& ranks, std::uint64_t number) {
  Ranks result;
  result.number = number;
  const CollectiveSequence* first = nullptr;
  for (const Compared& rank : ranks) {
    const Launch* call = rank.sequence->at(number);
    result.calls.push_back(rank_call(rank, call));
    if (call == nullptr) continue;
    if (first == nullptr) {
      first = rank.sequence;
      continue;
    }
    const Ranks::Difference found = difference(*first->at(number), *call);
    if (found == Ranks::Difference::none) continue;
    if (found == Ranks::Difference::line && may_be_swapped(*first, *rank.sequence, number)) return std::nullopt;
    if (result.difference == Ranks::Difference::none || found < result.difference) result.difference = found;
  }
  return result;
}

// How many kernels each rank launched between the previous collective and this one.
struct Turn {
  bool known = false, even = false;
  std::optional<Ranks::Uneven> uneven;  // one rank launched at least 1.5 times as many as each of the others
};

Turn turn_before(const std::vector<Compared>& ranks, std::uint64_t number) {
  Turn turn;
  std::vector<std::uint64_t> kernels;
  for (const Compared& rank : ranks) {
    const Launch* call = rank.sequence->at(number);
    if (call == nullptr || !call->kernels_before) return turn;
    kernels.push_back(*call->kernels_before);
  }
  turn.known = true;
  const auto most = std::max_element(kernels.begin(), kernels.end());
  const std::uint64_t others = *std::min_element(kernels.begin(), kernels.end());
  turn.even = *most == others;
  const auto same = static_cast<std::size_t>(std::count(kernels.begin(), kernels.end(), others));
  if (!turn.even && others > 0 && same + 1 == kernels.size() && *most >= others + (others + 1) / 2) {
    const CollectiveSequence& rank = *ranks[static_cast<std::size_t>(most - kernels.begin())].sequence;
    turn.uneven = Ranks::Uneven{number, rank.rank(), rank.pid(), *most, others};
  }
  return turn;
}

std::optional<Ranks::Uneven> uneven_before(const std::vector<Compared>& ranks, std::uint64_t first,
                                           std::uint64_t number) {
  constexpr std::uint64_t kEven = 2;
  std::uint64_t even = 0;
  std::optional<Ranks::Uneven> found;
  for (std::uint64_t at = first + 1; at < number; ++at) {
    const Turn turn = turn_before(ranks, at);
    if (turn.known && !turn.even) {
      // If the ranks launched different numbers of kernels before several collectives, the difference is probably
      // intentional.
      if (found || !turn.uneven || even < kEven) return std::nullopt;
      found = turn.uneven;
    }
    even = turn.known && turn.even ? even + 1 : 0;
  }
  return found;
}

// Returns the ranks to compare, sorted by rank, and then those without a rank number. Skips a process without
// collectives if another process has its rank, or if it ended before the last rank started. Returns nullopt if the
// processes belong to several jobs.
std::optional<std::vector<Compared>> compared(const std::vector<CollectiveSequence>& processes) {
  std::vector<Compared> sorted;
  for (std::size_t i = 0; i < processes.size(); ++i) sorted.push_back({&processes[i], i});
  const auto order = [](const Compared& each) {
    const CollectiveSequence& of = *each.sequence;
    return std::tuple(!of.rank(), of.rank().value_or(0), of.pid());
  };
  std::sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  std::vector<Compared> ranks;
  double latest = 0;  // latest start of a rank that calls collectives
  for (const Compared& each : sorted) {
    const CollectiveSequence& sequence = *each.sequence;
    if (sequence.issued() > 0) latest = std::max(latest, sequence.began());
    const bool same = sequence.rank() && !ranks.empty() && ranks.back().sequence->rank() == sequence.rank();
    if (sequence.issued() == 0 && (!sequence.rank() || same)) continue;
    if (same && ranks.back().sequence->issued() > 0) return std::nullopt;
    if (same) ranks.pop_back();
    ranks.push_back(each);
  }
  std::vector<Compared> result;
  for (const Compared& rank : ranks) {
    const bool gone = rank.sequence->ended() && *rank.sequence->ended() < latest;
    if (gone && rank.sequence->issued() > 0) return std::nullopt;
    if (!gone) result.push_back(rank);
  }
  return result;
}

// Returns whether the operations in which ranks are blocked are consistent with the number of collectives that each
// rank has called.
bool is_borne_out(const Ranks& ranks, const std::vector<CollectiveSequence>& processes) {
  if (ranks.difference != Ranks::Difference::none) return true;
  bool waits = false;
  for (const RankCall& rank : ranks.calls) {
    const CollectiveSequence& sequence = processes[rank.process];
    const Launch* call = sequence.at(ranks.number);
    const bool blocks = call != nullptr && call->blocks;
    if (ranks.agree() ? !blocks : call == nullptr && sequence.is_blocked()) return false;
    waits = waits || blocks;
  }
  return waits;
}

}  // namespace

bool Ranks::all_have_come() const {
  return std::all_of(calls.begin(), calls.end(), [](const RankCall& call) { return call.collective.has_value(); });
}

bool Ranks::waited_for_long() const {
  return std::any_of(calls.begin(), calls.end(),
                     [](const RankCall& call) { return call.collective && call.waited >= kLongForACollective; });
}

std::optional<Ranks> parted_ranks(const std::vector<CollectiveSequence>& processes) {
  const auto found = compared(processes);
  if (!found || found->size() < 2) return std::nullopt;
  const std::vector<Compared>& ranks = *found;
  std::uint64_t first = 1, last = 0, least = ranks.front().sequence->issued();
  for (const Compared& rank : ranks) {
    const CollectiveSequence& of = *rank.sequence;
    if (!of.whole() || of.pairs_only()) return std::nullopt;
    first = std::max(first, of.first());
    last = std::max(last, of.issued());
    least = std::min(least, of.issued());
  }
  // The rank with the fewest collectives has no collective number `least` + 1, so the ranks diverge there at the
  // latest. The records must reach back to that collective.
  if (last == 0 || least + 1 < first) return std::nullopt;
  std::optional<Ranks> result;
  for (std::uint64_t number = first; number <= last; ++number) {
    result = compare(ranks, number);
    if (!result) return std::nullopt;
    if (result->agree()) continue;
    if (number == first && first > 1 && result->difference != Ranks::Difference::none) return std::nullopt;
    if (last - number > kFar) return std::nullopt;
    break;
  }
  if (!result || !is_borne_out(*result, processes)) return std::nullopt;
  result->first = first;
  result->uneven = uneven_before(ranks, first, result->number);
  return result;
}

std::optional<Ranks> ranks_to_tell(const std::vector<CollectiveSequence>& processes, bool hangs) {
  auto ranks = parted_ranks(processes);
  if (ranks && !hangs && (ranks->agree() || !ranks->waited_for_long())) ranks.reset();
  return ranks;
}

}  // namespace cudadiag::analyse
