// Finds where the ranks of a job diverge, from the collectives that they launched.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyse/rank_divergence.h"
#include "analyse/site_keys.h"
#include "analyse/stream_history.h"
#include "analyse/unfinished_work.h"
#include "session/process_record.h"
#include "wire/name_patterns.h"

namespace cudadiag::analyse {
namespace {

using session::by_id;
using session::Operation;
using session::Process;
using session::ProcessRecord;

// Threads that issue collectives at the same time may do so in a different order on each rank. Calls that are at least
// this far apart are not considered swapped.
constexpr std::uint64_t kAtOnce = 8;

bool is_for_two_ranks(std::string_view kernel) { return kernel.find("SendRecv") != kernel.npos; }

bool is_collective_at(const ProcessRecord& record, std::uint32_t function) {
  const std::string* kernel = by_id(record.functions, function);
  return kernel != nullptr && is_collective(*kernel);
}

// Returns whether the recording contains every operation that the process issued and a name for every kernel.
bool is_all_recorded(const ProcessRecord& record) {
  const auto is_nameless = [](const session::Site& site) {
    return site.kind == wire::operation::Kind::kernel && site.function == 0 && site.operations > 0;
  };
  return record.dropped_operations == 0 && record.dropped_sites == 0 && record.dropped_interns == 0 &&
         record.damaged == 0 && std::ranges::none_of(record.sites, is_nameless);
}

bool has_collectives_in_graphs(const ProcessRecord& record) {
  return std::ranges::any_of(record.graphs, [&](const session::Graph& graph) {
    return std::ranges::any_of(graph.nodes,
                               [&](const session::GraphNode& node) { return is_collective_at(record, node.function); });
  });
}

// Returns the collectives in which the process's streams are, or may be, blocked.
std::set<const Operation*> blocking_calls(const ProcessRecord& record) {
  std::set<const Operation*> blocking;
  const UnfinishedWork work = unfinished_work(record);
  for (const UnfinishedStream* stream : standing_streams(work)) {
    if (!stream->proven()) continue;
    for (const Operation* operation : stream->candidates) {
      if (launches_collective(record, *operation)) blocking.insert(operation);
    }
  }
  return blocking;
}

// The call sites, launches and kernels of one process.
class Launches {
 public:
  explicit Launches(const ProcessRecord& record) : record_(record) { find_sites(); }

  std::uint64_t issued() const { return issued_; }
  bool pairs_only() const { return pairs_only_; }
  bool whole() const { return whole_; }

  // Returns the launches of collectives after the last gap in the records.
  std::vector<CollectiveSequence::Call> find_calls() {
    bool captured = has_collectives_in_graphs(record_);
    std::vector<const Operation*> launches;
    for (const Operation& operation : record_.operations) {
      if (operation.kind != wire::operation::Kind::kernel) continue;
      if (operation.site == 0 || operation.site > sites_.size() || !sites_[operation.site - 1].is_collective) {
        kernels_.push_back(operation.ticks);
        continue;
      }
      captured = captured || (operation.flags & wire::operation::kCaptured) != 0;
      launches.push_back(&operation);
      threads_.insert(operation.thread);
    }
    const std::uint64_t since = find_horizons();
    std::erase_if(launches, [&](const Operation* operation) { return operation->ticks < since; });
    std::ranges::stable_sort(launches, [](const Operation* a, const Operation* b) { return a->ticks < b->ticks; });
    std::ranges::sort(kernels_);
    whole_ = is_all_recorded(record_) && !captured && launches.size() <= issued_ &&
             (since != 0 || launches.size() == issued_);
    std::vector<CollectiveSequence::Call> calls;
    for (const Operation* operation : launches) {
      calls.push_back(call_of(*operation, calls.empty() ? nullptr : launches[calls.size() - 1]));
    }
    return calls;
  }

 private:
  struct Site {
    bool is_collective = false;
    wire::site_key::Key line = 0, kernel = 0;
  };

  void find_sites() {
    const SiteKeys keys(record_);
    sites_.resize(record_.sites.size());
    for (std::uint32_t id = 1; id <= sites_.size(); ++id) {
      const session::Site& site = record_.sites[id - 1];
      const std::string* kernel = by_id(record_.functions, site.function);
      if (kernel == nullptr || site.operations == 0) continue;
      pairs_only_ = pairs_only_ || is_for_two_ranks(*kernel);
      if (!is_collective(*kernel)) continue;
      sites_[id - 1] = {true, keys.of_innermost(id), keys.of_kernel(id)};
      issued_ += site.operations;
      threads_.insert(site.thread);
    }
    if (issued_ == 0) whole_ = is_all_recorded(record_);
  }

