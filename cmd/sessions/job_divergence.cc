// Finds the call at which the ranks of a job diverge. Uses the groups that NCCL reported. Without groups, it uses the
// dumps of PyTorch's Flight Recorder. Without dumps, it uses the order of the kernels.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <utility>

#include "diagnose/ranks.h"
#include "diagnose/words.h"
#include "evidence/flight_dump.h"
#include "session/session_files.h"
#include "sessions/job_sessions.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

// ---- the dumps of PyTorch's Flight Recorder that belong to the ranks of a job
//
// PyTorch writes one file per rank, whose path is a prefix followed by the rank number. The prefix is the first of
// these that is set:
//   1. --flight-recorder
//   2. TORCH_FR_DUMP_TEMP_FILE or TORCH_NCCL_DEBUG_INFO_TEMP_FILE in the environment of the rank's process
//   3. PyTorch's defaults below the cache folder and /tmp, and the same file names in the process's working folder
// Without --flight-recorder, only files of the current user are read. If a session contains the rank, its dump must
// come from the same run. All calls in the dump must have been made while the process ran. The process must not have
// called a collective after writing the dump.

namespace fs = std::filesystem;
using evidence::FlightDump;

// The greatest allowed difference, in seconds, between times from two clocks, or between a call and the launch of its
// kernel.
constexpr double kTogether = 1;

// The process of a rank, and the session that contains this process.
struct Owner {
  JobSession* session = nullptr;
  const RankProcess* process = nullptr;
};

// Returns the number at the end of the name: 12 for "…/rank_12". Returns nullopt if there is none.
std::optional<int> rank_of(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  int rank = 0;
  const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
  return digits < name.size() && error == std::errc() ? std::optional(rank) : std::nullopt;
}

// Returns the dump file of each rank. `named`: the folder or the path prefix that the user gave.
std::map<int, fs::path> named_files(const std::string& named) {
  std::error_code error;
  const bool is_folder = fs::is_directory(named, error);
  const fs::path folder = is_folder ? fs::path(named) : fs::absolute(named, error).parent_path();
  const std::string start = is_folder ? "" : fs::path(named).filename().string();
  std::map<int, fs::path> files;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const auto rank = name.starts_with(start) ? rank_of(name) : std::nullopt;
    const bool is_it = rank && (is_folder || name == start + std::to_string(*rank));
    std::error_code unknown;
    if (!is_it || !at->is_regular_file(unknown)) continue;
    const auto [known, is_new] = files.emplace(*rank, at->path());
    if (is_new) continue;
    const auto prefix = [](std::string file) {
      return diagnose::shell_word(file.erase(file.find_last_not_of("0123456789") + 1));
    };
    const std::string first = known->second.string(), second = at->path().string();
    throw base::Error{fmt::format("rank {} has two files: {} and {}", *rank, first, second),
                      "give the prefix of the dumps (the value of TORCH_FR_DUMP_TEMP_FILE): --flight-recorder " +
                          prefix(first) + " or " + prefix(second)};
  }
  if (!files.empty()) return files;
  throw base::Error{
      "no Flight Recorder dump found at " + named,
      "give the folder that contains the dumps, or their common prefix: everything before the rank number"};
}

// Returns the default path prefixes of PyTorch 2.9 and of older releases, and the same file names in the working
// folder.
std::vector<fs::path> usual_prefixes(const fs::path& working_folder) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  const fs::path root = cache != nullptr ? fs::path(cache) : fs::path(home != nullptr ? home : "/tmp") / ".cache";
  std::vector<fs::path> prefixes = {root / "torch/comm_lib_trace_rank_", "/tmp/nccl_trace_rank_"};
  if (working_folder.is_absolute()) {
    prefixes.push_back(working_folder / "comm_lib_trace_rank_");
    prefixes.push_back(working_folder / "nccl_trace_rank_");
  }
  return prefixes;
}

// Returns the paths at which the rank may have written its dump.
std::vector<fs::path> places_of(const RankProcess& process) {
  const std::vector<fs::path> prefixes = process.dump_prefix.empty()
                                             ? usual_prefixes(process.working_folder)
                                             : std::vector{fs::path(process.working_folder) / process.dump_prefix};
  std::vector<fs::path> places;
  for (const fs::path& prefix : prefixes) places.push_back(prefix.string() + std::to_string(process.rank));
  return places;
}

struct File {
  double written = 0;  // seconds since the epoch
  bool is_own = false;
};

