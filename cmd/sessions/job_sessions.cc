#include "sessions/job_sessions.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "analyse/hang.h"
#include "analyse/site_keys.h"
#include "session/process_record.h"
#include "session/session_trust.h"
#include "sessions/session_choice.h"
#include "terminal.h"
#include "wire/hash.h"

namespace cudadiag::command {

namespace {

namespace fs = std::filesystem;

// In a job with more sessions than this, each session is closed after reading, and opened again for printing.
constexpr std::size_t kSessionsKept = 16;

std::unique_ptr<OpenSession> open_session(const fs::path& folder) {
  supervise::LiveRun run = choose_run(std::nullopt, folder.string());
  session::Session session = taken(run.read());
  run.add_host_stacks(session);
  return std::make_unique<OpenSession>(std::move(session));
}

// Returns the same key for failures whose reports differ only in the rank; 0 if the place of the failure is unknown.
std::uint64_t key_of(const analyse::Failure& failure) {
  const analyse::Candidate* candidate = failure.candidates.empty() ? nullptr : &failure.candidates.front();
  const std::uint32_t site = candidate != nullptr          ? candidate->site()
                             : failure.reported != nullptr ? failure.reported->site
                                                           : 0;
  const wire::site_key::Key line = analyse::SiteKeys(failure.process->record).of_innermost(site);
  if (line == 0) return 0;
  const std::uint64_t code = failure.reported == nullptr ? 0 : failure.reported->code;
  return wire::mix_all(line, static_cast<std::uint64_t>(failure.kind), code,
                       static_cast<std::uint64_t>(failure.evidence.grade())) |
         1;
}

std::optional<SessionFailure> first_failure(OpenSession& open) {
  const std::vector<analyse::Failure>& failures = open.state.analysis().failures;
  if (failures.empty()) return std::nullopt;
  const analyse::Failure& failure = failures.front();
  const bool hangs = failure.kind == analyse::Kind::hang;
  return SessionFailure{analyse::order_of(failure),
                        failure.evidence.grade(),
                        key_of(failure),
                        failure.process->rank,
                        failure.process->pid,
                        hangs,
                        hangs && analyse::in_collective(failure)};
}

RankProcess rank_process(const session::Process& process) {
  const session::ProcessRecord& record = process.record;
  RankProcess rank;
  rank.rank = *process.rank;
  rank.pid = process.pid;
  rank.working_folder = session::value_of(record, session::Property::cwd);
  rank.dump_prefix = session::value_of(record, session::Property::flight_recorder);
  rank.began = record.unix_seconds(record.clock_start);
  if (record.clock_last != 0) rank.ended = record.unix_seconds(record.clock_last);
  // Iterates from the newest operation, so that the names of most older kernels need not be looked up.
  std::uint64_t latest = 0;
  for (auto operation = record.operations.rbegin(); operation != record.operations.rend(); ++operation) {
    if (operation->ticks > latest && analyse::launches_collective(record, *operation)) latest = operation->ticks;
  }
  if (latest != 0) rank.latest_collective = std::max(0.0, record.unix_seconds(latest));
  return rank;
}

// `several`: the job has several sessions, so processes without a rank are left out.
std::vector<ProcessCollectives> collectives_of(const session::Session& session, bool several) {
  std::vector<ProcessCollectives> all;
  for (std::size_t i = 0; i < session.processes.size(); ++i) {
    const session::Process& process = session.processes[i];
    if (several && !process.rank) continue;
    all.push_back(
        {analyse::CollectiveSequence(process, several ? kLaunchesKept : analyse::CollectiveSequence::kAll), i});
  }
  return all;
}

void add_states(const session::Session& session, bool several, JobSession& to) {
  to.knows_groups = true;
  for (const session::Process& process : session.processes) {
    const bool calls = analyse::calls_collectives(process);
    to.knows_groups = to.knows_groups && (!calls || !process.record.communicators.empty());
    if (process.rank) to.ranks.push_back(rank_process(process));
    if (several && !process.rank) continue;
    if (auto state = analyse::rank_state(process, kCallsKept)) to.states.push_back(std::move(*state));
  }
  if (!to.knows_groups || to.states.empty()) to.collectives = collectives_of(session, several);
}

struct Summary {
  JobSession session;
  std::vector<int> ranks;
};

// `sessions`: the number of sessions in the job.
Summary summary_of(const fs::path& folder, std::size_t sessions) {
  std::unique_ptr<OpenSession> open = open_session(folder);
  Summary summary;
  for (const session::Process& process : open->session.processes) {
    if (process.rank) summary.ranks.push_back(*process.rank);
  }
  JobSession& session = summary.session;
  session.folder = open->session.folder;
  session.working_directory = open->session.manifest.working_directory;
  session.foreign = session::why_foreign(open->session);
  session.failure = first_failure(*open);
  add_states(open->session, sessions > 1, session);
  if (sessions <= kSessionsKept) session.open = std::move(open);
  return summary;
}

}  // namespace

JobSessions JobSessions::read(const std::vector<fs::path>& folders) {
  std::vector<std::optional<base::Result<Summary>>> read(folders.size());
  in_parallel(folders.size(), [&](std::size_t i) {
    try {
      read[i] = summary_of(folders[i], folders.size());
    } catch (const base::Error& failure) {
      read[i] = failure;  // the first one, in the order of the folders, is printed
    }
    return std::holds_alternative<Summary>(*read[i]);
  });
  JobSessions job;
  std::map<int, fs::path> owners;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    Summary summary = taken(*std::move(read[i]));
    for (const int rank : summary.ranks) {
      const auto [known, is_new] = owners.emplace(rank, folders[i]);
      if (is_new || known->second == folders[i]) continue;
      throw base::Error{
          fmt::format("rank {} is in two sessions: {} and {}", rank, known->second.string(), folders[i].string()),
          "give only the sessions of one run of the job"};
    }
    job.sessions_.push_back(std::move(summary.session));
  }
  return job;
}

OpenSession& JobSessions::open(JobSession& session) {
  if (session.open == nullptr) {
    if (sessions_.size() > kSessionsKept && latest_ != nullptr) latest_->open.reset();
    latest_ = &session;
    session.open = open_session(session.folder);
  }
  return *session.open;
}

void JobSessions::read_collectives(JobSession& session) {
  if (!session.collectives) session.collectives = collectives_of(open(session).session, sessions_.size() > 1);
}

bool JobSessions::knows_groups() const {
  return std::ranges::any_of(sessions_, [](const JobSession& s) { return !s.states.empty(); }) &&
         std::ranges::all_of(sessions_, &JobSession::knows_groups);
}

namespace {

constexpr std::size_t kMostThreads = 4;

}  // namespace

void in_parallel(std::size_t count, const std::function<bool(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopping = false;
  const auto take = [&] {
    try {
      for (std::size_t i = 0; !stopping && (i = next++) < count;) {
        if (!work(i)) stopping = true;
      }
    } catch (...) {
      stopping = true;
      throw;
    }
  };
  // If `take` throws on this thread, the destructors of these futures wait for the other threads.
  std::vector<std::future<void>> others;
  const std::size_t threads = std::min({kMostThreads, count, std::size_t{std::thread::hardware_concurrency()}});
  try {
    while (others.size() + 1 < threads) others.push_back(std::async(std::launch::async, take));
  } catch (const std::system_error&) {
    // The process limit allows no more threads. The threads that were started do all the work.
  }
  take();
  for (std::future<void>& other : others) other.get();
}

}  // namespace cudadiag::command
