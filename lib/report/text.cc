// Writes the report for a terminal. Without -v, each failure takes at most 22 lines of 80 columns, plus the lines that
// name the ranks of a job. Uses colour only on request. Text from the target is made printable.
#include "base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "analyse/error_codes.h"
#include "diagnose/failure/tool_evidence.h"
#include "diagnose/ranks.h"
#include "diagnose/run_description.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "report/writers.h"

namespace cudadiag::report {
namespace {

constexpr std::size_t kOthersNamed = 2;
constexpr std::size_t kUsualColumns = 80;  // narrower terminals need more lines for the same text
// Side effects of a rerun by cudadiag bisect, without and with --isolated.
constexpr const char* kAllOperations = "--window all";
constexpr const char *kWrites = "; it can write files", *kIsIsolated = "; it changes no files";

Section passes(const diagnose::Diagnosis& report) {
  std::string line;
  for (const diagnose::PassLine& pass : report.passes) {
    line += fmt::format("{}{} {} {}", line.empty() ? "" : "; ", word(pass.kind), diagnose::duration(pass.seconds),
                        pass.outcome);
  }
  return {.label = "Passes", .lines = unless_empty(line), .at_least = 0, .sacrifice = 9};
}

// The answer for a whole job of several ranks.
Section job_answer(const diagnose::Diagnosis& report) {
  const std::string sentence = diagnose::job_sentence(report);
  return {.lines = sentence.empty() ? Lines() : Lines{"cudadiag: " + sentence},
          .ink = Ink::headline,
          .topic = Topic::headline};
}

// Findings of several processes that are printed as one finding.
struct SharedFinding {
  const diagnose::Finding* first = nullptr;
  std::vector<diagnose::RankName> ranks;
};

std::vector<SharedFinding> shared_findings(const diagnose::Diagnosis& report) {
  std::vector<SharedFinding> all;
  std::map<std::string, std::size_t> known;
  for (const diagnose::Finding& finding : report.findings) {
    const diagnose::RankName rank{finding.rank, finding.pid};
    const std::string text =
        headline(finding, report.working_directory) + diagnose::word(finding.evidence.grade()).data();
    const auto [found, is_new] = known.emplace(text, all.size());
    SharedFinding* same = is_new || finding.race ? nullptr : &all[found->second];
    if (same == nullptr || std::ranges::find(same->ranks, rank) != same->ranks.end()) {
      all.push_back({&finding, {rank}});
    } else {
      same->ranks.push_back(rank);
    }
  }
  return all;
}

// Lists the other findings: those of other processes, and less important ones of the same process.
Section others(const diagnose::Diagnosis& report) {
  Section section;
  std::size_t named = kOthersNamed;
  // Lists all races, because users who search for races want to see all of them.
  for (const diagnose::Finding& finding : report.findings) named += finding.race ? 1 : 0;
  std::vector<SharedFinding> all = shared_findings(report);
  std::vector<diagnose::RankName>& same = all.front().ranks;
  same.erase(same.begin());
  std::ranges::sort(same);
  if (!same.empty()) section.lines.push_back("the same on " + diagnose::names_of(same));
  section.at_least = named + 1 + section.lines.size();
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (i > named && all.size() - i > 1) {
      section.lines.push_back(fmt::format("also: {} more", all.size() - i));
      break;
    }
    std::ranges::sort(all[i].ranks);
    const diagnose::Finding& finding = *all[i].first;
    const std::string who =
        finding.rank || all[i].ranks.size() > 1 ? diagnose::names_of(all[i].ranks) : fmt::format("pid {}", finding.pid);
    section.lines.push_back(fmt::format("also: {}: {} [{}]", who, headline(finding, report.working_directory),
                                        diagnose::grade_text(finding)));
  }
  return section;
}

std::string roughly(double seconds) { return seconds < 1 ? "under a second" : "about " + diagnose::duration(seconds); }

bool was_rerun(const diagnose::Diagnosis& report) {
  return std::ranges::any_of(report.passes, [&](const diagnose::PassLine& pass) {
    return &pass != &report.passes.front() && pass.cut_short != session::CutShort::interrupted;
  });
}

// Returns the last rerun that waited for operations if it did not prove the first answer; otherwise null.
const diagnose::PassLine* unproving_rerun(const diagnose::Diagnosis& report) {
  const auto last = std::find_if(report.passes.rbegin(), report.passes.rend(), [](const diagnose::PassLine& pass) {
    return pass.kind == session::PassKind::confirm && pass.cut_short != session::CutShort::interrupted;
  });
  return last == report.passes.rend() || report.findings.front().evidence.proves() ? nullptr : &*last;
}

// Returns true if cudadiag bisect without isolation may prove the answer.
bool plain_rerun_may_prove(const diagnose::Diagnosis& report) {
  const diagnose::PassLine* last = unproving_rerun(report);
  return last != nullptr && last->leaves_proof_open;
}

// Returns true if files of the first run may have been in the way of the last rerun, which was not isolated.
bool isolated_rerun_may_prove(const diagnose::Diagnosis& report) {
  const diagnose::PassLine* last = unproving_rerun(report);
  return last != nullptr && !last->isolated && last->judged == analyse::Rerun::Outcome::not_reached;
}

// Returns true if an isolated rerun that may write more may prove the answer.
bool roomier_rerun_may_prove(const diagnose::Diagnosis& report) {
  const diagnose::PassLine* last = unproving_rerun(report);
  return last != nullptr && last->reached_write_limit;
}

// Says why source lines are missing.
Section withheld(const diagnose::Diagnosis& report) {
  return {.label = "Source", .lines = report.foreign.empty() ? Lines() : Lines{diagnose::withheld_text(report)}};
}

std::string session_argument(const std::string& session) {
  return session.empty() ? "" : " " + diagnose::shell_word(session);
}

// The report suggests commands that fit these facts.
struct Prospects {
  const diagnose::Diagnosis& report;
  const diagnose::Finding& answer;
  bool may_rerun = false;    // the report may suggest reruns
  bool first_rerun = false;  // the report may suggest reruns, and the session has none yet
  bool isolated = false;     // like the automatic reruns of cudadiag run, which the first rerun should resemble
  bool sanitizes = false;    // compute-sanitizer is installed
  std::string session{};     // as an argument of commands; empty for the latest session

