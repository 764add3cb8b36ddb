// Finds where the ranks of a job diverge, from NCCL's communicators.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyse/rank_divergence.h"
#include "analyse/site_keys.h"
#include "analyse/unfinished_work.h"
#include "wire/name_patterns.h"

namespace cudadiag::analyse {
namespace {

using session::by_id;
using session::Operation;
using session::ProcessRecord;

// Finds the recorded kernel that executes a given NCCL call.
class Kernels {
 public:
  explicit Kernels(const ProcessRecord& record) {
    // Checks each name only once, because a process has thousands of launches, but few kernels.
    std::vector<bool> is_nccl;
    for (const std::string& function : record.functions) is_nccl.push_back(wire::is_of_nccl(function));
    for (const Operation& operation : record.operations) {
      const session::Site* site = by_id(record.sites, operation.site);
      const bool launches = operation.kind == wire::operation::Kind::kernel && site != nullptr;
      if (!launches || site->function == 0 || site->function > is_nccl.size() || !is_nccl[site->function - 1]) continue;
      by_thread_[operation.thread].push_back(&operation);
      if (operation.stream < record.streams.size()) {
        by_stream_[record.streams[operation.stream].handle].push_back(&operation);
      }
    }
  }

  // Returns null if the kernel was not launched, or its record was overwritten. A call recorded before its launch
  // belongs to the next kernel on its stream, whichever thread launches it. Any other call belongs to the latest kernel
  // of its thread.
  const Operation* of(const session::Collective& call) const {
    if ((call.flags & wire::collective::kBeforeLaunch) != 0) {
      const auto stream = by_stream_.find(call.stream);
      if (stream == by_stream_.end()) return nullptr;
      const auto after = std::lower_bound(stream->second.begin(), stream->second.end(), call.ticks,
                                          [](const Operation* o, std::uint64_t ticks) { return o->ticks < ticks; });
      return after == stream->second.end() ? nullptr : *after;
    }
    const auto thread = by_thread_.find(call.thread);
    if (thread == by_thread_.end()) return nullptr;
    const auto after = std::upper_bound(thread->second.begin(), thread->second.end(), call.ticks,
                                        [](std::uint64_t ticks, const Operation* o) { return ticks < o->ticks; });
    return after == thread->second.begin() ? nullptr : *(after - 1);
  }

  // Returns whether the call's kernel has yet to be launched: NCCL has launched nothing on the call's stream since the
  // call.
  bool waits_for_launch(const session::Collective& call) const {
    return (call.flags & wire::collective::kBeforeLaunch) != 0 && of(call) == nullptr;
  }

