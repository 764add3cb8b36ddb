#include "analyse/hangs/ranks.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analyse/hangs/unfinished_work.h"
#include "analyse/record_horizon.h"
#include "analyse/site_keys.h"

namespace cudadiag::analyse {
namespace {

using session::by_id;
using session::Operation;
using session::Process;
using session::ProcessRecord;

// Ranks that wait for each other advance at most this far after they diverge.
constexpr std::uint64_t kFar = 16;
// Two threads may issue their collectives in any order. Collectives at most this far apart may be swapped.
constexpr std::uint64_t kAtOnce = 8;

bool names(std::string_view kernel, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; });
}

bool is_collective_at(const ProcessRecord& record, std::uint32_t function) {
  const std::string* kernel = by_id(record.functions, function);
  return kernel != nullptr && is_collective(*kernel);
}

// Returns whether every operation that the process issued is in the record, and every kernel has its name.
bool is_all_recorded(const ProcessRecord& record) {
  const auto is_nameless = [](const session::Site& site) {
    return site.kind == wire::operation::Kind::kernel && site.function == 0 && site.operations > 0;
  };
  return record.dropped_operations == 0 && record.dropped_sites == 0 && record.dropped_interns == 0 &&
         record.damaged == 0 && std::none_of(record.sites.begin(), record.sites.end(), is_nameless);
}

bool has_collectives_in_graphs(const ProcessRecord& record) {
  return std::any_of(record.graphs.begin(), record.graphs.end(), [&](const session::Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                       [&](const session::GraphNode& node) { return is_collective_at(record, node.function); });
  });
}

// The collectives of a process, numbered from 1, with the records of the latest ones.
class Sequence {
 public:
  explicit Sequence(const Process& process) : process_(process) {
    std::set<std::uint32_t> threads = find_sites();
    if (issued_ == 0) {
      whole_ = is_all_recorded(process.record);
    } else {
      find_operations(std::move(threads));
    }
  }

  const Process& process() const { return process_; }
  std::uint64_t issued() const { return issued_; }
  // The number of the first collective that is still recorded.
  std::uint64_t first() const { return issued_ - recorded_.size() + 1; }
  bool whole() const { return whole_; }
  bool pairs_only() const { return pairs_only_; }

  // Returns null if no collective has that number, or its record was overwritten.
  const Operation* at(std::uint64_t number) const {
    return number < first() || number > issued_ ? nullptr : recorded_[number - first()];
  }
  // Returns 0 if unknown.
  wire::site_key::Key line(const Operation& operation) const { return sites_[operation.site - 1].line; }
  wire::site_key::Key kernel(const Operation& operation) const { return sites_[operation.site - 1].kernel; }

  // Returns the number of other kernels between the collective with this number and the previous one; nullopt if some
  // are not recorded.
  std::optional<std::uint64_t> kernels_before(std::uint64_t number) const {
    const Operation *previous = at(number - 1), *operation = at(number);
    if (previous == nullptr || operation == nullptr || previous->ticks < complete_since_) return std::nullopt;
    const auto first = std::upper_bound(kernels_.begin(), kernels_.end(), previous->ticks);
    return static_cast<std::uint64_t>(std::lower_bound(first, kernels_.end(), operation->ticks) - first);
  }

  // Looks for a collective of the line `wanted` among those that may have been issued at the same time as `number`.
  // Only threads other than `beside` count.
  bool soon(std::uint64_t number, wire::site_key::Key wanted, std::uint16_t beside) const {
    for (std::uint64_t next = number; next < number + kAtOnce; ++next) {
      const Operation* operation = at(next);
      if (operation != nullptr && operation->thread != beside && line(*operation) == wanted) return true;
    }
    return false;
  }

 private:
  struct Site {
    bool collective = false;
    wire::site_key::Key line = 0, kernel = 0;
  };