  std::string bisect(const char* options) const {
    if (report.exposed.empty()) {
      return diagnose::bisect_command(session, report.input_read, report.rerun_options, options);
    }
    return diagnose::record_command(report.options, report.command, report.input_read, "-o FOLDER");
  }
  const char* isolation() const {
    if (!isolated) return "";
    return !first_rerun && roomier_rerun_may_prove(report) ? diagnose::kIsolatedWithMoreWrites : diagnose::kIsolated;
  }
  std::string limits() const { return (isolated ? kIsIsolated : kWrites) + risks(); }
  std::string writes() const { return kWrites + risks(); }
  // The risk for other programs, and the condition for a copy.
  std::string risks() const {
    const bool shared =
        std::ranges::find(report.notes, analyse::NoteCode::mps, &analyse::Note::code) != report.notes.end();
    return (shared ? "; under MPS, it can end other programs" : "") +
           std::string(report.exposed.empty() ? "" : "; FOLDER must be one that only you can write to");
  }
  std::string cost() const { return roughly(report.passes.front().seconds); }
};

// Each of the functions below returns one suggestion. The shell ignores the text after #, so users can paste the whole
// line.
using Suggestion = std::optional<std::string>;

Suggestion rerun_for_proof(const Prospects& known) {
  const diagnose::Finding& answer = known.answer;
  const bool dumped = answer.evidence.proves() && answer.device && answer.device->of_first_run;
  const bool may_prove = (known.first_rerun && !dumped) || (!known.first_rerun && known.isolated) ||
                         (known.may_rerun && plain_rerun_may_prove(known.report));
  if (!may_prove || !analyse::is_asynchronous(answer.kind) || answer.code == 0) return std::nullopt;
  return fmt::format("{}  # {} a rerun{}", known.bisect(known.isolation()), known.cost(), known.limits());
}

// Only its user can start a program again that something else started, such as a service manager or a job's launcher.
Suggestion dump_of_next_run(const Prospects& known) {
  const diagnose::Finding& answer = known.answer;
  const bool fails_on_gpu = analyse::is_asynchronous(answer.kind) && answer.code != 0;
  const bool was_started = !known.report.command.empty() && !known.report.is_one_rank;
  const bool was_asked = known.report.asked_for_dump || answer.device;
  if (was_started || !known.report.foreign.empty() || !fails_on_gpu || was_asked) return std::nullopt;
  if (known.report.is_one_rank) {
    return "cudadiag run --once -- COMMAND  # in front of each rank's command: gets a GPU core dump from the next run";
  }
  return "eval \"$(cudadiag env --once)\"  # gets a GPU core dump from the next run";
}

// Waits for every operation, which shows whether the failed call only reported a failure of earlier GPU work.
Suggestion rerun_for_earlier_work(const Prospects& known) {
  const diagnose::Finding& answer = known.answer;
  const bool refused = answer.kind == analyse::Kind::sync_error || answer.kind == analyse::Kind::unchecked_error;
  const bool unclear = answer.evidence.is_guess() && analyse::is_undocumented(answer.code);
  if (!known.first_rerun || !refused || !unclear) return std::nullopt;
  return known.bisect(kAllOperations) + "  # shows whether earlier GPU work failed" + known.writes();
}

// Returns the command that runs the program again with this option. Leaves out the options of the first run that are
// about reruns, or may contradict it.
std::string run_with(const diagnose::Diagnosis& report, const std::string& option) {
  constexpr std::string_view kKept[] = {"--user-code=",       "--not-user-code=", "--no-python-stacks",
                                        "--no-native-stacks", "--full-log",       "--error-exitcode="};
  std::vector<std::string> options = report.options;
  std::erase_if(options, [&](const std::string& each) {
    return std::ranges::none_of(kKept, [&](std::string_view kept) { return each.starts_with(kept); });
  });
  options.insert(options.begin(), "run");
  return diagnose::record_command(options, report.command, report.input_read, option);
}

Suggestion more_attempts(const Prospects& known) {
  if (!known.may_rerun || !known.report.may_come_back) return std::nullopt;
  if (!known.report.was_repeated) {
    return fmt::format("{}  # {} a rerun{}", known.bisect(diagnose::kRepeat), known.cost(), known.writes());
  }
  if (known.report.asked_for_dump) return std::nullopt;
  return run_with(known.report, "--once") + "  # a GPU core dump, if it fails";
}

Suggestion dump_of_long_work(const Prospects& known) {
  constexpr double kLeast = 60;
  const diagnose::Diagnosis& report = known.report;
  const auto& hang = known.answer.hang;
  if (!hang || !hang->interrupted || report.command.empty() || report.is_one_rank || !report.foreign.empty()) {
    return std::nullopt;
  }
  const std::string seconds = fmt::format("{:.0f}", std::max(kLeast, 10 * hang->seconds));
  return fmt::format("{}  # shows what it does, if it takes {} s",
                     run_with(report, fmt::format("--hang-after {} --on-hang=dump", seconds)), seconds);
}

Suggestion rerun_for_tensor_names(const Prospects& known) {
  if (!known.answer.race || !known.first_rerun) return std::nullopt;
  const auto& accesses = known.answer.race->accesses;
  const bool nameless = std::ranges::any_of(accesses, [](const diagnose::ResolvedAccess& access) {
    return access.location.language == symbolize::Language::python && !access.tensor;
  });
  if (!nameless) return std::nullopt;
  return fmt::format("{}  # names the tensors, in {}{}", known.bisect(known.isolation()), known.cost(), known.limits());
}

Suggestion rerun_for_executing_line(const Prospects& known) {
  const bool has_line = known.answer.device && known.answer.device->line > 0;
  if (!known.answer.hang || known.answer.hang->stall || !known.first_rerun || has_line) return std::nullopt;
  const auto& launch = known.answer.launch;
  // In a collective, the lines of the kernel's threads explain nothing, because the threads wait for other ranks.
  const bool runs = launch &&
                    (launch->operation == session::Work::kernel || launch->operation == session::Work::graph) &&
                    !analyse::is_collective(launch->kernel);
  if (!runs) return std::nullopt;
  return known.bisect("") + "  # finds the line that its threads execute" + known.writes();
}

Suggestion status_of_work(const Prospects& known) {
  if (!known.answer.hang) return std::nullopt;
  return fmt::format("cudadiag status{}  # shows all unfinished work", session_argument(known.session));
}

// After the reruns, compute-sanitizer may find the line of an access that no core dump shows.
Suggestion rerun_under_sanitizer(const Prospects& known) {
  const diagnose::Diagnosis& report = known.report;
  const diagnose::Finding& answer = known.answer;
  const bool sanitized = std::ranges::any_of(
      report.passes, [](const diagnose::PassLine& pass) { return pass.kind == session::PassKind::sanitize; });
  const bool lineless = !answer.device || answer.device->line == 0 || !answer.device->block;
  const bool may_help = lineless && diagnose::memcheck_may_help(answer);
  if (!report.foreign.empty() || !was_rerun(report) || sanitized || !may_help || !known.sanitizes) return std::nullopt;
  return known.bisect("--sanitize") + "  # runs it under compute-sanitizer" + known.risks();
}

// Lists commands that can find out more.
Section next_commands(const diagnose::Diagnosis& report, const TextOptions& options) {
  const bool verbose = options.verbosity == Verbosity::verbose;
  Section section{.label = "Next", .at_least = 3, .wide = verbose ? Wide::stays : Wide::wraps};
  if (report.session.empty() || report.findings.empty()) return section;
  Prospects known{report, report.findings.front()};
  // Does not suggest to rerun one rank alone, or another user's session, because that user has chosen the command.
  known.may_rerun = options.suggest_rerun && report.foreign.empty() && !report.passes.empty() && !report.is_one_rank &&
                    diagnose::descriptor_in(report.command).empty();
  known.first_rerun = known.may_rerun && !was_rerun(report);
  const bool isolated_may_prove = isolated_rerun_may_prove(report) || roomier_rerun_may_prove(report);
  known.isolated =
      (known.first_rerun || (known.may_rerun && isolated_may_prove)) && options.isolates && report.exposed.empty();
  known.sanitizes = options.sanitizes;
  known.session = options.is_latest ? "" : report.session;
  for (const auto suggest :
       {rerun_for_proof, dump_of_next_run, rerun_for_earlier_work, more_attempts, rerun_for_tensor_names,
        rerun_for_executing_line, dump_of_long_work, status_of_work, rerun_under_sanitizer}) {
    if (const Suggestion command = suggest(known)) section.lines.push_back(*command);
  }
  if (!verbose) {
    section.lines.push_back(fmt::format("cudadiag report{} -v", session_argument(known.session)));
  }
  return section;
}

// Returns the command, the directory, the time and the session, such as "python train.py  in /home/u,
// 2026-11-21T10:15:00Z, session /home/u/.local/state/cudadiag/20261121-101500-4711".
Section run_section(const diagnose::Diagnosis& report) {
  std::string command = command_text(report), rest;
  const std::pair<const char*, const std::string*> parts[] = {
      {"in ", &report.working_directory}, {"", &report.started}, {"session ", &report.session}};
  for (const auto& [word, value] : parts) {
    if (!value->empty()) rest += (rest.empty() ? "  " : ", ") + std::string(word) + *value;
  }
  return {.label = "Run", .lines = unless_empty(command + rest), .at_least = 0, .wide = Wide::stays};
}

// Returns the time and the command, such as "2026-11-21T10:15:00Z python train.py".
Section short_run(const diagnose::Diagnosis& report) {
  const std::string line = report.started + "  " + command_text(report);
  return {
      .label = "Run", .lines = report.started.empty() ? Lines() : Lines{line}, .sacrifice = 6, .wide = Wide::is_cut};
}

// Commands for the tools whose evidence a finding lacks.
Lines witness_commands(const diagnose::Diagnosis& report, const TextOptions& options) {
  Lines lines;
  if (!was_rerun(report)) return lines;
  for (const diagnose::Finding& finding : report.findings) {
    for (const diagnose::WitnessCommand& command : finding.tools.not_run) {
      std::string line = command.text;
      if (command.runs_target)
        line += " " + diagnose::shell_line(report.command) + (report.input_read ? " <INPUT" : "");
      if (command.runs_target && !options.sanitizes) line += "  # where compute-sanitizer is installed";
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

Lines processes(const diagnose::Diagnosis& report) {
  Lines lines;
  for (const diagnose::ProcessLine& process : report.processes) {
    std::string line = fmt::format("pid {}", process.pid);
    if (process.parent != 0) line += fmt::format(", parent {}", process.parent);
    if (process.rank) line += fmt::format(", rank {}", *process.rank);
    if (process.code) line += fmt::format(", exit {}", *process.code);
    if (process.signal) line += fmt::format(", signal {}", *process.signal);
    lines.push_back(line + ": " + diagnose::shell_line(process.argv));
  }
  return lines;
}

Lines environment(const diagnose::Diagnosis& report) {
  std::string versions;
  for (const auto& [key, name, text] : diagnose::kVersions) {
    const std::string& version = report.*text;
    if (!version.empty()) versions += fmt::format("{}{} {}", versions.empty() ? "" : ", ", name, version);
  }
  Lines lines = unless_empty(versions);
  for (std::size_t i = 0; i < report.gpus.size(); ++i) lines.push_back(fmt::format("GPU {}: {}", i, report.gpus[i]));
  return lines;
}

// Adds the sections about the run, which -v shows after the findings.
void add_run(Page& page, const diagnose::Diagnosis& report, const TextOptions& options) {
  Section next = next_commands(report, options);
  for (std::string& line : witness_commands(report, options)) next.lines.push_back(std::move(line));
  Lines notes;
  for (const analyse::Note& note : report.notes) notes.push_back(fmt::format("{} ({})", note.text, word(note.code)));
  page.add(next);
  page.add(run_section(report));
  page.add({.label = "Ranks", .lines = report.findings.empty() ? diagnose::job_lines(report) : Lines(), .at_least = 0});
  page.add({.label = "Notes", .lines = notes, .at_least = 0});
  page.add({.label = "Process", .lines = processes(report), .at_least = 0, .wide = Wide::stays});
  page.add({.label = "With", .lines = environment(report), .at_least = 0, .wide = Wide::stays});
}

bool ended_badly(const diagnose::Diagnosis& report) {
  return std::ranges::any_of(report.processes, [](const diagnose::ProcessLine& process) {
    return process.signal || process.code.value_or(0) != 0;
  });
}

Section clean(const diagnose::Diagnosis& report, const TextOptions& options) {
  const CleanVerdict verdict = clean_verdict(report);
  const bool unknown = report.verdict == analyse::Verdict::inconclusive;
  const std::string reason = verdict.reason.empty() ? "" : (unknown ? ": " : "; ") + verdict.reason;
  Section section{.lines = {"cudadiag: " + verdict.sentence + reason},
                  .wide = options.to_terminal ? Wide::wraps : Wide::stays};
  for (const analyse::Note& note : report.notes) {
    if (note.code == analyse::NoteCode::unfinished) section.lines.push_back("cudadiag: " + note.text);
  }
  return section;
}

// Whether work failed that was pending at a crash.
Section rerun_for_pending_work(const diagnose::Diagnosis& report, const TextOptions& options) {
  Section section{.label = "Next", .wide = options.to_terminal ? Wide::wraps : Wide::stays};
  if (!options.suggest_rerun || !crashed_at_work(report)) return section;
  section.lines = {diagnose::bisect_command(options.is_latest ? "" : report.session, report.input_read,
                                            report.rerun_options, kAllOperations) +
                   "  # waits for each operation, which shows whether one fails" + kWrites};
  return section;
}

Page empty_page(const TextOptions& options) {
  Page page;
  page.columns = options.columns > 40 ? static_cast<std::size_t>(options.columns) : 40;
  page.colour = options.colour;
  return page;
}

// Says that the checks of PyTorch's values ended early, or that the program ended with a CUDA error, which these checks
// do not look for.
Section ended_checks(const diagnose::Diagnosis& report) {
  Section section{.label = "Note"};
  for (const analyse::Note& note : report.notes) {
    if (note.code == analyse::NoteCode::checks_ended) section.lines.push_back(note.text);
  }
  return section;
}

Page page_before_fit(const diagnose::Diagnosis& report, const TextOptions& options, diagnose::StreamLetters& letters) {
  Page page = empty_page(options);
  if (report.findings.empty()) {
    if (options.say_clean) page.add(clean(report, options));
    if (options.say_clean) page.add(rerun_for_pending_work(report, options));
    return page;
  }
  page.add(job_answer(report));
  add_finding(page, report.findings.front(), diagnose::job_lines(report), report.working_directory, false);
  page.add(ended_checks(report));
  page.add(withheld(report));
  page.add(others(report));
  if (options.show_run) page.add(short_run(report));
  page.add(next_commands(report, options));
  for (Section& section : page.sections) {
    if (section.topic == Topic::source) continue;
    for (std::string& line : section.lines) line = letters.name(line);
  }
  return page;
}

void fit(Page& page, const diagnose::Diagnosis& report, const TextOptions& options) {
  // One failure has a fixed number of lines. The ranks of a job and further races get lines of their own.
  std::size_t races = 0, lines = options.lines;
  for (const diagnose::Finding& finding : report.findings) races += finding.race ? 1 : 0;
  if (races > 1) lines += races - 1;
  for (Section ranks = job_answer(report); !ranks.lines.empty(); ranks.lines.pop_back()) {
    lines += page.rows(ranks, ranks.lines.back()).size();
  }
  Section ranks;
  ranks.label = "Ranks";
  for (const std::string& line : diagnose::job_lines(report)) lines += page.rows(ranks, line).size();
  page.fit(lines * std::max(kUsualColumns, page.columns) / page.columns);
}

}  // namespace

bool crashed_at_work(const diagnose::Diagnosis& report) {
  const bool crashed = std::ranges::any_of(report.processes, [](const diagnose::ProcessLine& process) {
    return process.signal && !analyse::ending({std::nullopt, process.signal}).killed();
  });
  const bool may_rerun = report.foreign.empty() && report.passes.size() == 1 && !report.is_one_rank &&
                         !report.session.empty() && !report.command.empty() &&
                         diagnose::descriptor_in(report.command).empty();
  return crashed && may_rerun && report.verdict == analyse::Verdict::inconclusive && !report.notes.empty() &&
         report.notes.front().code == analyse::NoteCode::killed_at_work;
}

CleanVerdict clean_verdict(const diagnose::Diagnosis& report) {
  if (report.verdict == analyse::Verdict::inconclusive) {
    return {"cannot tell whether CUDA failed in this session",
            report.notes.empty() ? "" : base::printable(report.notes.front().text)};
  }
  // A rerun has shown why a process was killed at work.
  const auto explained = std::ranges::find(report.notes, analyse::NoteCode::killed_at_work, &analyse::Note::code);
  if (explained != report.notes.end()) return {"no CUDA failure in this session", base::printable(explained->text)};
  const auto is_handled = [](const analyse::Note& note) { return note.code == analyse::NoteCode::error_handled; };
  const auto first = std::ranges::find_if(report.notes, is_handled);
  const bool any = first != report.notes.end();
  const std::string clean = any && ended_badly(report) ? "no CUDA failure is known to have ended the program"
                                                       : "no CUDA failure in this session";
  if (!any) return {clean, ""};
  if (std::none_of(first + 1, report.notes.end(), is_handled)) return {clean, base::printable(first->text)};
  return {clean + ", but calls failed and the program continued: -v lists them", ""};
}

std::vector<Page> whole_pages(const diagnose::Diagnosis& report, const TextOptions& options) {
  std::vector<Page> pages;
  for (const diagnose::Finding& finding : report.findings) {
    const bool first = &finding == &report.findings.front();
    Page& page = pages.emplace_back(empty_page(options));
    if (first) page.add(job_answer(report));
    add_finding(page, finding, first ? diagnose::job_lines(report) : Lines{}, report.working_directory, true);
  }
  Page& page = pages.emplace_back(empty_page(options));
  if (report.findings.empty()) page.add(job_answer(report));
  page.add(withheld(report));
  if (report.findings.empty()) page.add(clean(report, options));
  if (report.findings.empty()) page.add(rerun_for_pending_work(report, options));
  if (!report.findings.empty() || report.passes.size() > 1) page.add(passes(report));
  add_run(page, report, options);
  return pages;
}

TextOptions before_reruns(TextOptions options) {
  constexpr std::size_t kMessages = 3;
  options.lines -= kMessages;
  options.suggest_rerun = false;
  return options;
}

// Omits the sections that the pages of `before` had, and titles.
std::string write_changes(const diagnose::Diagnosis& before, const diagnose::Diagnosis& after,
                          const TextOptions& options) {
  const bool verbose = options.verbosity == Verbosity::verbose;
  const TextOptions first = before_reruns(options);
  diagnose::StreamLetters letters;
  const auto pages_of = [&](const diagnose::Diagnosis& report, const TextOptions& shown) {
    return verbose ? whole_pages(report, shown) : std::vector<Page>{page_before_fit(report, shown, letters)};
  };
  std::vector<Page> old = pages_of(before, first);
  if (!verbose) fit(old.front(), before, first);
  std::string text;
  for (Page& page : pages_of(after, options)) {
    std::erase_if(page.sections, [&](const Section& section) {
      const auto is_old = [&](const Page& earlier) {
        return std::ranges::any_of(earlier.sections, [&](const Section& each) { return section.repeats(each); });
      };
      return section.topic == Topic::headline || std::ranges::any_of(old, is_old);
    });
    if (!verbose) fit(page, after, options);
    text += page.print();
  }
  return text;
}

std::string write_text(const diagnose::Diagnosis& report, const TextOptions& options) {
  if (options.verbosity == Verbosity::quiet && !report.findings.empty()) {
    const std::string job = diagnose::job_sentence(report);
    if (!job.empty()) return fmt::format("cudadiag: {}\n", base::printable(job));
    std::string text;
    for (const SharedFinding& each : shared_findings(report)) {
      const std::string many = each.ranks.size() > 1 ? fmt::format(", in {} processes", each.ranks.size()) : "";
      text += fmt::format("cudadiag: {} [{}]{}\n", headline(*each.first, report.working_directory),
                          diagnose::grade_text(*each.first), many);
    }
    return text;
  }
  if (options.verbosity != Verbosity::verbose) {
    diagnose::StreamLetters letters;
    Page page = page_before_fit(report, options, letters);
    if (!report.findings.empty()) fit(page, report, options);
    return page.print();
  }
  std::string text;
  for (const Page& page : whole_pages(report, options)) text += page.print();
  return text;
}

}  // namespace cudadiag::report