 private:
  std::map<std::uint16_t, std::vector<const Operation*>> by_thread_;  // sorted by ticks
  std::map<std::uint64_t, std::vector<const Operation*>> by_stream_;  // sorted by ticks; the key is a CUstream
};

void add_calls(const ProcessRecord& record, std::size_t most, RankState& state) {
  const SiteKeys keys(record);
  std::map<std::uint32_t, wire::site_key::Key> lines;
  const std::size_t first = record.collectives.size() - std::min(most, record.collectives.size());
  for (std::size_t i = first; i < record.collectives.size(); ++i) {
    RankState::Call& call = state.calls.emplace_back();
    static_cast<session::Collective&>(call) = record.collectives[i];
    const auto [line, is_new] = lines.emplace(call.site, 0);
    if (is_new) line->second = keys.of_innermost(call.site);
    call.line = line->second;
    call.made = record.unix_seconds(call.ticks);
  }
}

void add_unfinished(const ProcessRecord& record, RankState& state) {
  const Kernels kernels(record);
  std::map<const Operation*, std::vector<std::size_t>> calls_of;
  std::vector<std::size_t> not_launched;
  for (std::size_t i = 0; i < state.calls.size(); ++i) {
    const RankState::Call& call = state.calls[i];
    if ((call.flags & wire::collective::kCaptured) != 0) continue;
    if (const Operation* kernel = kernels.of(call)) {
      calls_of[kernel].push_back(i);
    } else if (kernels.waits_for_launch(call)) {
      not_launched.push_back(i);
    }
  }
  const UnfinishedWork work = unfinished_work(record);
  for (const UnfinishedStream& stream : work.streams) {
    std::vector<std::size_t> calls;
    for (const Operation* candidate : stream.candidates) {
      const auto found = calls_of.find(candidate);
      if (found != calls_of.end()) calls.insert(calls.end(), found->second.begin(), found->second.end());
    }
    if (!calls.empty()) state.unfinished.push_back(std::move(calls));
    const std::uint32_t last = stream.candidates.empty() ? 0 : stream.candidates.back()->ordinal;
    for (const Operation* operation : stream.operations) {
      const auto found = calls_of.find(operation);
      if (last == 0 || !stream.proven() || operation->ordinal <= last || found == calls_of.end()) continue;
      for (const std::size_t call : found->second) state.calls[call].flags |= RankState::kQueued;
    }
  }
  if (!not_launched.empty()) state.unfinished.push_back(std::move(not_launched));
}

double seconds_waited(const ProcessRecord& record, std::uint16_t thread) {
  std::uint64_t latest = 0;
  for (const Operation& operation : record.operations) {
    if (operation.thread == thread) latest = std::max(latest, operation.ticks);
  }
  return record.clock_last > latest ? record.seconds(record.clock_last) - record.seconds(latest) : 0;
}

}  // namespace

bool launches_nccl(const ProcessRecord& record, const Operation& operation) {
  const std::string* kernel = session::kernel_at(record, operation.site);
  return operation.kind == wire::operation::Kind::kernel && kernel != nullptr && wire::is_of_nccl(*kernel);
}

std::optional<RankState> rank_state(const session::Process& process, std::size_t most) {
  const ProcessRecord& record = process.record;
  if (record.communicators.empty()) return std::nullopt;
  RankState state;
  state.rank = process.rank;
  state.pid = process.pid;
  state.communicators = record.communicators;
  state.is_whole = record.dropped_communicators == 0 && record.dropped_peers == 0;
  add_calls(record, most, state);
  add_unfinished(record, state);
  if (!state.calls.empty()) state.waited = seconds_waited(record, state.calls.back().thread);
  return state;
}

namespace {

using wire::collective::Function;
using Call = RankState::Call;

struct Member {
  std::size_t state = 0;
  const session::Communicator* communicator = nullptr;
  std::uint32_t index = 0;  // index of the communicator in its process
};
using Members = std::map<std::int32_t, Member>;  // by rank in the group

struct Waiting {
  std::size_t state = 0, call = 0;
  const std::vector<std::size_t>* blockers = nullptr;  // states that have not reached it
};

// Calls of different ranks belong together, or meet, if their keys are equal. A key consists of the group's hash, the
// sender and receiver of a message, and the ordinal.
using MeetingKey = std::tuple<std::uint64_t, std::int32_t, std::int32_t, std::uint32_t>;

struct Meeting {
  MeetingKey key;
  std::size_t state = 0, call = 0;
  auto operator<=>(const Meeting&) const = default;
};

bool is_message(const Call& call) { return wire::collective::is_point_to_point(call.function); }

MeetingKey meeting_of(const session::Communicator& group, const Call& call) {
  if (!is_message(call)) return {group.hash, -1, -1, call.ordinal};
  const bool sends = call.function == Function::send;
  return {group.hash, sends ? group.rank : call.peer, sends ? call.peer : group.rank, call.ordinal};
}

// Finds the first collective of a group that ranks call from different lines, having called all earlier ones from the
// same lines. Ignores later differences, because they are probably intentional.
class LineHistory {
 public:
  // Call this for all calls of a group in order. `b` is the call, and `a` is the first call with the same key.
  bool part(const Meeting& meeting, const Call& a, const Call& b) {
    if (is_message(a) || a.line == 0 || b.line == 0) return false;
    const std::uint64_t hash = std::get<0>(meeting.key);
    const std::uint32_t ordinal = std::get<3>(meeting.key);
    if (hash != hash_) hash_ = hash, first_ = ordinal, parted_ = 0;
    if (a.line != b.line) {
      const bool is_news = parted_ == 0 && ordinal > first_;
      parted_ = ordinal;
      return is_news;
    }
    return false;
  }