  // Returns the threads that call collectives, as far as sites name them.
  std::set<std::uint32_t> find_sites() {
    const ProcessRecord& record = process_.record;
    std::set<std::uint32_t> threads;
    const SiteKeys keys(record);
    sites_.resize(record.sites.size());
    for (std::uint32_t id = 1; id <= sites_.size(); ++id) {
      const session::Site& site = record.sites[id - 1];
      const std::string* kernel = by_id(record.functions, site.function);
      if (kernel == nullptr || site.operations == 0) continue;
      pairs_only_ = pairs_only_ || names(*kernel, {"SendRecv"});
      if (!is_collective(*kernel)) continue;
      sites_[id - 1] = {true, keys.of_innermost(id), keys.of_kernel(id)};
      issued_ += site.operations;
      threads.insert(site.thread);
    }
    return threads;
  }

  void find_operations(std::set<std::uint32_t> threads) {
    const ProcessRecord& record = process_.record;
    bool captured = has_collectives_in_graphs(record);
    for (const Operation& operation : record.operations) {
      if (operation.kind != wire::operation::Kind::kernel) continue;
      if (operation.site == 0 || operation.site > sites_.size() || !sites_[operation.site - 1].collective) {
        kernels_.push_back(operation.ticks);
        continue;
      }
      captured = captured || (operation.flags & wire::operation::kCaptured) != 0;
      recorded_.push_back(&operation);
      threads.insert(operation.thread);
    }
    const std::uint64_t since = find_horizons(threads);
    std::erase_if(recorded_, [&](const Operation* operation) { return operation->ticks < since; });
    std::stable_sort(recorded_.begin(), recorded_.end(),
                     [](const Operation* a, const Operation* b) { return a->ticks < b->ticks; });
    std::sort(kernels_.begin(), kernels_.end());
    whole_ = is_all_recorded(record) && !captured && recorded_.size() <= issued_ &&
             (since != 0 || recorded_.size() == issued_);
  }

  // Returns the tick from which on no collective is missing. Sets complete_since_ to the same for all operations.
  std::uint64_t find_horizons(const std::set<std::uint32_t>& threads) {
    const std::vector<std::uint64_t> horizons = threads_complete_since(process_.record);
    std::uint64_t since = 0;
    for (std::uint32_t thread = 0; thread < horizons.size(); ++thread) {
      complete_since_ = std::max(complete_since_, horizons[thread]);
      if (threads.contains(thread)) since = std::max(since, horizons[thread]);
    }
    return since;
  }

  const Process& process_;
  std::vector<Site> sites_;  // by id - 1
  std::uint64_t issued_ = 0;
  std::vector<const Operation*> recorded_;
  std::vector<std::uint64_t> kernels_;  // ticks of the other kernels
  std::uint64_t complete_since_ = 0;
  bool whole_ = false, pairs_only_ = false;
};

Ranks::Difference difference(const Sequence& a, const Operation& of_a, const Sequence& b, const Operation& of_b) {
  const bool known = a.line(of_a) != 0 && b.line(of_b) != 0;
  if (known && a.line(of_a) != b.line(of_b)) return Ranks::Difference::line;
  if (a.kernel(of_a) != b.kernel(of_b)) return Ranks::Difference::kernel;
  return of_a.grid == of_b.grid ? Ranks::Difference::none : Ranks::Difference::blocks;
}

// Threads of one rank may issue the same collectives as those of the other rank, but in a different order.
bool may_be_swapped(const Sequence& a, const Sequence& b, std::uint64_t number) {
  const Operation &of_a = *a.at(number), &of_b = *b.at(number);
  return a.soon(number, b.line(of_b), of_a.thread) || b.soon(number, a.line(of_a), of_b.thread);
}

