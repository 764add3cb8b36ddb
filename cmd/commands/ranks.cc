// `cudadiag ranks`: combines the sessions of a multi-rank job into one report.
#include "diagnose/ranks.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "command_line.h"
#include "commands/commands.h"
#include "diagnose/run_description.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "report/writers.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "sessions/job_sessions.h"
#include "sessions/session_choice.h"
#include "shared_options.h"
#include "symbolize/source_file.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

struct RanksOptions {
  std::vector<std::string> sessions;  // sessions or folders of sessions; if empty, all sessions in `output`
  bool foreign = false;               // also show source lines of sessions that may belong to another user
  std::optional<std::filesystem::path> output;
  report::Verbosity verbosity = report::Verbosity::normal;
  bool json = false;
  std::optional<std::string> flight_recorder;  // folder or path prefix of the dumps written by PyTorch's Flight
                                               // Recorder
};

namespace fs = std::filesystem;

// Removes duplicates: the user may give both a session and its parent folder.
std::vector<fs::path> each_once(const std::vector<fs::path>& folders) {
  std::vector<fs::path> once;
  std::set<std::pair<dev_t, ino_t>> seen;
  for (const fs::path& folder : folders) {
    struct stat status {};
    const bool is_there = ::stat(folder.c_str(), &status) == 0;
    if (!is_there || seen.emplace(status.st_dev, status.st_ino).second) once.push_back(folder);
  }
  return once;
}

// Returns the session folders that the user's arguments refer to. Sessions in the same folder are sorted by name.
std::vector<fs::path> sessions_of(const RanksOptions& options) {
  std::vector<std::string> wanted = options.sessions;
  if (wanted.empty() && options.output) wanted.push_back(options.output->string());
  if (wanted.empty()) {
    throw base::Error{"no sessions were given",
                      "give the sessions of the job, or the folder that you passed to its launchers with -o"};
  }
  std::vector<fs::path> found;
  for (const std::string& word : wanted) {
    std::error_code error;
    const fs::path path = word;
    if (!fs::is_directory(path, error) || session::holds_recording(path)) {
      found.push_back(choose_session(options.output, word));
      continue;
    }
    if (const auto failure = session::unreadable(path)) throw *failure;
    const std::vector<fs::path> all = session::recordings_in(path);
    if (all.empty())
      throw base::Error{"no session was found in " + word,
                        "start every launcher with -o " + diagnose::shell_word(word)};
    for (const fs::path& each : all) {
      const auto failure = session::unreadable(each);
      failure ? say(*failure) : found.push_back(each);
    }
  }
  if (found.empty()) throw base::Error{"none of these sessions can be read", ""};
  return each_once(found);
}

std::string name_of(const diagnose::Finding& finding) {
  const std::string who = finding.rank ? fmt::format("rank {}", *finding.rank) : fmt::format("pid {}", finding.pid);
  return finding.host.empty() ? who : fmt::format("{}, host {}", who, base::printable(finding.host));
}

// Sessions with the same first failure. `first`: the session in which it happened first.
struct Alike {
  JobSession* first = nullptr;
  std::vector<diagnose::RankName> ranks;
};

std::vector<Alike> alike(JobSessions& job) {
  std::vector<JobSession*> failed;
  for (JobSession& part : job.all()) {
    if (part.failure) failed.push_back(&part);
  }
  std::ranges::stable_sort(failed, [](const auto* a, const auto* b) { return a->failure->order < b->failure->order; });
  std::vector<Alike> groups;
  std::map<std::uint64_t, std::size_t> known;
  for (JobSession* part : failed) {
    const SessionFailure& failure = *part->failure;
    const auto [found, is_new] = known.emplace(failure.key, groups.size());
    if (is_new || failure.key == 0) {
      groups.push_back({part, {{failure.rank, failure.pid}}});
    } else {
      groups[found->second].ranks.push_back({failure.rank, failure.pid});
    }
  }
  for (Alike& group : groups) std::ranges::sort(group.ranks);
  return groups;
}

// Lists the first failures of all other sessions. Sessions with the same failure share a line.
std::string others(JobSessions& job, const std::vector<Alike>& groups) {
  constexpr std::size_t kNamed = 8;
  std::string text;
  for (std::size_t i = 0; i < groups.size() && i <= kNamed; ++i) {
    std::vector<diagnose::RankName> ranks = groups[i].ranks;
    if (i == 0) {
      const SessionFailure& first = *groups[0].first->failure;
      std::erase(ranks, diagnose::RankName{first.rank, first.pid});
      if (!ranks.empty()) text += fmt::format("the same on {}\n", diagnose::names_of(ranks));
      continue;
    }
    const diagnose::Diagnosis& report = job.open(*groups[i].first).state.diagnosis();
    const diagnose::Finding& finding = report.findings.front();
    text += fmt::format("also: {}: {} [{}]\n      cudadiag report {}\n",
                        ranks.size() == 1 ? name_of(finding) : diagnose::names_of(ranks),
                        report::headline(finding, report.working_directory), diagnose::word(finding.evidence.grade()),
                        diagnose::shell_word(groups[i].first->folder.string()));
  }
  return text + (groups.size() > kNamed + 1 ? fmt::format("also: {} more\n", groups.size() - kNamed - 1) : "");
}