std::optional<File> look_at(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const double written =
      static_cast<double>(status.st_mtim.tv_sec) + static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
  return File{written, status.st_uid == ::geteuid()};
}

// Checks whether the dump shows the state in which the process ended. If not, returns a clause that says why.
std::optional<std::string> why_other(const FlightDump& dump, const File& file, const RankProcess& process) {
  double first = file.written, latest = file.written;
  bool has_latest = dump.calls.empty();
  for (const evidence::FlightCall& call : dump.calls) {
    first = std::min(first, call.created);
    latest = &call == &dump.calls.front() ? call.created : std::max(latest, call.created);
    has_latest = has_latest || std::abs(call.created - process.latest_collective) <= kTogether;
  }
  if (first + kTogether < process.began) return "it contains calls from before the run";
  if (process.ended && latest > *process.ended + kTogether) return "it contains calls from after the run";
  if (latest + kTogether < process.latest_collective) return "the rank called collectives after it was written";
  if (process.latest_collective > 0 && !has_latest) return "the rank's latest collective is not in it";
  return std::nullopt;
}

base::Error refusal(const fs::path& path, const std::string& why) {
  return {fmt::format("{} is not used: {}", path.string(), why), ""};
}

// The dump that was read for one rank.
struct Taken {
  std::optional<analyse::RankState> state;  // nullopt if no dump was usable
  fs::path path;
  std::vector<base::Error> refused;
};

struct DumpedRanks {
  std::vector<analyse::RankState> states;
  std::vector<JobSession*> owners;  // one for each state; null if no session contains the rank
  std::vector<std::string> files;   // one for each state
  std::vector<base::Error> refused;
};

class Collector {
 public:
  explicit Collector(JobSessions& job) {
    for (JobSession& session : job.all()) {
      for (const RankProcess& process : session.ranks) {
        // Several processes may have the same rank, because child processes inherit it. Uses the process with the
        // latest collective call.
        Owner& owner = owners_[process.rank];
        const bool is_it = owner.process == nullptr || owner.process->latest_collective < process.latest_collective;
        if (is_it) owner = {&session, &process};
      }
    }
  }

  void take_named(const std::map<int, fs::path>& files) {
    take_all(files, [&](int rank, const fs::path& path, Taken& taken) {
      if (const auto file = look_at(path)) take(rank, path, *file, true, taken);
    });
  }

  void take_found(bool foreign_too) {
    take_all(owners_, [&](int rank, const Owner& owner, Taken& taken) {
      if (!owner.session->foreign.empty() && !foreign_too) return;
      for (const fs::path& path : places_of(*owner.process)) {
        const auto file = look_at(path);
        if (file && file->is_own) take(rank, path, *file, false, taken);
        if (taken.state) return;
      }
    });
  }

  DumpedRanks finish() { return std::move(found_); }

 private:
  // Calls `take_one` for every rank, on several threads. Stores the results in rank order.
  template <typename What, typename TakeOne>
  void take_all(const std::map<int, What>& by_rank, TakeOne take_one) {
    const std::vector<std::pair<int, What>> ranks(by_rank.begin(), by_rank.end());
    std::vector<Taken> all(ranks.size());
    in_parallel(ranks.size(), [&](std::size_t i) {
      take_one(ranks[i].first, ranks[i].second, all[i]);
      return true;
    });
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::ranges::move(all[i].refused, std::back_inserter(found_.refused));
      if (!all[i].state) continue;
      const auto owner = owners_.find(ranks[i].first);
      found_.states.push_back(*std::move(all[i].state));
      found_.owners.push_back(owner == owners_.end() ? nullptr : owner->second.session);
      found_.files.push_back(all[i].path.string());
    }
  }

  void take(int rank, const fs::path& path, const File& file, bool is_named, Taken& taken) const {
    const auto owner = owners_.find(rank);
    const RankProcess* process = owner == owners_.end() ? nullptr : owner->second.process;
    // A file that was written before the process began comes from an earlier run.
    if (!is_named && file.written + kTogether < process->began) return;
    if (!is_named && process->dump_prefix.empty() && process->latest_collective == 0) return;
    const auto refuse = [&](const std::string& why) { taken.refused.push_back(refusal(path, why)); };
    auto bytes = session::read_named_file(path, FlightDump::kMostBytes);
    if (!bytes) return refuse("it cannot be read, is not a file, or is larger than 64 MiB");
    auto read = evidence::read_flight_dump(*std::move(bytes));
    if (const auto* failure = std::get_if<base::Error>(&read)) return refuse(failure->what);
    const FlightDump& dump = std::get<FlightDump>(read);
    if (const auto why = process == nullptr ? std::nullopt : why_other(dump, file, *process)) return refuse(*why);
    const double until = process != nullptr && process->ended ? std::min(file.written, *process->ended) : file.written;
    taken.state = diagnose::flight_rank(dump, rank, until, owners_.size() > 1 ? kCallsKept : analyse::kAllCalls);
    if (process != nullptr) taken.state->pid = process->pid;
    taken.path = path;
  }

  std::map<int, Owner> owners_;  // by rank
  DumpedRanks found_;
};