// Compares the ranks at the collective with this number. Returns nullopt if it is unknown where they diverge.
std::optional<Ranks> compare(const std::vector<Sequence>& ranks, std::uint64_t number) {
  Ranks result;
  result.number = number;
  const Sequence* first = nullptr;
  for (const Sequence& rank : ranks) {
    const Operation* operation = rank.at(number);
    result.calls.push_back({&rank.process(), rank.issued(), operation});
    if (operation == nullptr) continue;
    if (first == nullptr) {
      first = &rank;
      continue;
    }
    const Ranks::Difference found = difference(*first, *first->at(number), rank, *operation);
    if (found == Ranks::Difference::none) continue;
    if (found == Ranks::Difference::line && may_be_swapped(*first, rank, number)) return std::nullopt;
    if (result.difference == Ranks::Difference::none || found < result.difference) result.difference = found;
  }
  return result;
}

// The numbers of kernels that the ranks launched between a collective and the previous one.
struct Turn {
  bool known = false, even = false;
  std::optional<Ranks::Uneven> uneven;  // one rank launched at least half as many again as each of the others
};

Turn turn_before(const std::vector<Sequence>& ranks, std::uint64_t number) {
  Turn turn;
  std::vector<std::uint64_t> kernels;
  for (const Sequence& rank : ranks) {
    const auto count = rank.kernels_before(number);
    if (!count) return turn;
    kernels.push_back(*count);
  }
  turn.known = true;
  const auto most = std::max_element(kernels.begin(), kernels.end());
  const std::uint64_t others = *std::min_element(kernels.begin(), kernels.end());
  turn.even = *most == others;
  const auto same = static_cast<std::size_t>(std::count(kernels.begin(), kernels.end(), others));
  if (!turn.even && others > 0 && same + 1 == kernels.size() && *most >= others + (others + 1) / 2) {
    const Sequence& rank = ranks[static_cast<std::size_t>(most - kernels.begin())];
    turn.uneven = Ranks::Uneven{number, &rank.process(), *most, others};
  }
  return turn;
}

std::optional<Ranks::Uneven> uneven_before(const std::vector<Sequence>& ranks, std::uint64_t first,
                                           std::uint64_t number) {
  constexpr std::uint64_t kEven = 2;
  std::uint64_t even = 0;
  std::optional<Ranks::Uneven> found;
  for (std::uint64_t at = first + 1; at < number; ++at) {
    const Turn turn = turn_before(ranks, at);
    if (turn.known && !turn.even) {
      // Ranks that launch more than others now and then do so intentionally.
      if (found || !turn.uneven || even < kEven) return std::nullopt;
      found = turn.uneven;
    }
    even = turn.known && turn.even ? even + 1 : 0;
  }
  return found;
}

double begin_of(const Process& process) { return static_cast<double>(process.record.start_realtime) * 1e-9; }

// Sorted by rank, then those without a rank. A process with a rank's environment but no collectives is not a rank if
// another process is, or if it ended before the others began. Returns nullopt if they belong to several jobs.
std::optional<std::vector<Sequence>> sequences(std::vector<const Process*> sorted) {
  const auto order = [](const Process* process) {
    return std::tuple(!process->rank, process->rank.value_or(0), process->pid);
  };
  std::sort(sorted.begin(), sorted.end(), [&](const auto* a, const auto* b) { return order(a) < order(b); });
  std::vector<Sequence> ranks;
  double latest = 0;  // start of a rank that calls collectives
  for (const Process* process : sorted) {
    Sequence sequence(*process);
    if (sequence.issued() > 0) latest = std::max(latest, begin_of(*process));
    const bool same = process->rank && !ranks.empty() && ranks.back().process().rank == process->rank;
    if (sequence.issued() == 0 && (!process->rank || same)) continue;
    if (same && ranks.back().issued() > 0) return std::nullopt;
    if (same) ranks.pop_back();
    ranks.push_back(std::move(sequence));
  }
  std::vector<Sequence> result;
  for (Sequence& rank : ranks) {
    const ProcessRecord& record = rank.process().record;
    const bool gone = record.clock_last != 0 && record.unix_seconds(record.clock_last) < latest;
    if (gone && rank.issued() > 0) return std::nullopt;
    if (!gone) result.push_back(std::move(rank));
  }
  return result;
}