// Returns one sentence about the whole job, followed by one line for each rank or group of ranks.
std::string answer_text(const Divergence& divergence, const std::string& directory) {
  if (!divergence.groups && !divergence.ranks) return "";
  std::vector<std::string> lines;
  std::string text;
  if (divergence.groups) {
    lines = diagnose::group_lines(*divergence.groups, directory);
    text = "cudadiag: " + base::printable(diagnose::group_sentence(*divergence.groups, directory)) + '\n';
  } else {
    lines = diagnose::rank_lines(*divergence.ranks, directory);
    text = "the ranks diverge " + base::printable(lines.front()) + '\n';
    lines.erase(lines.begin());
  }
  for (const std::string& line : lines) text += "  " + base::printable(line) + '\n';
  return text;
}

std::string no_failure(const JobSessions& job, const Divergence& divergence, const std::string& directory) {
  const std::size_t count = job.all().size();
  const std::string none = fmt::format("cudadiag: no CUDA failure in {}\n",
                                       count == 1 ? "this session" : fmt::format("these {} sessions", count));
  const std::string answer = answer_text(divergence, directory);
  return divergence.groups ? answer + none : none + answer;
}

// Returns why one of the job's sessions may belong to another user; empty if all of them are the user's own. One
// foreign session is enough, because the report covers the whole job.
std::string why_foreign(const JobSessions& job) {
  for (const JobSession& part : job.all()) {
    if (!part.foreign.empty()) return part.folder.string() + ": " + part.foreign;
  }
  return "";
}

// Returns the report on the first failure of the job.
std::string first_report(JobSessions& job, const std::vector<Alike>& groups, Divergence divergence,
                         const RanksOptions& options, const std::string& foreign) {
  JobSession& first = groups.empty() ? job.all().front() : *groups.front().first;
  OpenSession& open = job.open(first);
  const std::string answer = divergence.groups ? answer_text(divergence, first.working_directory) : "";
  const std::string sentence =
      divergence.groups ? diagnose::group_sentence(*divergence.groups, first.working_directory) : "";
  // The sentence about the groups is printed here, so the report must not repeat it.
  const bool says_it = divergence.groups && !options.json;
  open.state.set_job(std::move(divergence.ranks), std::move(divergence.groups));
  diagnose::Diagnosis report = open.state.diagnosis();
  diagnose::mark_foreign(report, foreign);
  if (options.json) return report::write_json(report);
  if (says_it) report.groups.reset();
  const diagnose::Finding& finding = report.findings.front();
  const bool is_quiet = options.verbosity == report::Verbosity::quiet;
  if (is_quiet && !sentence.empty()) return fmt::format("cudadiag: {}\n", base::printable(sentence));
  if (is_quiet) {
    return fmt::format("cudadiag: {}: {} [{}]\n", name_of(finding), report::headline(finding, report.working_directory),
                       diagnose::word(finding.evidence.grade()));
  }
  const std::size_t count = job.all().size();
  std::string text =
      answer + fmt::format("cudadiag: first failure in {}: {}\n", report::counted(count, "session"), name_of(finding));
  text += report::write_text(report, text_options(options.verbosity, STDOUT_FILENO));
  return text + others(job, groups);
}

int carry_out(const RanksOptions& options) {
  JobSessions job = JobSessions::read(sessions_of(options));
  const std::string foreign = options.foreign ? "" : why_foreign(job);
  const symbolize::WithheldSources withheld(!foreign.empty());
  const std::vector<Alike> groups = alike(job);
  const SessionFailure* first = groups.empty() ? nullptr : &*groups.front().first->failure;
  const std::string directory =
      groups.empty() ? job.all().front().working_directory : groups.front().first->working_directory;
  // If a rank failed on its own, the places where the other ranks wait for it are irrelevant.
  Divergence divergence;
  if (first == nullptr || first->hangs) {
    divergence = find_divergence(job, first, {options.flight_recorder, options.foreign});
  } else if (options.flight_recorder) {
    say("--flight-recorder was not used: a rank failed by itself, so the dumps cannot explain the failure");
  }
  if (first == nullptr && !options.json) return print(no_failure(job, divergence, directory)), 0;
  return print(first_report(job, groups, std::move(divergence), options, foreign)), 0;
}

}  // namespace

void add_ranks(CLI::App& app, int& status) {
  auto options = std::make_shared<RanksOptions>();
  auto* command = app.add_subcommand("ranks", "combine the sessions of a multi-rank job into one report");
  command->add_option("SESSION", options->sessions, "sessions of the job, or folders that hold them")
      ->type_name("SESSION")
      ->check(some_text("SESSION"));
  add_existing_output(command, options->output);
  add_verbosity(command, options->verbosity);
  command->add_flag("--json", options->json, "print JSON");
  add_text(command, "--flight-recorder", options->flight_recorder, "PATH",
           "folder that contains the dumps of PyTorch's Flight Recorder, or their common path prefix");
  add_foreign(command, options->foreign, "also show source lines for sessions of another user or host");
  name_page(command);
  command->callback([options, &status] { status = carry_out(*options); });
}

}  // namespace cudadiag::command
