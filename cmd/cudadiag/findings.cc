#include "findings.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "analyse/analysis.h"
#include "analyse/rerun_window.h"
#include "report/device_text.h"
#include "report/json.h"
#include "report/kernel_name.h"
#include "report/launch.h"
#include "report/memory_text.h"
#include "report/place.h"
#include "report/printable.h"
#include "report/race_text.h"
#include "report/resolved_site.h"
#include "report/status.h"
#include "report/surroundings.h"
#include "report/witnesses.h"
#include "report/words.h"
#include "session/ownership.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "session/session_writer.h"
#include "symbolize/source_excerpt.h"
#include "symbolize/symbolizer.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

constexpr std::size_t kKernelColumns = 60;

bool same_place(const report::Location& a, const report::Location& b) {
  const bool same = a.file == b.file && a.line == b.line;
  return same && (a.line > 0 || (a.function == b.function && a.nearest().line == b.nearest().line));
}

// What the rerun found is one of those that the first answer had left, or a node of the graph that it had named.
bool was_possible(const report::Finding& before, const report::Finding& after) {
  const auto is_it = [&](const auto& other) { return same_place(other.location, after.location); };
  if (std::any_of(before.candidates.begin(), before.candidates.end(), is_it)) return true;
  const bool no_node = before.launch && before.launch->operation == "graph" && !before.launch->graph_node;
  return no_node && std::any_of(after.related.begin(), after.related.end(), [&](const report::Related& related) {
           return related.role == "replay" && same_place(related.location, before.location);
         });
}

// The line that leads was already told; or it was not yet known to have started the thread of the one that was.
bool leads_as_before(const report::Finding& before, const report::Finding& after) {
  const bool new_start = after.thread_start && !before.thread_start;
  return same_place(before.location, new_start ? after.thread_start->issued : after.location);
}

// "train.py:41"
std::string place_of(const report::Finding& finding) {
  const report::Location& at = finding.location;
  if (at.line == 0 && !at.function.empty()) return at.function;
  if (at.file.empty()) return report::place(at, "");
  return fmt::format("{}:{}", std::filesystem::path(at.file).filename().string(), at.line);
}

// A finding before and after the reruns.
struct Told {
  const report::Finding* was;
  const report::Finding* is;
};

// What is told of the same failure of the GPU's own work before the reruns; null: nothing was.
const report::Finding* counterpart(const report::Report& before, const report::Finding& finding) {
  const auto found = std::find_if(before.findings.begin(), before.findings.end(), [&](const report::Finding& other) {
    return other.pid == finding.pid && other.code == finding.code && analyse::is_asynchronous(other.kind);
  });
  return found == before.findings.end() ? nullptr : &*found;
}

// Of several findings the one that the reruns were for: the first that they proved, else the first failure of the GPU's
// own work. A call that was refused needs none.
Told told_of(const report::Report& before, const report::Report& after) {
  Told told{&before.findings.front(), &after.findings.front()};
  bool any = false;
  for (const report::Finding& is : after.findings) {
    const report::Finding* was = analyse::is_asynchronous(is.kind) ? counterpart(before, is) : nullptr;
    if (was == nullptr) continue;
    if (is.grade == analyse::Grade::proven && was->grade != analyse::Grade::proven) return {was, &is};
    if (!any) told = {was, &is};
    any = true;
  }
  return told;
}