 private:
  std::uint64_t hash_ = 0;
  std::uint32_t first_ = 0, parted_ = 0;
};

class Job {
 public:
  explicit Job(std::span<const RankState> states) : states_(states), first_wait_(states.size()) {
    for (std::size_t state = 0; state < states.size(); ++state) {
      const auto& communicators = states[state].communicators;
      for (std::uint32_t i = 0; i < communicators.size(); ++i) {
        // If two communicators have the same hash, the later one replaces the earlier one.
        if (communicators[i].hash != 0)
          groups_[communicators[i].hash][communicators[i].rank] = {state, &communicators[i], i};
      }
    }
    for (std::size_t state = 0; state < states.size(); ++state) {
      for (const Call& call : states[state].calls) {
        if ((call.flags & RankState::kQueued) != 0) queued_.emplace(meeting_of(group_of(state, call), call), state);
      }
    }
    for (std::size_t state = 0; state < states.size(); ++state) {
      for (const auto& stream : states[state].unfinished) add_waiting(state, stream);
    }
  }

  std::optional<GroupAnswer> answer(bool hangs) const {
    if (auto mismatch = find_mismatch()) return mismatch;
    if (auto absence = find_absence()) return absence;
    if (auto circle = find_circle()) return circle;
    return hangs ? find_present() : std::nullopt;
  }

 private:
  const Call& call_of(const Waiting& waiting) const { return states_[waiting.state].calls[waiting.call]; }
  const session::Communicator& group_of(std::size_t state, const Call& call) const {
    return states_[state].communicators[call.communicator];
  }
  const Members& members_of(const session::Communicator& group) const { return groups_.at(group.hash); }

  // Counts the calls that the other rank has made in `group` and that may meet `call`. The count is compared with the
  // ordinal of `call`.
  static std::uint64_t times_come(const session::Communicator& group, const session::Communicator& other,
                                  const Call& call) {
    if (!is_message(call)) return other.collectives;
    const auto& calls = call.function == Function::send ? other.receives : other.sends;
    const auto found = calls.find(static_cast<std::uint32_t>(group.rank));
    return found == calls.end() ? 0 : found->second;
  }

  // Returns whether the partner's GPU can take part in the call: the partner has made the call, and nothing earlier on
  // its stream is pending.
  bool has_come(std::size_t state, const Call& call, const Member& partner) const {
    const session::Communicator& group = group_of(state, call);
    return times_come(group, *partner.communicator, call) >= call.ordinal &&
           !queued_.contains({meeting_of(group, call), partner.state});
  }

  // Returns the other recorded ranks that take part in the call.
  std::vector<const Member*> partners(std::size_t state, const Call& call) const {
    const session::Communicator& group = group_of(state, call);
    std::vector<const Member*> found;
    for (const auto& [rank, member] : members_of(group)) {
      if (rank != group.rank && (!is_message(call) || rank == call.peer)) found.push_back(&member);
    }
    return found;
  }

  // Adds the stream's oldest call that another rank has not reached. Later calls of the stream have not begun.
  void add_waiting(std::size_t state, const std::vector<std::size_t>& stream) {
    for (const std::size_t index : stream) {
      const Call& call = states_[state].calls[index];
      if (call.ordinal == 0 || group_of(state, call).hash == 0) continue;
      const Waiting waiting{state, index, &blockers_of(state, call)};
      if (waiting.blockers->empty()) {
        met_.push_back(waiting);
      } else {
        if (!first_wait_[state]) first_wait_[state] = waiting_.size();
        waiting_.push_back(waiting);
        return;
      }
    }
  }

  // Returns the states of the ranks that have not reached the call. All ranks that wait in a collective have the same
  // blockers, so they share one list.
  const std::vector<std::size_t>& blockers_of(std::size_t state, const Call& call) {
    const std::pair key(meeting_of(group_of(state, call), call), call.function == Function::receive);
    const auto [found, is_new] = blockers_.try_emplace(key);
    if (is_new) {
      for (const Member* partner : partners(state, call)) {
        if (!has_come(state, call, *partner)) found->second.push_back(partner->state);
      }
    }
    return found->second;
  }

