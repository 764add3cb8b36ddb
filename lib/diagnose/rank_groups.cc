// Explains why a job with several groups of ranks is blocked, and names the groups.
#include <fmt/core.h>

#include <algorithm>

#include "analyse/process_ending.h"
#include "analyse/unfinished_work.h"
#include "base/text.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/line_resolver.h"
#include "diagnose/ranks.h"
#include "diagnose/words.h"

namespace cudadiag::diagnose {
namespace {

struct Group {
  std::string name;  // name from the program; empty if none
  std::int32_t size = 0;
  std::vector<RankName> ranks;
  std::uint64_t made = 0;  // how many communicators its first rank had created earlier
};

// Returns text such as "ranks 2 and 3", or "ranks 0-5 and 2 more" if some ranks left no recording.
std::string ranks_of(const Group& group) {
  const auto missing = group.size - static_cast<std::int32_t>(group.ranks.size());
  return names_of(group.ranks) + (missing > 0 ? fmt::format(" and {} more", missing) : "");
}

}  // namespace

GroupNames::GroupNames(std::span<const analyse::RankState> states) {
  std::map<std::uint64_t, Group> groups;
  for (const analyse::RankState& state : states) {
    for (std::size_t i = 0; i < state.communicators.size(); ++i) {
      const session::Communicator& communicator = state.communicators[i];
      Group& group = groups[communicator.hash];
      if (group.name.empty()) group.name = communicator.name;
      group.size = communicator.ranks;
      if (group.ranks.empty()) group.made = i;
      const RankName rank{state.rank, state.pid};
      ranks_[{communicator.hash, communicator.rank}] = names_of({rank});
      if (group.ranks.empty() || !(group.ranks.back() == rank)) group.ranks.push_back(rank);
    }
  }
  std::map<std::string, std::vector<std::uint64_t>> alike;
  std::map<std::string, int> named;
  for (const auto& [hash, group] : groups) ++named[group.name];
  for (auto& [hash, group] : groups) {
    std::ranges::sort(group.ranks);
    if (group.name.empty()) {
      alike[ranks_of(group)].push_back(hash);
    } else {
      // If the program gave several groups the same name, the text also lists their ranks.
      groups_[hash] = "group " + base::printable(group.name) + (named[group.name] > 1 ? " of " + ranks_of(group) : "");
    }
  }
  for (auto& [ranks, hashes] : alike) {
    std::ranges::sort(hashes, [&](std::uint64_t a, std::uint64_t b) { return groups.at(a).made < groups.at(b).made; });
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      groups_[hashes[i]] = hashes.size() == 1 ? "the group of " + ranks : fmt::format("group {} of {}", i + 1, ranks);
    }
  }
}

std::string GroupNames::rank(std::uint64_t hash, std::int32_t rank) const {
  const auto found = ranks_.find({hash, rank});
  return found == ranks_.end() ? fmt::format("rank {} of the group", rank) : found->second;
}