// Empty where no rerun waited for anything.
std::string sentence(const report::Report& after, const report::Finding& finding) {
  const auto is_confirm = [](const report::PassLine& pass) { return pass.name == "confirm"; };
  const auto reruns = std::count_if(after.passes.begin(), after.passes.end(), is_confirm);
  if (reruns == 0) return "";
  const report::PassLine& last = *std::find_if(after.passes.rbegin(), after.passes.rend(), is_confirm);
  double seconds = 0;
  for (const report::PassLine& pass : after.passes) seconds += is_confirm(pass) ? pass.seconds : 0;
  const std::string after_time = fmt::format(" ({})", report::duration(seconds));
  const std::string runs = reruns == 1 ? "a rerun" : fmt::format("{} reruns", reruns);
  if (finding.grade == analyse::Grade::proven) {
    const std::string_view proven = report::word(analyse::Rerun::Outcome::proven);
    const bool by_waiting = std::any_of(after.passes.begin(), after.passes.end(), [&](const report::PassLine& pass) {
      return is_confirm(pass) && pass.outcome == proven;
    });
    const bool has_dump = std::any_of(after.passes.begin(), after.passes.end(), [](const report::PassLine& pass) {
      return pass.name == "device" && pass.outcome.starts_with(report::kDumpRead);
    });
    if (!by_waiting && has_dump && finding.device) {
      return fmt::format("confirmed by the GPU core dump of a rerun: {}  [proven]", place_of(finding));
    }
    return fmt::format("confirmed by {}{}: {}  [{}]", runs, after_time, place_of(finding), report::word(finding.grade));
  }
  if (last.ended_at_that) {
    const std::string allow =
        after.session.empty() ? "" : "; to allow it: " + report::bisect_command(after.session, after.input_read);
    return fmt::format("not confirmed: the rerun{} {}{}", after_time, last.outcome, allow);
  }
  // Whoever interrupts it may want it later.
  const bool interrupted = last.outcome == "interrupted", too_long = last.outcome == "time limit";
  const bool gave_up = last.outcome == report::word(analyse::Rerun::Outcome::given_up);
  const std::string later = (interrupted || too_long || gave_up) && !after.session.empty()
                                ? "; to confirm: " + report::bisect_command(after.session, after.input_read,
                                                                            too_long  ? "--time-limit SECONDS"
                                                                            : gave_up ? "--wait-limit SECONDS"
                                                                                      : "")
                                : "";
  const std::string which = &finding == &after.findings.front() ? "" : " for " + place_of(finding);
  return fmt::format("{}{}: {}; the first answer{} stands  [{}]{}", runs, after_time, last.outcome, which,
                     report::word(finding.grade), later);
}

// "on the GPU: cases.cu:8  block 0,0,0 thread 0,0,0; 64 threads, one assertion; assertion `i < n` failed"
std::string device_sentence(const report::Finding& finding, const std::string& directory) {
  const std::vector<std::string> lines = report::device_lines(finding, directory, false);
  // The last line says how the dump fits the first run: for the whole report.
  return "on the GPU: " + lines.front() + (lines.size() > 2 ? "; " + lines[1] : "");
}

// "why: idx[0,77] = 30050, table has 30000 rows (valid 0..29999)", where the first run had not known so much.
std::string cause_sentence(const Told& told) {
  const auto& was = told.was->cause;
  const auto& is = told.is->cause;
  return !is || (was && was->text == is->text) ? "" : "why: " + report::printable(is->text);
}

// Where no rule says why: the first pointer that lies wrong; the report has the others.
std::string argument_sentence(const report::Finding& finding, const std::string& directory) {
  const auto lines = report::wrong_pointer_lines(finding, directory, true);
  return lines.size() < 2 ? "" : lines.front();
}

std::size_t races_of(const report::Report& report) {
  return static_cast<std::size_t>(std::count_if(report.findings.begin(), report.findings.end(),
                                                [](const report::Finding& finding) { return finding.race; }));
}

bool same_races(const report::Report& before, const report::Report& after) {
  const auto titles = [](const report::Report& of) {
    std::vector<std::string> texts;
    for (const report::Finding& finding : of.findings) {
      if (finding.race) texts.push_back(finding.title + place_of(finding));
    }
    return texts;
  };
  return titles(before) == titles(after);
}