  // Returns the member's call that meets `call`; nullopt if the member has not made it, or its record is lost.
  std::optional<std::size_t> counterpart(const session::Communicator& group, const Member& member,
                                         const Call& call) const {
    const RankState& state = states_[member.state];
    for (std::size_t i = state.calls.size(); i-- > 0;) {
      const Call& other = state.calls[i];
      if (other.communicator != member.index || other.ordinal != call.ordinal) continue;
      if (!is_message(call) && !is_message(other)) return i;
      const Function meets = call.function == Function::send ? Function::receive : Function::send;
      if (is_message(call) && other.function == meets && other.peer == group.rank) return i;
    }
    return std::nullopt;
  }

  GroupAnswer answer_at(std::size_t state, std::size_t index) const {
    const Call& call = states_[state].calls[index];
    const session::Communicator& group = group_of(state, call);
    GroupAnswer answer;
    answer.group = group;
    answer.call = call;
    answer.ranks.push_back({state, group.rank, index, true, {}});
    for (const Member* partner : partners(state, call)) {
      GroupAnswer::Rank rank{
          partner->state, partner->communicator->rank, counterpart(group, *partner, call), false, {}};
      rank.has_come = has_come(state, call, *partner);
      const auto& wait = first_wait_[partner->state];
      if (!rank.has_come && wait) rank.waits_in = waiting_[*wait].call;
      if (rank.call && states_[rank.state].calls[*rank.call].made < answer.call.made && !is_message(call)) {
        answer.call = states_[rank.state].calls[*rank.call];
      }
      answer.ranks.push_back(rank);
    }
    std::ranges::sort(answer.ranks, [](const auto& a, const auto& b) { return a.rank < b.rank; });
    const Members& members = members_of(group);
    if (is_message(call)) {
      if (!members.contains(call.peer)) answer.unseen.push_back(call.peer);
    } else {
      for (std::int32_t rank = 0; rank < group.ranks; ++rank) {
        if (!members.contains(rank)) answer.unseen.push_back(rank);
      }
    }
    return answer;
  }

  // ---- mismatches

  static GroupAnswer::Difference difference(const Call& a, const Call& b) {
    using Difference = GroupAnswer::Difference;
    if (is_message(a)) {
      return a.count != b.count ? Difference::count : a.type != b.type ? Difference::type : Difference::none;
    }
    if (a.function != b.function) return Difference::function;
    if (((a.flags | b.flags) & RankState::kOwnSize) != 0) return Difference::none;
    if (a.count != b.count) return Difference::count;
    if (a.type != b.type) return Difference::type;
    return a.peer != b.peer ? Difference::root : Difference::none;
  }

  // Returns all recorded calls of groups in which a rank waits; calls that meet are adjacent.
  std::vector<Meeting> meetings() const {
    std::set<std::uint64_t> wanted;
    for (const auto* all : {&waiting_, &met_}) {
      for (const Waiting& waiting : *all) wanted.insert(group_of(waiting.state, call_of(waiting)).hash);
    }
    std::vector<Meeting> found;
    for (std::size_t state = 0; state < states_.size(); ++state) {
      for (std::size_t i = 0; i < states_[state].calls.size(); ++i) {
        const Call& call = states_[state].calls[i];
        const session::Communicator& group = group_of(state, call);
        if (call.ordinal != 0 && wanted.contains(group.hash)) found.push_back({meeting_of(group, call), state, i});
      }
    }
    std::ranges::sort(found);
    return found;
  }

  const Call& call_of(const Meeting& meeting) const { return states_[meeting.state].calls[meeting.call]; }

  // Finds the first call in which the ranks differ.
  std::optional<GroupAnswer> find_mismatch() const {
    const std::vector<Meeting> all = meetings();
    const Meeting* first = nullptr;
    GroupAnswer::Difference of_first = GroupAnswer::Difference::none;
    LineHistory lines;
    for (std::size_t i = 0, begin = 0; i < all.size(); ++i) {
      if (all[i].key != all[begin].key) begin = i;
      const Call &a = call_of(all[begin]), &b = call_of(all[i]);
      auto found = difference(a, b);
      const bool parts = lines.part(all[i], a, b);
      if (found == GroupAnswer::Difference::none && parts) found = GroupAnswer::Difference::line;
      if (found == GroupAnswer::Difference::none || (first != nullptr && call_of(*first).made <= a.made)) continue;
      first = &all[begin];
      of_first = found;
    }
    if (first == nullptr) return std::nullopt;
    GroupAnswer answer = answer_at(first->state, first->call);
    answer.kind = GroupAnswer::Kind::mismatch;
    answer.difference = of_first;
    return answer;
  }

