#include "sessions/parting.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sessions/flight_dumps.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

using analyse::RankState;

// `owners`: for each state, the session that contains its rank; null if there is only a dump of that rank.
base::Result<Parting> by_states(JobSessions& job, const std::vector<RankState>& states,
                                const std::vector<JobSession*>& owners, bool hangs) {
  const auto answer = analyse::group_answer(states, hangs);
  if (!answer) return Parting{};
  const auto first =
      std::find_if(owners.begin(), owners.end(), [](const JobSession* owner) { return owner != nullptr; });
  if (first == owners.end()) return Parting{};
  const auto stand_in = static_cast<std::size_t>(first - owners.begin());
  const auto reader_of = [&](std::size_t state) { return owners[state] == nullptr ? stand_in : state; };
  // Opens all required sessions here, because the lambda `recorded` cannot return an error.
  for (const analyse::GroupAnswer::Rank& rank : answer->ranks) {
    if (rank.has_come || rank.waits_in) continue;
    const auto opened = job.open(*owners[reader_of(rank.state)]);
    if (const auto* failure = std::get_if<base::Error>(&opened)) return *failure;
  }
  const auto recorded = [&](std::size_t state) {
    const std::size_t reader = reader_of(state);
    const auto opened = job.open(*owners[reader]);
    OpenSession& open = *std::get<OpenSession*>(opened);
    const auto& processes = open.session.processes;
    const auto process = std::find_if(processes.begin(), processes.end(),
                                      [&](const session::Process& p) { return p.pid == states[reader].pid; });
    return diagnose::RecordedRank{open.session, *process, open.state.symbolizer(), reader == state};
  };
  return Parting{diagnose::groups_part(*answer, states, recorded), {}};
}

base::Result<Parting> by_groups(JobSessions& job, bool hangs) {
  std::vector<RankState> states;
  std::vector<JobSession*> owners;
  for (JobSession& part : job.all()) {
    for (RankState& state : part.states) {
      states.push_back(std::move(state));
      owners.push_back(&part);
    }
    part.states.clear();
  }
  return by_states(job, states, owners, hangs);
}

base::Result<Parting> by_dumps(JobSessions& job, bool hangs, const PartingOptions& options) {
  auto read = dumped_ranks(job, options.flight_recorder, options.foreign);
  if (const auto* failure = std::get_if<base::Error>(&read)) return *failure;
  auto& dumps = std::get<DumpedRanks>(read);
  for (const base::Error& refused : dumps.refused) say(refused);
  auto parting = by_states(job, dumps.states, dumps.owners, hangs);
  auto* found = std::get_if<Parting>(&parting);
  if (found != nullptr && found->groups) found->groups->dumps = std::move(dumps.files);
  return parting;
}

base::Result<Parting> by_kernels(JobSessions& job, bool hangs) {
  struct Owner {
    JobSession* session = nullptr;
    std::size_t process = 0;
  };
  std::vector<analyse::CollectiveSequence> sequences;
  std::vector<Owner> owners;
  for (JobSession& part : job.all()) {
    // Includes sessions without recorded collectives, because one of them may contain the missing rank.
    if (auto failure = job.read_collectives(part)) return *std::move(failure);
    for (ProcessCollectives& process : *part.collectives) {
      sequences.push_back(std::move(process.sequence));
      owners.push_back({&part, process.process});
    }
    part.collectives.reset();
  }
  const auto ranks = analyse::ranks_to_tell(sequences, hangs);
  if (!ranks) return Parting{};
  return Parting{{}, diagnose::ranks_part(*ranks, [&](std::size_t process) {
                   const auto opened = job.open(*owners[process].session);
                   OpenSession& open = *std::get<OpenSession*>(opened);
                   return diagnose::Recorded{open.session, open.session.processes[owners[process].process],
                                             open.state.symbolizer()};
                 })};
}

}  // namespace

base::Result<Parting> parting_of(JobSessions& job, const FirstFailure* first, const PartingOptions& options) {
  const bool hangs = first != nullptr;
  if (job.knows_groups()) return by_groups(job, hangs);
  auto by_dump = by_dumps(job, hangs, options);
  const auto* found = std::get_if<Parting>(&by_dump);
  const bool by_order = found != nullptr && !found->groups && (first == nullptr || first->in_collective);
  return by_order ? by_kernels(job, hangs) : by_dump;
}

}  // namespace cudadiag::command