// A line for each race of which a rerun told more; the whole report again where it found others.
void tell_races(const report::Report& before, const report::Report& after, report::Verbosity verbosity) {
  constexpr std::size_t kMost = 5;
  const auto pass = std::find_if(after.passes.rbegin(), after.passes.rend(),
                                 [](const report::PassLine& line) { return line.name == "races"; });
  if (pass == after.passes.rend()) return;
  if (!same_races(before, after)) {
    say(fmt::format("a rerun ({}) says more of the races:", report::duration(pass->seconds)));
    if (races_of(after) == 0) return say("by the schemas of PyTorch's operators there is none");
    return write_error_text(report::write_text(after, text_options(verbosity, STDERR_FILENO)));
  }
  if (verbosity == report::Verbosity::quiet) return;
  std::size_t told = 0;
  for (const report::Finding& finding : after.findings) {
    if (!finding.race) continue;
    if (told == kMost) return say("cudadiag report has the tensors of the others");
    std::string text;
    for (const std::string& line : report::race_tensors(*finding.race)) text += (text.empty() ? "" : "; ") + line;
    if (text.empty()) text = finding.race->rerun;
    if (text.empty()) continue;
    say(fmt::format("{}: {}  [{}]", place_of(finding), text, report::word(finding.grade)));
    ++told;
  }
  if (races_of(after) == 0) {
    const auto open = std::find_if(after.notes.begin(), after.notes.end(),
                                   [](const analyse::Note& note) { return note.code == "races-unjudged"; });
    return say(fmt::format("a rerun ({}) {}", report::duration(pass->seconds),
                           open == after.notes.end() ? "settles it: by the schemas of their operators, all of them read"
                                                     : "leaves it at that: " + open->text));
  }
  if (told == 0) say(fmt::format("a rerun ({}) could not name the tensors that race", report::duration(pass->seconds)));
}

// What the reruns add to a finding whose line stands.
void tell_gains(const Told& told, const report::Report& after) {
  const std::string& directory = after.working_directory;
  const report::Finding& answer = *told.is;
  const bool settled = answer.grade == analyse::Grade::proven && answer.launch && !answer.launch->kernel.empty();
  if (settled && report::possible_kernels(*told.was).several()) {
    say("of the kernels that can be the one it is " +
        report::printable(report::short_kernel_name(answer.launch->kernel, kKernelColumns)));
  }
  const auto of_pass = [&](std::string_view name, std::string_view outcome) {
    return std::any_of(after.passes.begin(), after.passes.end(),
                       [&](const report::PassLine& pass) { return pass.name == name && pass.outcome == outcome; });
  };
  if (of_pass("eager", report::word(analyse::Rerun::Outcome::did_not_fail))) {
    say("a rerun without torch.compile did not fail");
  }
  for (const report::Related& related : answer.related) {
    if (related.role == "eager") say("without torch.compile it fails in " + report::place(related.location, directory));
  }
  if (answer.thread_start && !told.was->thread_start) {
    say(fmt::format("that line {} {}", answer.thread_start->pool ? "gave a pool of threads" : "started the thread of",
                    report::place(answer.thread_start->issued, directory)));
  }
  if (answer.device) say(device_sentence(answer, directory));
  if (!answer.device && of_pass("device", report::kDumpUnfinished)) {
    say("on the GPU: line, block and thread are not known, as " + answer.device_unknown +
        (report::memcheck_may_tell(answer)
             ? "; " + report::bisect_command(after.session, after.input_read, "--sanitize") +
                   " may tell (needs compute-sanitizer)"
             : ""));
  }
  if (answer.memory) say("compute-sanitizer: " + answer.memory->text);
  for (const std::string& sentence : answer.witnesses) say(sentence);
  const std::string cause = cause_sentence(told);
  if (const std::string text = cause.empty() ? argument_sentence(answer, directory) : cause; !text.empty()) say(text);
  // A hang's rerun is for the dump: it has nothing to say of the first answer.
  if (answer.grade == analyse::Grade::proven || answer.kind == analyse::Kind::hang) return;
  const std::string& said = told.was->because;
  if (answer.because.starts_with(said + "; ")) return say(answer.because.substr(said.size() + 2));
  if (answer.because != said) say(answer.because);
}