namespace {

using analyse::GroupAnswer;
using analyse::RankState;
using GroupKind = GroupAnswer::Kind;
using GroupDifference = GroupAnswer::Difference;
using wire::collective::Function;

// Names, in the order of wire::collective::Function and Type.
constexpr std::array<std::string_view, wire::collective::kFunctionNames.size()> kFunctions = {
    "collective", "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
    "all_to_all", "gather",     "scatter",    "send",           "recv"};
constexpr std::array<std::string_view, wire::collective::kTypeNames.size()> kTypes = {
    "elements", "int8",    "uint8",   "int32",    "uint32",     "int64",     "uint64",
    "float16",  "float32", "float64", "bfloat16", "float8e4m3", "float8e5m2"};

std::string function_of(const session::Collective& call) {
  return std::string(kFunctions[static_cast<std::size_t>(call.function)]);
}

std::uint64_t number_of(const session::Collective& call) {
  return call.of_function != 0 ? call.of_function : call.ordinal;
}

bool is_message(const session::Collective& call) { return wire::collective::is_point_to_point(call.function); }

// Describes a call: "all_reduce 481 of 1,024 float32", or "all_reduce 481" if the ranks need not agree on the size.
std::string described(const session::Collective& call) {
  if ((call.flags & RankState::kOwnSize) != 0) return function_of(call) + ' ' + thousands(number_of(call));
  return fmt::format("{} {} of {} {}", function_of(call), thousands(number_of(call)), thousands(call.count),
                     kTypes[static_cast<std::size_t>(call.type)]);
}

// Names a call and its group: "send 4 to rank 3 in group pp1" or "all_reduce 481 of group tp1".
std::string named_call(const GroupNames& names, const session::Communicator& group, const session::Collective& call) {
  const std::string what = function_of(call) + ' ' + thousands(number_of(call));
  if (!is_message(call)) return what + " of " + names.group(group.hash);
  const char* way = call.function == Function::send ? " to " : " from ";
  return what + way + names.rank(group.hash, call.peer) + " in " + names.group(group.hash);
}

Location line_of(const RecordedRank& rank, std::uint32_t site) {
  return site == 0 ? Location{} : located(resolve(rank.symbolizer, rank.process, site).line.location);
}

Location line_of(const RecordedRank& rank, const std::vector<session::DeliveredFrame>& frames) {
  const symbolize::SourceStack stack = rank.symbolizer.stack(rank.process, frames);
  return frames.empty() ? Location{} : located(rank.symbolizer.true_line(stack, "").location);
}

// Describes what a rank is doing if it has not reached the call.
void describe_absent(const RecordedRank& from, GroupRank& rank) {
  const session::ProcessRecord& record = from.process.record;
  const analyse::Ending end = analyse::own_ending(from.process);
  const session::Manifest& manifest = from.session.manifest;
  if (manifest.ended_before_hang.contains(rank.pid)) {
    rank.does = end.known ? "ended earlier, with " + end.text : "ended earlier";
    return;
  }
  const analyse::UnfinishedWork work = analyse::unfinished_work(record);
  for (const analyse::UnfinishedStream* stream : analyse::standing_streams(work)) {
    if (!stream->proven() || stream->candidates.empty()) continue;
    const session::Operation& operation = *stream->candidates.front();
    const ResolvedSite site = resolve(from.symbolizer, from.process, operation.site);
    rank.location = located(site.line.location);
    const std::string kernel = site.mangled.empty() ? "" : base::demangle(site.mangled);
    rank.does = kernel.empty() ? "waits for its own GPU work"
                               : "is in kernel " + base::printable(short_kernel_name(kernel, 60));
    return;
  }
  for (const analyse::WaitingThread& thread : work.threads) {
    const auto& blocked = thread.thread->blocked;
    if (blocked.call.empty()) continue;
    rank.location = line_of(from, thread.site);
    rank.does = "is in " + base::printable(blocked.outer.empty() ? blocked.call : blocked.outer);
    return;
  }
  if (auto line = host_line(from.session, from.process, from.symbolizer)) {
    rank.location = std::move(*line);
    rank.does = "is on the host";
    return;
  }
  const session::Operation* latest = latest_of_a_line(from.process, from.symbolizer);
  if (latest == nullptr) {
    rank.does = "has issued no GPU work";
    return;
  }
  rank.location = line_of(from, latest->site);
  rank.does = "last worked";
  if (record.clock_last > latest->ticks) {
    rank.does +=
        fmt::format(" {} earlier", duration(record.seconds(record.clock_last) - record.seconds(latest->ticks)));
  }
}

class Resolution {
 public:
  Resolution(const GroupAnswer& answer, std::span<const RankState> states,
             const std::function<RecordedRank(std::size_t)>& recorded)
      : answer_(answer), states_(states), recorded_(recorded), names_(states) {}

  std::string title() const { return names_.group(answer_.group.hash); }

  GroupRank rank(const GroupAnswer::Rank& from) {
    const RankState& state = states_[from.state];
    GroupRank rank{state.pid, state.rank, from.rank, from.has_come, "", {}, ""};
    if (from.has_come) {
      if (!from.call) return rank;
      const RankState::Call& call = state.calls[*from.call];
      rank.call = described(call);
      rank.location = location_of(from.state, call);
    } else if (from.waits_in) {
      const RankState::Call& call = state.calls[*from.waits_in];
      rank.does = "waits in " + named_call(names_, state.communicators[call.communicator], call);
      rank.location = location_of(from.state, call);
    } else if (const RecordedRank recorded = recorded_(from.state); recorded.is_own) {
      describe_absent(recorded, rank);
    } else {
      rank.does =
          state.calls.empty() ? "has not called any collective" : "last called " + described(state.calls.back());
      if (!state.calls.empty()) rank.location = location_of(from.state, state.calls.back());
    }
    return rank;
  }

  GroupWait wait(const GroupAnswer::Wait& from) {
    const RankState &state = states_[from.state], &other = states_[from.for_state];
    const RankState::Call& call = state.calls[from.call];
    GroupWait wait;
    wait.rank = state.rank, wait.for_rank = other.rank;
    wait.pid = state.pid, wait.for_pid = other.pid;
    wait.call = named_call(names_, state.communicators[call.communicator], call);
    wait.location = location_of(from.state, call);
    return wait;
  }