// Returns the collectives in which streams of the process are, or may be, blocked.
std::set<const Operation*> standing_at(const Process& process) {
  std::set<const Operation*> standing;
  const UnfinishedWork work = unfinished_work(process.record);
  for (const UnfinishedStream* stream : standing_streams(work)) {
    if (!stream->proven()) continue;
    for (const Operation* operation : stream->candidates) {
      if (launches_collective(process.record, *operation)) standing.insert(operation);
    }
  }
  return standing;
}

// Returns whether the ranks' blocked operations agree with their counts.
bool is_borne_out(const Ranks& ranks) {
  if (ranks.difference != Ranks::Difference::none) return true;
  bool waits = false;
  for (const RankCall& call : ranks.calls) {
    const std::set<const Operation*> standing = standing_at(*call.process);
    const bool stands_there = standing.contains(call.collective);
    if (ranks.agree() ? !stands_there : call.collective == nullptr && !standing.empty()) return false;
    waits = waits || stands_there;
  }
  return waits;
}

}  // namespace

bool is_collective(std::string_view kernel) {
  return names(kernel, {"ncclDevKernel", "ncclKernel", "ncclSym"}) && !names(kernel, {"SendRecv"});
}

bool launches_collective(const ProcessRecord& record, const Operation& operation) {
  const session::Site* site = by_id(record.sites, operation.site);
  return operation.kind == wire::operation::Kind::kernel && site != nullptr && is_collective_at(record, site->function);
}

bool calls_collectives(const Process& process) {
  const ProcessRecord& record = process.record;
  return std::any_of(record.sites.begin(), record.sites.end(), [&](const session::Site& site) {
    return site.operations > 0 && is_collective_at(record, site.function);
  });
}

bool Ranks::all_have_come() const {
  return std::all_of(calls.begin(), calls.end(), [](const RankCall& call) { return call.collective != nullptr; });
}

bool Ranks::waited_for_long() const {
  return std::any_of(calls.begin(), calls.end(), [](const RankCall& call) {
    const ProcessRecord& record = call.process->record;
    if (call.collective == nullptr) return false;
    // The library's own threads continue, so only the thread of the call counts.
    std::uint64_t latest = 0;
    for (const Operation& operation : record.operations) {
      if (operation.thread == call.collective->thread) latest = std::max(latest, operation.ticks);
    }
    return record.clock_last > latest &&
           record.seconds(record.clock_last) - record.seconds(latest) >= kLongForACollective;
  });
}

std::optional<Ranks> parted_ranks(const std::vector<const Process*>& processes) {
  const auto found = sequences(processes);
  if (!found || found->size() < 2) return std::nullopt;
  const std::vector<Sequence>& ranks = *found;
  std::uint64_t first = 1, last = 0, least = ranks.front().issued();
  for (const Sequence& rank : ranks) {
    if (!rank.whole() || rank.pairs_only()) return std::nullopt;
    first = std::max(first, rank.first());
    last = std::max(last, rank.issued());
    least = std::min(least, rank.issued());
  }
  // Some rank has no collective with the number least + 1, so the ranks diverge there at the latest. The records must
  // reach back to it.
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
  if (!result || !is_borne_out(*result)) return std::nullopt;
  result->first = first;
  result->uneven = uneven_before(ranks, first, result->number);
  return result;
}

std::optional<Ranks> ranks_to_tell(const std::vector<const Process*>& processes, bool hangs) {
  auto ranks = parted_ranks(processes);
  if (ranks && !hangs && (ranks->agree() || !ranks->waited_for_long())) ranks.reset();
  return ranks;
}

}  // namespace cudadiag::analyse
