// Adds operations from a full log to a process's record. A log may have millions of operations, so this adds only the
// few that the analysis may need. Without the log, the record has only the latest operations, which are in the rings.
//
//   unfinished   operations that are not known to have finished
//   events       for each kept wait, the event record that it waited for; for each stream, the latest event record
//                that the host saw complete
//   forward      forward launches of the autograd nodes whose backward functions were running
//   numbers      for each kept operation, the number of operations issued up to and including it
//
// The log is read twice, and is never completely in memory.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/files.h"
#include "session/area_reader.h"
#include "session/full_log.h"

namespace cudadiag::session {

namespace {

// Numbers operations with the help of a full log. The number of an operation is how many operations its process had
// issued up to and including this operation.
class IssueNumbers {
 public:
  // `operations` are the operations to number, sorted by ticks.
  explicit IssueNumbers(std::vector<Operation>& operations) : operations_(operations), counts_(operations.size() + 1) {}

  // Call this once for each operation of the process, including those to number. Calls in roughly ascending order are
  // cheap.
  void count(wire::operation::Kind kind, std::uint64_t ticks);
  // `issued` is the number of operations of the whole process. No operation at or after `since` (ticks) is missing.
  // `since` is 0 if no operation is missing at all.
  void write(std::uint64_t issued, std::uint64_t since);

 private:
  struct Counts {
    std::uint64_t operations = 0, kernels = 0, graphs = 0;
  };
  std::vector<Operation>& operations_;
  std::vector<Counts> counts_;  // number issued from the previous operation to this one; last: after all of them
  std::size_t at_ = 0;
};

using wire::operation::Kind;

void IssueNumbers::count(Kind kind, std::uint64_t ticks) {
  const bool there = (at_ == operations_.size() || operations_[at_].ticks >= ticks) &&
                     (at_ == 0 || operations_[at_ - 1].ticks < ticks);
  if (!there) {
    const auto next = std::ranges::lower_bound(operations_, ticks, {}, &Operation::ticks);
    at_ = static_cast<std::size_t>(next - operations_.begin());
  }
  counts_[at_].operations += wire::operation::has_ordinal(kind);
  counts_[at_].kernels += kind == Kind::kernel;
  counts_[at_].graphs += kind == Kind::graph;
}

void IssueNumbers::write(std::uint64_t issued, std::uint64_t since) {
  std::uint64_t counted = 0;
  for (const Counts& counts : counts_) counted += counts.operations;
  if (since == 0) issued = counted;
  if (issued < counted) return;
  Counts so_far;
  so_far.operations = issued - counted;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    so_far.operations += counts_[i].operations;
    so_far.kernels += counts_[i].kernels;
    so_far.graphs += counts_[i].graphs;
    Operation& operation = operations_[i];
    if (operation.ticks < since) continue;
    operation.issued = so_far.operations;
    if (since == 0 && operation.kind == Kind::kernel && so_far.graphs == 0) operation.kernels = so_far.kernels;
  }
}

// Searches a full log for the forward launches of autograd nodes (wire/operation.h). The nodes are those whose backward
// functions were running when the process stopped.
class ForwardSearch {
 public:
  // For each stream, `completed` contains the ordinal of the last operation that is known to have finished. Ignores
  // records older than `since`.
  ForwardSearch(const ProcessRecord& record, const std::vector<std::uint32_t>& completed, std::uint64_t since);

  bool any() const { return any_; }
  // Call this for each record of the log, right after reading it.
  void look_at(const LogReader& log);
  // Returns the launches. For each thread, also returns one older record, which shows that no earlier launch belongs to
  // these nodes. Returns an empty list if there are too many launches, because an incomplete list is misleading.
  std::vector<LoggedRecord> found() &&;