// `named`: a path prefix, or a folder with the dumps of one job. `foreign_too`: also read the dumps of ranks whose
// session may belong to another user.
DumpedRanks dumped_ranks(JobSessions& job, const std::optional<std::string>& named, bool foreign_too) {
  Collector collector(job);
  if (named) {
    collector.take_named(named_files(*named));
  } else {
    collector.take_found(foreign_too);
  }
  return collector.finish();
}

using analyse::RankState;

// `owners`: for each state, the session that contains its rank; null if there is only a dump of that rank.
Divergence by_states(JobSessions& job, const std::vector<RankState>& states, const std::vector<JobSession*>& owners,
                     bool hangs) {
  const auto answer = analyse::group_answer(states, hangs);
  if (!answer) return Divergence{};
  const auto first = std::ranges::find_if(owners, [](const JobSession* owner) { return owner != nullptr; });
  if (first == owners.end()) return Divergence{};
  const auto stand_in = static_cast<std::size_t>(first - owners.begin());
  const auto reader_of = [&](std::size_t state) { return owners[state] == nullptr ? stand_in : state; };
  const auto recorded = [&](std::size_t state) {
    const std::size_t reader = reader_of(state);
    OpenSession& open = job.open(*owners[reader]);
    const auto& processes = open.session.processes;
    const auto process =
        std::ranges::find_if(processes, [&](const session::Process& p) { return p.pid == states[reader].pid; });
    return diagnose::RecordedRank{open.session, *process, open.state.symbolizer(), reader == state};
  };
  return Divergence{diagnose::groups_part(*answer, states, recorded), {}};
}

Divergence by_groups(JobSessions& job, bool hangs) {
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

Divergence by_dumps(JobSessions& job, bool hangs, const DivergenceOptions& options) {
  DumpedRanks dumps = dumped_ranks(job, options.flight_recorder, options.foreign);
  for (const base::Error& refused : dumps.refused) say(refused);
  Divergence divergence = by_states(job, dumps.states, dumps.owners, hangs);
  if (divergence.groups) divergence.groups->dumps = std::move(dumps.files);
  return divergence;
}

Divergence by_kernels(JobSessions& job, bool hangs) {
  struct SequenceOwner {
    JobSession* session = nullptr;
    std::size_t process = 0;
  };
  std::vector<analyse::CollectiveSequence> sequences;
  std::vector<SequenceOwner> owners;
  for (JobSession& part : job.all()) {
    // Includes sessions without recorded collectives, because one of them may contain the missing rank.
    job.read_collectives(part);
    for (ProcessCollectives& process : *part.collectives) {
      sequences.push_back(std::move(process.sequence));
      owners.push_back({&part, process.process});
    }
    part.collectives.reset();
  }
  const auto ranks = analyse::ranks_to_tell(sequences, hangs);
  if (!ranks) return Divergence{};
  return Divergence{{}, diagnose::ranks_part(*ranks, [&](std::size_t process) {
                      OpenSession& open = job.open(*owners[process].session);
                      return diagnose::RecordedRank{open.session, open.session.processes[owners[process].process],
                                                    open.state.symbolizer()};
                    })};
}

}  // namespace

Divergence find_divergence(JobSessions& job, const SessionFailure* first, const DivergenceOptions& options) {
  const bool hangs = first != nullptr;
  if (job.knows_groups()) return by_groups(job, hangs);
  Divergence by_dump = by_dumps(job, hangs, options);
  const bool by_order = !by_dump.groups && (first == nullptr || first->in_collective);
  return by_order ? by_kernels(job, hangs) : by_dump;
}

}  // namespace cudadiag::command