 private:
  // Many ranks call from the same line, so each line is resolved only once.
  Location location_of(std::size_t state, const RankState::Call& call) {
    if (call.line != 0) {
      const auto known = known_.find(call.line);
      if (known != known_.end()) return known->second;
    }
    const RankState& from = states_[state];
    Location found = !from.is_dumped  ? line_of(recorded_(state), call.site)
                     : call.site == 0 ? Location{}
                                      : line_of(recorded_(state), from.stacks[call.site - 1]);
    if (call.line != 0) known_.emplace(call.line, found);
    return found;
  }

  const GroupAnswer& answer_;
  std::span<const RankState> states_;
  const std::function<RecordedRank(std::size_t)>& recorded_;
  const GroupNames names_;
  std::map<wire::site_key::Key, Location> known_;
};

std::string at(const Location& location, const std::string& directory) {
  return location.nearest().line == 0 ? "" : " at " + place(location, directory);
}

template <typename Wanted>
std::vector<const GroupRank*> those(const GroupsPart& part, Wanted wanted) {
  std::vector<const GroupRank*> found;
  for (const GroupRank& rank : part.ranks) {
    if (wanted(rank)) found.push_back(&rank);
  }
  return found;
}

using Texts = std::vector<std::pair<std::string, std::vector<const GroupRank*>>>;

// Groups the ranks that have the same text, the largest group first.
template <typename Text>
Texts by_text(const std::vector<const GroupRank*>& ranks, Text text) {
  Texts texts;
  std::map<std::string, std::size_t> known;
  for (const GroupRank* rank : ranks) {
    const std::string own = text(*rank);
    const auto [found, is_new] = known.emplace(own, texts.size());
    if (is_new) texts.push_back({own, {}});
    texts[found->second].second.push_back(rank);
  }
  std::ranges::stable_sort(texts, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  return texts;
}

std::vector<const GroupRank*> missing(const GroupsPart& part) {
  return those(part, [](const GroupRank& rank) { return !rank.has_come; });
}

std::string unseen_ranks(const GroupsPart& part) {
  std::vector<RankName> names;
  for (const std::int32_t rank : part.unseen) names.push_back({rank, 0});
  return names_of(names);
}

std::string call_text(const GroupRank& rank, const std::string& directory) {
  return (rank.call.empty() ? "reached it, but the record is lost" : rank.call) + at(rank.location, directory);
}

std::string absent_text(const GroupRank& rank, const std::string& directory) {
  return rank.does + at(rank.location, directory);
}

std::string what(const GroupsPart& part) {
  return fmt::format("{} {} of {}", part.function, thousands(part.number), part.title);
}

std::string absence_sentence(const GroupsPart& part, const std::string& directory) {
  const std::vector<const GroupRank*> absent = missing(part);
  if (absent.empty() && part.unseen.empty()) {
    return fmt::format("ranks of {} wait in {} {} for a rank whose calls were not recorded", part.title, part.function,
                       thousands(part.number));
  }
  if (absent.empty()) {
    const bool one = part.unseen.size() == 1;
    return fmt::format("{} of {} {} not recorded, and the others wait in {} {} for {}", unseen_ranks(part), part.title,
                       one ? "was" : "were", part.function, thousands(part.number), one ? "it" : "them");
  }
  const Texts texts = by_text(absent, [&](const GroupRank& rank) { return absent_text(rank, directory); });
  const char* pronoun = absent.size() == 1 ? "it" : "the first of them";
  return fmt::format("{} never reached {}: {} {}", names_of(absent), what(part), pronoun, texts.front().first);
}

std::string mismatch_sentence(const GroupsPart& part, const std::string& directory) {
  const bool of_line = part.difference == GroupDifference::line;
  const Texts texts = by_text(those(part, [](const GroupRank& rank) { return !rank.call.empty(); }),
                              [&](const GroupRank& rank) { return of_line ? call_text(rank, directory) : rank.call; });
  const char* does =
      part.difference == GroupDifference::function ? "call different collectives" : "pass different data";
  if (texts.size() < 2) return fmt::format("at {}, the ranks {}", what(part), does);
  const auto& [odd, odd_ranks] = texts.back();
  const auto& [usual, usual_ranks] = texts.front();
  return fmt::format("{} {} {}{}, while {} {} {}, in {}", names_of(odd_ranks), odd_ranks.size() == 1 ? "calls" : "call",
                     odd, of_line ? "" : at(odd_ranks.front()->location, directory), names_of(usual_ranks),
                     usual_ranks.size() == 1 ? "calls" : "call", usual, part.title);
}

// Returns a line that names the Flight Recorder dumps on which the answer is based.
std::string origin(const GroupsPart& part) {
  const std::size_t others = part.dumps.size() - 1;
  const std::string more = others == 0 ? "" : fmt::format(" and {} other{}", others, others == 1 ? "" : "s");
  return fmt::format("from PyTorch's Flight Recorder [{}]: {}{}", word(grade(*part.known_by())), part.dumps.front(),
                     more);
}

std::string circle_sentence(const GroupsPart& part) {
  std::string text = "ranks wait for each other in a cycle";
  for (std::size_t i = 0; i < part.circle.size(); ++i) {
    const GroupWait& wait = part.circle[i];
    text += fmt::format("{} {} waits for {} in {}", i == 0 ? ":" : ";", names_of({{wait.rank, wait.pid}}),
                        names_of({{wait.for_rank, wait.for_pid}}), wait.call);
  }
  return text;
}

}  // namespace

GroupsPart groups_part(const GroupAnswer& answer, std::span<const RankState> states,
                       const std::function<RecordedRank(std::size_t state)>& recorded) {
  Resolution resolution(answer, states, recorded);
  GroupsPart part;
  part.kind = answer.kind;
  part.difference = answer.difference;
  part.group = answer.group.name;
  part.title = resolution.title();
  part.hash = answer.group.hash;
  part.size = answer.group.ranks;
  part.function = function_of(answer.call);
  part.number = number_of(answer.call);
  part.unseen = answer.unseen;
  for (const GroupAnswer::Rank& rank : answer.ranks) part.ranks.push_back(resolution.rank(rank));
  for (const GroupAnswer::Wait& wait : answer.circle) part.circle.push_back(resolution.wait(wait));
  return part;
}

std::string group_sentence(const GroupsPart& part, const std::string& directory) {
  switch (part.kind) {
    case GroupKind::absence:
      return absence_sentence(part, directory);
    case GroupKind::mismatch:
      return mismatch_sentence(part, directory);
    case GroupKind::circle:
      return circle_sentence(part);
    case GroupKind::present:
      return fmt::format("all {} ranks of {} have called {} {} in the same way, and it never finishes",
                         part.ranks.size(), part.title, part.function, thousands(part.number));
  }
  return "";
}

std::vector<std::string> group_lines(const GroupsPart& part, const std::string& directory) {
  std::vector<std::string> lines;
  if (part.kind == GroupKind::circle) {
    for (const GroupWait& wait : part.circle) {
      lines.push_back(
          fmt::format("{}: {}{}", names_of({{wait.rank, wait.pid}}), wait.call, at(wait.location, directory)));
    }
    if (!part.dumps.empty()) lines.push_back(origin(part));
    return lines;
  }
  for (const auto& [text, ranks] : by_text(those(part, [](const GroupRank& rank) { return rank.has_come; }),
                                           [&](const GroupRank& rank) { return call_text(rank, directory); })) {
    lines.push_back(names_of(ranks) + ": " + text);
  }
  for (const auto& [text, ranks] :
       by_text(missing(part), [&](const GroupRank& rank) { return absent_text(rank, directory); })) {
    lines.push_back(names_of(ranks) + ": " + text);
  }
  if (!part.unseen.empty()) {
    lines.push_back(fmt::format("not recorded: {} of {}", unseen_ranks(part), part.title));
  }
  if (!part.dumps.empty()) lines.push_back(origin(part));
  return lines;
}

causes::RanksInWords in_words(const GroupsPart& part, const std::string& directory) {
  causes::RanksInWords words;
  words.ranks = part.ranks.size();
  switch (part.kind) {
    case GroupKind::absence:
      words.difference = RanksDifference::absence;
      words.missing = missing(part).empty() ? unseen_ranks(part) : names_of(missing(part));
      break;
    case GroupKind::mismatch:
      words.difference = part.difference == GroupDifference::function || part.difference == GroupDifference::line
                             ? RanksDifference::line
                             : RanksDifference::blocks;
      break;
    case GroupKind::circle:
      words.difference = RanksDifference::circle;
      break;
    case GroupKind::present:
      break;
  }
  for (const std::string& line : group_lines(part, directory)) words.calls += (words.calls.empty() ? "" : "; ") + line;
  return words;
}

void add_groups_note(std::vector<analyse::Note>& notes, const GroupsPart& part, const std::string& directory) {
  for (analyse::Note& note : notes) {
    if (note.code == analyse::NoteCode::ranks_part) note.text = group_sentence(part, directory);
  }
}

std::string job_sentence(const Diagnosis& report) {
  return report.groups ? group_sentence(*report.groups, report.working_directory) : "";
}

std::vector<std::string> job_lines(const Diagnosis& report) {
  if (report.groups) return group_lines(*report.groups, report.working_directory);
  return report.ranks ? rank_lines(*report.ranks, report.working_directory) : std::vector<std::string>{};
}

}  // namespace cudadiag::diagnose