 private:
  struct Thread {
    std::set<std::uint32_t> nodes;
    std::optional<LoggedRecord> before;
  };
  std::array<Thread, 256> threads_;  // by PyTorch's thread number
  std::uint64_t since_;
  bool any_ = false;
  std::vector<LoggedRecord> found_;
};

namespace o = wire::operation;

constexpr std::size_t kMost = 1u << 20;

ForwardSearch::ForwardSearch(const ProcessRecord& record, const std::vector<std::uint32_t>& completed,
                             std::uint64_t since)
    : since_(since) {
  for (const Operation& operation : record.operations) {
    const AutogradState& origin = operation.origin;
    const bool numbered = origin.node_thread != 0 && origin.node_thread != o::kManyThreads &&
                          origin.node_thread < threads_.size() && origin.node != o::kUnnumbered;
    if (!numbered || operation.stream >= completed.size() || operation.ordinal <= completed[operation.stream]) continue;
    threads_[origin.node_thread].nodes.insert(origin.node);
    any_ = true;
  }
}

void ForwardSearch::look_at(const LogReader& log) {
  const std::byte* record = log.record();
  Thread& thread = threads_[wire::load(record, o::kOwnThread)];
  if (thread.nodes.empty() || wire::load(record, o::kTicks) < since_) return;
  const std::uint32_t number = wire::load(record, o::kNumber);
  if (found_.size() < kMost && thread.nodes.contains(number - 1)) found_.push_back(log.current());
  // Compares the numbers by their signed difference, because they wrap around.
  const bool before = static_cast<std::int32_t>(number - *thread.nodes.begin()) <= 0;
  if (before || log.serial() == 1) thread.before = log.current();
}

std::vector<LoggedRecord> ForwardSearch::found() && {
  if (found_.size() >= kMost) return {};
  for (const Thread& thread : threads_) {
    if (thread.before) found_.push_back(*thread.before);
  }
  return std::move(found_);
}

namespace o = wire::operation;
using o::Kind;
using Id = std::pair<std::uint16_t, std::uint64_t>;  // identifies an operation: thread and serial

// A limit that no stream reaches: the driver blocks the caller before this many operations are outstanding.
constexpr std::size_t kMostUnfinished = 4096;
constexpr std::size_t kMostKept = 1u << 20;
constexpr std::size_t kMostEvents = 1u << 18;
// If several threads use one stream at the same time, their operations may be queued in a different order than their
// ordinals. kContention is the largest displacement that we expect.
constexpr std::uint32_t kContention = 64;

using Kept = LoggedRecord;
Id id_of(const Kept& kept) { return {kept.load(o::kThread), kept.serial}; }
Id id_of(const Operation& operation) { return {operation.thread, operation.serial}; }

bool is_wait(Kind kind) { return kind == Kind::event_wait || kind == Kind::event_sync; }

bool captured(const std::byte* record) { return (wire::load(record, o::kFlags) & o::kCaptured) != 0; }
bool returned(const std::byte* record) { return (wire::load(record, o::kFlags) & o::kReturned) != 0; }
bool worked(const std::byte* record) { return wire::load(record, o::kResult) == 0; }

class Join {
 public:
  Join(LogReader& log, ProcessRecord& record)
      : log_(log), record_(record), logged_(record.threads.size()), streams_(record.streams.size()) {
    for (const Stream& stream : record.streams) completed_.push_back(stream.completed());
    for (const Operation& operation : record.operations) {
      if (is_wait(operation.kind)) waits_.insert(id_of(operation));
    }
    for (std::uint32_t graph = 1; graph <= record.graphs.size(); ++graph) {
      records_no_events_.push_back(!may_record_events(record, graph));
    }
    for (const StalePointer& stale : record.stale_pointers) wanted_.emplace(stale.thread, stale.serial);
  }

  void join() {
    read();
    record_.log->reaches_rings = reaches();
    if (!record_.log->reaches_rings) since_ = std::numeric_limits<std::uint64_t>::max();
    add_kept();
    if (record_.log->reaches_rings) number();
    connect();
  }

 private:
  struct StreamState {
    std::vector<Kept> unfinished;  // the oldest unfinished ones
    std::optional<Kept> newest;    // the newest unfinished one, if there were too many to keep
    std::uint32_t pruned = 0;      // the last ordinal that had finished when `unfinished` was pruned
    // The latest host wait that proved progress on this stream, and the event record that the host waited for.
    std::optional<std::pair<Kept, Kept>> seen;
  };

  void read();
  void note(const std::byte* record);
  void note_unfinished(StreamState& stream, std::uint32_t index, std::uint32_t ordinal);
  void note_wait(Kind kind, const std::byte* record, bool open);
  void prune(StreamState& stream, std::uint32_t index);
  bool reaches() const;
  void add_kept();
  void number();
  void sort();
  void connect();

  void keep(const Kept& kept) {
    if (kept_.size() < kMostKept) kept_.emplace(id_of(kept), kept);
  }
  void add(const Kept& kept);