// Of calls that found no memory.
void tell_tensors(const report::Report& after) {
  for (const report::Finding& finding : after.findings) {
    if (!finding.memory_use || !finding.memory_use->tensors) continue;
    for (const std::string& line : report::tensor_lines(*finding.memory_use, after.working_directory, false)) say(line);
  }
}

}  // namespace

report::Report examine(const session::Session& session, const std::function<bool(const session::Process&)>& wanted) {
  symbolize::Symbolizer symbolizer(session);
  analyse::Analysis analysis = analyse::analyse(session, report::same_line_by(symbolizer));
  if (wanted) {
    std::erase_if(analysis.failures, [&](const analyse::Failure& failure) {
      return failure.process != nullptr && !wanted(*failure.process);
    });
  }
  return report::build(session, analysis, symbolizer);
}

report::Report examine_found(const session::Session& session, bool trusted) {
  const std::string foreign = trusted ? "" : session::why_foreign(session);
  const symbolize::WithheldSources withheld(!foreign.empty());
  report::Report report = examine(session);
  report::mark_foreign(report, foreign);
  return report;
}

void tell_reruns(const report::Report& before, const report::Report& after, report::Verbosity verbosity) {
  if (after.passes.size() <= before.passes.size()) return;
  tell_races(before, after, verbosity);
  if (before.findings.empty() || after.findings.empty() || before.findings.front().race) return;
  const Told told = told_of(before, after);
  const bool moved =
      !leads_as_before(*told.was, *told.is) || !leads_as_before(before.findings.front(), after.findings.front());
  if (moved || after.findings.size() - races_of(after) > before.findings.size() - races_of(before)) {
    say(!moved                              ? "a rerun failed elsewhere:"
        : was_possible(*told.was, *told.is) ? "a rerun narrows the first answer:"
                                            : "a rerun corrects the first answer:");
    write_error_text(report::write_text(after, text_options(verbosity, STDERR_FILENO)));
    return;
  }
  if (const std::string text = sentence(after, *told.is); !text.empty()) say(text);
  if (verbosity == report::Verbosity::quiet) return;
  tell_tensors(after);
  tell_gains(told, after);
}

void tell_unfinished(const session::Session& session, bool kept) {
  symbolize::Symbolizer symbolizer(session);
  const std::string text = report::unfinished_text(report::build_status(session, false, symbolizer));
  if (text.empty()) return;
  say(text + (kept ? "; cudadiag status " + session.folder.string() + " shows all that was unfinished" : ""));
}

void empty_older_report(const std::string& path) {
  std::error_code ignored;  // what cannot be written is told when the report is
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::resize_file(path, 0, ignored);
}

void write_json_file(const report::Report& report, const std::string& path) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << report::write_json(report);
  if (file.flush()) return;
  const int error = errno;
  say(fmt::format(
      "cannot write the report to {}: {}; {}: cudadiag report --json", path, std::strerror(error),
      session::is_for_lack_of_room(error) ? "free some space, then" : "name a file that you can write, or"));
}

session::Result<std::string> window_of_session(const std::string& name, const std::optional<std::string>& output) {
  std::optional<std::filesystem::path> root;
  if (output) root = *output;
  const auto folder = session::find_session(session::roots_to_read(root), name);
  if (const auto* failure = std::get_if<session::Failure>(&folder)) return *failure;
  const auto opened = session::open_session(std::get<std::filesystem::path>(folder));
  if (const auto* failure = std::get_if<session::Failure>(&opened)) return *failure;
  const auto& session = std::get<session::Session>(opened);
  // All calls of the suspects' lines: how often a long job has come there when it fails is not known beforehand.
  auto window = analyse::rerun_window(analyse::analyse(session), analyse::Reach::sites);
  if (window.text.empty()) {
    return session::Failure{"the session " + session.folder.string() + " has no suspects to wait for",
                            "name one with an asynchronous failure; cudadiag list shows them"};
  }
  return window.text;
}

}  // namespace cudadiag::command