  // ---- ranks that have not reached the call

  // Finds the earliest call in which a rank waits for a rank that is not waiting itself.
  std::optional<GroupAnswer> find_absence() const {
    const Waiting* first = nullptr;
    for (const Waiting& waiting : waiting_) {
      const bool is_root = std::ranges::any_of(
          *waiting.blockers, [&](std::size_t blocker) { return !first_wait_[blocker] || blocker == waiting.state; });
      if (is_root && (first == nullptr || call_of(waiting).made < call_of(*first).made)) first = &waiting;
    }
    if (first == nullptr) return std::nullopt;
    GroupAnswer answer = answer_at(first->state, first->call);
    answer.kind = GroupAnswer::Kind::absence;
    return answer;
  }

  // Each rank waits for another waiting rank, so following the waits leads back to a rank already visited.
  std::optional<GroupAnswer> find_circle() const {
    if (waiting_.empty()) return std::nullopt;
    std::vector<const Waiting*> path;
    const Waiting* at = &waiting_.front();
    for (;;) {
      const auto known = std::ranges::find_if(path, [&](const Waiting* w) { return w->state == at->state; });
      if (known != path.end()) {
        path.erase(path.begin(), known);
        break;
      }
      path.push_back(at);
      at = &waiting_[*first_wait_[at->blockers->front()]];
    }
    GroupAnswer answer = answer_at(path.front()->state, path.front()->call);
    answer.kind = GroupAnswer::Kind::circle;
    for (const Waiting* waiting : path) {
      answer.circle.push_back({waiting->state, waiting->call, waiting->blockers->front()});
    }
    return answer;
  }

  // For calls that all ranks have reached: finds the earliest one that is unfinished on every rank.
  std::optional<GroupAnswer> find_present() const {
    std::map<MeetingKey, std::size_t> ranks_at;
    for (const Waiting& waiting : met_) {
      // A Flight Recorder dump does not show the order in which a rank's calls to different groups run. The rank may
      // therefore be waiting in another call.
      const RankState& state = states_[waiting.state];
      if (state.is_dumped && state.unfinished.size() > 1) continue;
      ++ranks_at[meeting_of(group_of(waiting.state, call_of(waiting)), call_of(waiting))];
    }
    const Waiting* first = nullptr;
    for (const Waiting& waiting : met_) {
      const Call& call = call_of(waiting);
      const session::Communicator& group = group_of(waiting.state, call);
      const std::size_t wanted = is_message(call) ? 2 : members_of(group).size();
      const bool all = ranks_at[meeting_of(group, call)] == wanted;
      if (all && (first == nullptr || call.made < call_of(*first).made)) first = &waiting;
    }
    if (first == nullptr) return std::nullopt;
    GroupAnswer answer = answer_at(first->state, first->call);
    // A rank without a recording may be the one that has not reached the call.
    answer.kind = answer.unseen.empty() ? GroupAnswer::Kind::present : GroupAnswer::Kind::absence;
    return answer;
  }

  std::span<const RankState> states_;
  std::map<std::uint64_t, Members> groups_;              // by hash
  std::set<std::pair<MeetingKey, std::size_t>> queued_;  // calls that have not begun, and the states that made them
  std::map<std::pair<MeetingKey, bool>, std::vector<std::size_t>> blockers_;  // by meeting and direction
  std::vector<Waiting> waiting_;
  std::vector<std::optional<std::size_t>> first_wait_;  // by state: index in waiting_
  std::vector<Waiting> met_;                            // unfinished calls that all ranks have reached
};

}  // namespace

std::optional<GroupAnswer> group_answer(std::span<const RankState> ranks, bool hangs) {
  const bool whole = std::ranges::all_of(ranks, &RankState::is_whole);
  const bool waits_long = std::ranges::any_of(
      ranks, [](const RankState& rank) { return !rank.unfinished.empty() && rank.waited >= kLongForACollective; });
  if (!whole || (!hangs && !waits_long)) return std::nullopt;
  return Job(ranks).answer(hangs);
}

}  // namespace cudadiag::analyse