  LogReader& log_;
  ProcessRecord& record_;
  std::vector<std::uint64_t> logged_;  // by thread: newest serial in the log
  std::vector<StreamState> streams_;
  std::vector<std::uint32_t> completed_;  // by stream: last ordinal known to have finished
  std::set<Id> waits_, wanted_;
  std::unordered_map<std::uint64_t, Kept> events_;  // the latest record of each event
  std::vector<bool> records_no_events_;             // by graph: whether it is completely known and records no event
  std::map<Id, Kept> kept_;
  std::map<Id, Id> links_;   // from a wait to the event record that it waited for
  std::uint64_t since_ = 0;  // no record is missing from these ticks on
  std::vector<Id> present_;  // sorted ids of record_.operations
};

void Join::read() {
  FullLog& log = record_.log.emplace();
  for (log_.rewind();;) {
    const LogReader::Item item = log_.next();
    if (item == LogReader::Item::record) {
      ++log.operations;
      const std::uint8_t thread = wire::load(log_.record(), o::kThread);
      if (thread < logged_.size()) logged_[thread] = log_.serial();
      note(log_.record());
      continue;
    }
    if (item != LogReader::Item::lost) break;
    log.lost += log_.lost_count();
    since_ = std::max(since_, log_.lost_until());
    events_.clear();
  }
  for (std::size_t i = 0; i < std::min(logged_.size(), log_.through().size()); ++i) {
    logged_[i] = std::max(logged_[i], log_.through()[i]);
  }
}

void Join::note(const std::byte* record) {
  const Kind kind = kind_of(record);
  const std::uint32_t index = wire::load(record, o::kStream);
  const std::uint32_t ordinal = wire::load(record, o::kOrdinal);
  if (!wanted_.empty() && wanted_.contains({wire::load(record, o::kThread), log_.serial()})) keep(log_.current());
  if (kind == Kind::event_sync) return note_wait(kind, record, false);
  // If a record is older than its stream's entry, it belongs to an earlier stream that used the same entry.
  const bool placed =
      index < streams_.size() && ordinal != 0 && wire::load(record, o::kTicks) >= record_.streams[index].created;
  const std::uint64_t event = wire::load(record, o::kArgument);
  if (kind == Kind::event_forgotten || (kind == Kind::event_record && !placed && !captured(record)))
    events_.erase(event);
  if (kind == Kind::graph && !captured(record)) {
    const std::uint32_t graph = wire::load(record, o::kGraph);
    if (graph == 0 || graph > records_no_events_.size() || !records_no_events_[graph - 1]) events_.clear();
  }
  if (!placed) return;
  const bool contended = (wire::load(record, o::kFlags) & o::kContended) != 0;
  const std::uint32_t completed = completed_[index];
  if (ordinal > completed || (contended && completed - ordinal < kContention)) {
    note_unfinished(streams_[index], index, ordinal);
  }
  if (kind == Kind::event_wait && !captured(record)) note_wait(kind, record, ordinal > completed);
  // Ignores event records that are older than a gap in the log, because a newer record of the same event may be
  // missing.
  const bool certain = wire::load(record, o::kTicks) >= since_;
  if (kind == Kind::event_record && certain && (!returned(record) || worked(record))) {
    if (events_.size() >= kMostEvents) events_.clear();
    events_.insert_or_assign(event, log_.current());
  }
}

void Join::note_unfinished(StreamState& stream, std::uint32_t index, std::uint32_t ordinal) {
  if (stream.unfinished.size() >= kMostUnfinished && stream.pruned < completed_[index]) prune(stream, index);
  if (stream.unfinished.size() < kMostUnfinished) {
    stream.unfinished.push_back(log_.current());
  } else if (!stream.newest || stream.newest->load(o::kOrdinal) < ordinal) {
    stream.newest = log_.current();
  }
}

// Drops operations that are known to have finished.
void Join::prune(StreamState& stream, std::uint32_t index) {
  stream.pruned = completed_[index];
  std::erase_if(stream.unfinished, [&](const Kept& kept) {
    const std::uint32_t ordinal = kept.load(o::kOrdinal), completed = completed_[index];
    const bool contended = (kept.load(o::kFlags) & o::kContended) != 0;
    return ordinal <= completed && !(contended && completed - ordinal < kContention);
  });
}

void Join::note_wait(Kind kind, const std::byte* record, bool open) {
  if (!record_.sees_events_at(wire::load(record, o::kTicks))) return;
  const auto found = events_.find(wire::load(record, o::kArgument));
  if (found == events_.end()) return;
  const Kept& recorded = found->second;
  // If the event was recorded again during the wait, it is unknown which recording the host waited for.
  const std::uint64_t began = kind == Kind::event_sync ? wire::load(record, o::kBegan) : 0;
  if (began != 0 && recorded.load(o::kTicks) >= began) return;
  // If another thread's call recorded the event and had not returned when the wait began, the host may have waited for
  // an earlier recording.
  const bool by_another = recorded.load(o::kThread) != wire::load(record, o::kThread);
  const bool open_call = (recorded.load(o::kFlags) & o::kReturned) == 0;
  const std::uint64_t given = began != 0 ? began : wire::load(record, o::kTicks);
  if (by_another && (open_call || recorded.load(o::kReturnedAt) > given)) return;
  const Id id{wire::load(record, o::kThread), log_.serial()};
  if ((open && links_.size() < kMostKept) || waits_.contains(id)) {
    keep(recorded);
    links_[id] = id_of(recorded);
  }
  if (kind != Kind::event_sync || !returned(record) || !worked(record)) return;
  std::uint32_t& completed = completed_[recorded.load(o::kStream)];
  if ((recorded.load(o::kFlags) & o::kContended) != 0 || recorded.load(o::kOrdinal) <= completed) return;
  completed = recorded.load(o::kOrdinal);
  streams_[recorded.load(o::kStream)].seen = {log_.current(), recorded};
}

// Returns whether the log and the rings together contain every record of the process.
bool Join::reaches() const {
  std::vector<std::uint64_t> beyond(logged_.size());
  for (const Operation& operation : record_.operations) {
    if (operation.serial > logged_[operation.thread]) ++beyond[operation.thread];
  }
  for (std::size_t i = 0; i < logged_.size(); ++i) {
    if (logged_[i] + beyond[i] < record_.threads[i].published) return false;
  }
  return true;
}

void Join::add(const Kept& kept) {
  if (std::ranges::binary_search(present_, id_of(kept))) return;
  auto operation = decode_operation(kept.copy.data(), kept.serial, record_);
  if (!operation) {
    ++record_.damaged;
    return;
  }
  operation->logged = true;
  operation->graph_words = 0;
  // Drops the autograd state of operations before a gap in the log, because neighbouring operations may be missing.
  if (operation->ticks < since_) operation->origin = {};
  record_.operations.push_back(*operation);
}

void Join::add_kept() {
  sort();
  for (std::uint32_t i = 0; i < streams_.size(); ++i) {
    StreamState& stream = streams_[i];
    prune(stream, i);
    for (const Kept& kept : stream.unfinished) keep(kept);
    if (stream.newest) keep(*stream.newest);
    if (stream.seen) {
      keep(stream.seen->first), keep(stream.seen->second);
      links_[id_of(stream.seen->first)] = id_of(stream.seen->second);
    }
    stream = {};
  }
  for (const auto& [id, kept] : kept_) add(kept);
  kept_.clear();
  sort();
}

void Join::sort() {
  std::ranges::sort(record_.operations, [](const Operation& a, const Operation& b) {
    return std::tie(a.ticks, a.thread, a.serial) < std::tie(b.ticks, b.thread, b.serial);
  });
  present_.clear();
  for (const Operation& operation : record_.operations) present_.push_back(id_of(operation));
  std::ranges::sort(present_);
}

void Join::connect() {
  std::map<Id, std::uint32_t> places;
  for (const auto& [wait, recorded] : links_) places[wait] = places[recorded] = 0;
  for (std::uint32_t i = 0; i < record_.operations.size(); ++i) {
    const auto place = places.find(id_of(record_.operations[i]));
    if (place != places.end()) place->second = i + 1;
  }
  for (const auto& [wait, recorded] : links_) {
    if (places[wait] == 0 || places[recorded] == 0) continue;
    Operation& waiting = record_.operations[places[wait] - 1];
    const Operation& of_event = record_.operations[places[recorded] - 1];
    const bool sound = is_wait(waiting.kind) && of_event.kind == Kind::event_record && of_event.ordinal != 0 &&
                       of_event.stream < record_.streams.size() && of_event.argument == waiting.argument;
    if (sound) waiting.recorded = places[recorded];
  }
}

void Join::number() {
  ForwardSearch forward(record_, completed_, since_);
  IssueNumbers numbers(record_.operations);
  for (log_.rewind();;) {
    const LogReader::Item item = log_.next();
    if (item == LogReader::Item::lost) continue;
    if (item != LogReader::Item::record) break;
    numbers.count(kind_of(log_.record()), wire::load(log_.record(), o::kTicks));
    if (forward.any()) forward.look_at(log_);
  }
  std::uint64_t issued = 0;
  for (const Thread& thread : record_.threads) issued += thread.operations;
  for (const Operation& operation : record_.operations) {
    if (operation.serial > logged_[operation.thread]) numbers.count(operation.kind, operation.ticks);
  }
  if (record_.dropped_operations == 0) numbers.write(issued, since_);
  for (const Kept& kept : std::move(forward).found()) add(kept);
  sort();
}

}  // namespace

void join_log(LogReader& log, ProcessRecord& record) { Join(log, record).join(); }

void attach_logs(const std::filesystem::path& folder, std::vector<Process>& processes) {
  for (const std::filesystem::path& file : base::entries_of(folder)) {
    if (file.extension() != ".log") continue;
    auto log = LogReader::open(file);
    if (!log) continue;
    // Compares the start too, because a process that replaced itself by exec has two areas and two logs.
    const auto whose = std::ranges::find_if(processes, [&](const Process& process) {
      return process.pid == log->pid() && process.record.start_realtime == log->start();
    });
    if (whose == processes.end() || !whose->log.empty()) continue;
    whose->log = file;
    join_log(*log, whose->record);
  }
}

}  // namespace cudadiag::session
