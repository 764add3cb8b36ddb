#include "diagnose/ranks.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyse/hangs/hang.h"
#include "base/printable.h"
#include "commands/commands.h"
#include "diagnose/session_state.h"
#include "diagnose/surroundings.h"
#include "diagnose/words.h"
#include "options/command_line.h"
#include "options/shared_options.h"
#include "report/finding_text.h"
#include "report/json.h"
#include "session/ownership.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "sessions/session_choice.h"
#include "symbolize/source_excerpt.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

struct RanksOptions {
  std::vector<std::string> sessions;  // or folders that hold some; empty: all in `output`
  bool foreign = false;               // also show source lines of sessions that may be somebody else's
  std::optional<std::string> output;
  report::Verbosity verbosity = report::Verbosity::normal;
  bool json = false;
};

namespace fs = std::filesystem;

// The session of one launcher.
struct Part {
  explicit Part(session::Session from) : session(std::move(from)), state(session) {}

  const std::vector<analyse::Failure>& failures() { return state.analysis().failures; }

  const session::Session session;
  diagnose::SessionState state;
};
using Parts = std::vector<std::unique_ptr<Part>>;

// A session may be named, and also lie in a folder that was named.
std::vector<fs::path> each_once(const std::vector<fs::path>& folders) {
  std::vector<fs::path> once;
  std::error_code error;
  for (const fs::path& folder : folders) {
    const auto same = [&](const fs::path& other) { return fs::equivalent(folder, other, error); };
    if (std::none_of(once.begin(), once.end(), same)) once.push_back(folder);
  }
  return once;
}

// Sessions; those of a folder by name.
base::Result<std::vector<fs::path>> sessions_of(const RanksOptions& options) {
  std::vector<std::string> wanted = options.sessions;
  if (wanted.empty() && options.output) wanted.push_back(*options.output);
  if (wanted.empty()) {
    return base::Error{"no sessions were named",
                       "name those of the job, or the folder that its launchers were given with -o"};
  }
  std::vector<fs::path> found;
  for (const std::string& word : wanted) {
    std::error_code error;
    const fs::path path = word;
    if (!fs::is_directory(path, error) || session::holds_recording(path)) {
      const auto one = choose_session(options.output, word);
      if (const auto* failure = std::get_if<base::Error>(&one)) return *failure;
      found.push_back(std::get<fs::path>(one));
      continue;
    }
    if (auto failure = session::unreadable(path)) return *failure;
    const std::vector<fs::path> all = session::recordings_in(path);
    if (all.empty()) return base::Error{"there is no session in " + word, "give -o " + word + " to every launcher"};
    for (const fs::path& each : all) {
      const auto failure = session::unreadable(each);
      failure ? say(*failure) : found.push_back(each);
    }
  }
  if (found.empty()) return base::Error{"none of these sessions can be read", ""};
  return each_once(found);
}

base::Result<Parts> read_parts(const std::vector<fs::path>& folders) {
  Parts parts;
  std::map<int, fs::path> ranks;
  for (const fs::path& folder : folders) {
    auto opened = choose_run(std::nullopt, folder.string());
    if (const auto* failure = std::get_if<base::Error>(&opened)) return *failure;
    auto read = std::get<supervise::LiveRun>(opened).read();
    if (const auto* failure = std::get_if<base::Error>(&read)) return *failure;
    auto& session = std::get<session::Session>(read);
    for (const session::Process& process : session.processes) {
      if (!process.rank || !analyse::calls_collectives(process)) continue;
      const auto [known, is_new] = ranks.emplace(*process.rank, folder);
      if (is_new || known->second == folder) continue;
      return base::Error{
          fmt::format("rank {} is in two sessions: {} and {}", *process.rank, known->second.string(), folder.string()),
          "name the sessions of one run of the job"};
    }
    parts.push_back(std::make_unique<Part>(std::move(session)));
  }
  return parts;
}

// `hangs`: the first failure of all is a hang in a collective.
std::optional<diagnose::RanksPart> where_they_part(const Parts& parts, bool hangs) {
  std::vector<const session::Process*> processes;
  std::map<const session::Process*, Part*> owners;
  for (const auto& part : parts) {
    for (const session::Process& process : part->session.processes) {
      // Only their ranks show that several sessions belong to one job.
      if (!process.rank && parts.size() > 1) continue;
      processes.push_back(&process);
      owners[&process] = part.get();
    }
  }
  const auto ranks = analyse::ranks_to_tell(processes, hangs);
  if (!ranks) return std::nullopt;
  return diagnose::ranks_part(*ranks, [&](const session::Process& process) {
    Part& owner = *owners.at(&process);
    return diagnose::Recorded{owner.session, owner.state.symbolizer()};
  });
}

