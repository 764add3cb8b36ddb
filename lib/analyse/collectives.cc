#include "analyse/collectives.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>

#include "analyse/record_horizon.h"
#include "analyse/site_keys.h"
#include "analyse/unfinished_work.h"
#include "session/process_record.h"

namespace cudadiag::analyse {
namespace {

using session::by_id;
using session::Operation;
using session::Process;
using session::ProcessRecord;

// Threads that issue collectives at the same time may do so in a different order on each rank. Calls that are at least
// this far apart are not considered swapped.
constexpr std::uint64_t kAtOnce = 8;

bool names(std::string_view kernel, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; });
}

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
         record.damaged == 0 && std::none_of(record.sites.begin(), record.sites.end(), is_nameless);
}

bool has_collectives_in_graphs(const ProcessRecord& record) {
  return std::any_of(record.graphs.begin(), record.graphs.end(), [&](const session::Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(),
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
    std::stable_sort(launches.begin(), launches.end(),
                     [](const Operation* a, const Operation* b) { return a->ticks < b->ticks; });
    std::sort(kernels_.begin(), kernels_.end());
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
      pairs_only_ = pairs_only_ || names(*kernel, {"SendRecv"});
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
      const auto first = std::upper_bound(kernels_.begin(), kernels_.end(), previous->ticks);
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

}  // namespace cudadiag::analyse