  // Returns the earliest tick after which every collective is recorded. Sets complete_since_ to the earliest tick after
  // which every operation of any kind is recorded.
  std::uint64_t find_horizons() {
    const std::vector<std::uint64_t> horizons = threads_complete_since(record_);
    std::uint64_t since = 0;
    for (std::uint32_t thread = 0; thread < horizons.size(); ++thread) {
      complete_since_ = std::max(complete_since_, horizons[thread]);
      if (threads_.contains(thread)) since = std::max(since, horizons[thread]);
    }
    return since;
  }

  CollectiveSequence::Call call_of(const Operation& operation, const Operation* previous) const {
    CollectiveSequence::Call call;
    call.operation = static_cast<std::size_t>(&operation - record_.operations.data());
    const Site& site = sites_[operation.site - 1];
    call.line = site.line;
    call.kernel = site.kernel;
    call.grid = operation.grid;
    call.thread = operation.thread;
    if (previous != nullptr && previous->ticks >= complete_since_) {
      const auto first = std::ranges::upper_bound(kernels_, previous->ticks);
      const auto last = std::lower_bound(first, kernels_.end(), operation.ticks);
      call.kernels_before = static_cast<std::uint64_t>(last - first);
    }
    return call;
  }

  const ProcessRecord& record_;
  std::vector<Site> sites_;             // by id - 1
  std::set<std::uint32_t> threads_;     // threads that call collectives
  std::vector<std::uint64_t> kernels_;  // launch times, in ticks, of the kernels that are not collectives
  std::uint64_t issued_ = 0, complete_since_ = 0;
  bool whole_ = false, pairs_only_ = false;
};

}  // namespace

bool is_collective(std::string_view kernel) { return wire::is_of_nccl(kernel) && !is_for_two_ranks(kernel); }

bool launches_collective(const ProcessRecord& record, const Operation& operation) {
  const std::string* kernel = session::kernel_at(record, operation.site);
  return operation.kind == wire::operation::Kind::kernel && kernel != nullptr && is_collective(*kernel);
}

bool calls_collectives(const Process& process) {
  const ProcessRecord& record = process.record;
  return std::ranges::any_of(record.sites, [&](const session::Site& site) {
    return site.operations > 0 && is_collective_at(record, site.function);
  });
}

CollectiveSequence::CollectiveSequence(const Process& process, std::size_t most)
    : rank_(process.rank), pid_(process.pid), host_(session::value_of(process.record, session::Property::host)) {
  const ProcessRecord& record = process.record;
  began_ = static_cast<double>(record.start_realtime) * 1e-9;
  if (record.clock_last != 0) ended_ = record.unix_seconds(record.clock_last);
  Launches launches(record);
  issued_ = launches.issued();
  if (issued_ > 0) calls_ = launches.find_calls();
  pairs_only_ = launches.pairs_only();
  whole_ = launches.whole();
  if (calls_.size() > most) calls_.erase(calls_.begin(), calls_.end() - static_cast<std::ptrdiff_t>(most));
  calls_.shrink_to_fit();
  const std::set<const Operation*> blocking = blocking_calls(record);
  is_blocked_ = !blocking.empty();
  // Considers only the thread that made the call, because a library's own threads may keep working while that thread
  // waits.
  std::map<std::uint16_t, std::uint64_t> latest;
  for (const Operation& operation : record.operations) {
    latest[operation.thread] = std::max(latest[operation.thread], operation.ticks);
  }
  for (Call& call : calls_) {
    call.blocks = blocking.contains(&record.operations[call.operation]);
    const std::uint64_t ticks = latest[call.thread];
    if (record.clock_last > ticks) call.waited = record.seconds(record.clock_last) - record.seconds(ticks);
  }
}

const CollectiveSequence::Call* CollectiveSequence::at(std::uint64_t number) const {
  return number < first() || number > issued_ ? nullptr : &calls_[number - first()];
}

bool CollectiveSequence::soon(std::uint64_t number, wire::site_key::Key wanted, std::uint16_t beside) const {
  for (std::uint64_t next = number; next < number + kAtOnce; ++next) {
    const Call* call = at(next);
    if (call != nullptr && call->thread != beside && call->line == wanted) return true;
  }
  return false;
}

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
  const auto most = std::ranges::max_element(kernels);
  const std::uint64_t others = *std::ranges::min_element(kernels);
  turn.even = *most == others;
  const auto same = static_cast<std::size_t>(std::ranges::count(kernels, others));
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
  std::ranges::sort(sorted, [&](const auto& a, const auto& b) { return order(a) < order(b); });
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
  return std::ranges::all_of(calls, [](const RankCall& call) { return call.collective.has_value(); });
}

bool Ranks::waited_for_long() const {
  return std::ranges::any_of(
      calls, [](const RankCall& call) { return call.collective && call.waited >= kLongForACollective; });
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