std::string name_of(const diagnose::Finding& finding) {
  const std::string who = finding.rank ? fmt::format("rank {}", *finding.rank) : fmt::format("pid {}", finding.pid);
  return finding.host.empty() ? who : fmt::format("{}, host {}", who, base::printable(finding.host));
}

// The first failure of each of the other sessions, in a line each.
std::string others(const Parts& parts, const Part& first) {
  constexpr std::size_t kNamed = 8;
  std::string text;
  std::size_t count = 0;
  for (const auto& part : parts) {
    if (part.get() == &first || part->failures().empty() || ++count > kNamed) continue;
    const diagnose::Diagnosis& report = part->state.diagnosis();
    const diagnose::Finding& finding = report.findings.front();
    text += fmt::format("also: {}: {} [{}]\n      cudadiag report {}\n", name_of(finding),
                        report::headline(finding, report.working_directory), diagnose::word(finding.grade),
                        diagnose::shell_word(part->session.folder.string()));
  }
  return text + (count > kNamed ? fmt::format("also: {} more\n", count - kNamed) : "");
}

Part* first_failed(const Parts& parts) {
  Part* first = nullptr;
  for (const auto& part : parts) {
    if (part->failures().empty()) continue;
    if (first == nullptr || analyse::comes_before(part->failures().front(), first->failures().front())) {
      first = part.get();
    }
  }
  return first;
}

std::string no_failure(const Parts& parts, const std::optional<diagnose::RanksPart>& ranks) {
  const std::string& directory = parts.front()->session.manifest.working_directory;
  std::string text = fmt::format("cudadiag: no CUDA failure in {}\n",
                                 parts.size() == 1 ? "this session" : fmt::format("these {} sessions", parts.size()));
  if (!ranks) return text;
  const std::vector<std::string> lines = diagnose::rank_lines(*ranks, directory);
  text += fmt::format("the ranks part {}\n", lines.front());
  for (std::size_t i = 1; i < lines.size(); ++i) text += "  " + base::printable(lines[i]) + '\n';
  return text;
}

// Returns the first reason found. The sessions of a job are read together.
std::string why_foreign(const Parts& parts) {
  for (const auto& part : parts) {
    const std::string why = session::why_foreign(part->session);
    if (!why.empty()) return part->session.folder.string() + ": " + why;
  }
  return "";
}

int carry_out(const RanksOptions& options) {
  const auto folders = sessions_of(options);
  if (const auto* failure = std::get_if<base::Error>(&folders)) return say(*failure), kOwnFailure;
  const auto read = read_parts(std::get<std::vector<fs::path>>(folders));
  if (const auto* failure = std::get_if<base::Error>(&read)) return say(*failure), kOwnFailure;
  const auto& parts = std::get<Parts>(read);
  const std::string foreign = options.foreign ? "" : why_foreign(parts);
  const symbolize::WithheldSources withheld(!foreign.empty());
  Part* first = first_failed(parts);
  const bool hangs = first != nullptr && analyse::in_collective(first->failures().front());
  // A rank's own failure is unrelated to where the other ranks wait for it.
  std::optional<diagnose::RanksPart> ranks;
  if (first == nullptr || hangs) ranks = where_they_part(parts, hangs);
  if (first == nullptr && !options.json) return print(no_failure(parts, ranks)), 0;
  Part& told = first == nullptr ? *parts.front() : *first;
  told.state.set_job(std::move(ranks));
  diagnose::Diagnosis report = told.state.diagnosis();
  diagnose::mark_foreign(report, foreign);
  if (options.json) return print(report::write_json(report)), 0;
  const diagnose::Finding& finding = report.findings.front();
  if (options.verbosity == report::Verbosity::quiet) {
    print(fmt::format("cudadiag: {}: {} [{}]\n", name_of(finding), report::headline(finding, report.working_directory),
                      diagnose::word(finding.grade)));
    return 0;
  }
  print(fmt::format("cudadiag: first of {} session{}: {}\n", parts.size(), parts.size() == 1 ? "" : "s",
                    name_of(finding)));
  print(report::write_text(report, text_options(options.verbosity, STDOUT_FILENO)));
  print(others(parts, told));
  return 0;
}

}  // namespace

void add_ranks(CLI::App& app, int& status) {
  auto options = std::make_shared<RanksOptions>();
  auto* command = app.add_subcommand("ranks", "combine the sessions of a multi-rank job into one report");
  command->add_option("SESSION", options->sessions, "sessions of the job, or folders that hold them")
      ->type_name("SESSION");
  add_text(command, "-o,--output", options->output, "FOLDER", "folder that holds them")->check(an_existing_folder());
  add_verbosity(command, options->verbosity);
  command->add_flag("--json", options->json, "as JSON");
  add_foreign(command, options->foreign, "quote sources for sessions of another user or host, too");
  name_page(command);
  command->callback([options, &status] { status = carry_out(*options); });
}

}  // namespace cudadiag::command
