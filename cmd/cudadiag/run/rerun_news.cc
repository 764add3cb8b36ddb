#include "run/rerun_news.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "analyse/analysis.h"
#include "base/printable.h"
#include "diagnose/launch.h"
#include "diagnose/place.h"
#include "diagnose/reruns/witnesses.h"
#include "diagnose/surroundings.h"
#include "diagnose/words.h"
#include "report/device_text.h"
#include "report/memory_text.h"
#include "report/race_text.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

using session::CutShort;
using Outcome = analyse::Rerun::Outcome;

bool same_place(const diagnose::Location& a, const diagnose::Location& b) {
  const bool same = a.file == b.file && a.line == b.line;
  return same && (a.line > 0 || (a.function == b.function && a.nearest().line == b.nearest().line));
}

// True if the rerun found one of the first answer's candidates, or a node of the graph that it named.
bool was_possible(const diagnose::Finding& before, const diagnose::Finding& after) {
  const auto is_it = [&](const auto& other) { return same_place(other.location, after.location); };
  if (std::any_of(before.candidates.begin(), before.candidates.end(), is_it)) return true;
  const bool no_node = before.launch && before.launch->operation == "graph" && !before.launch->graph_node;
  return no_node && std::any_of(after.related.begin(), after.related.end(), [&](const diagnose::Related& related) {
           return related.role == "replay" && same_place(related.location, before.location);
         });
}

// The line that leads was already told; or it was not yet known to have started the thread of the one that was.
bool leads_as_before(const diagnose::Finding& before, const diagnose::Finding& after) {
  const bool new_start = after.thread_start && !before.thread_start;
  return same_place(before.location, new_start ? after.thread_start->issued : after.location);
}

// "train.py:41"
std::string place_of(const diagnose::Finding& finding) {
  const diagnose::Location& at = finding.location;
  if (at.line == 0 && !at.function.empty()) return at.function;
  if (at.file.empty()) return diagnose::place(at, "");
  return fmt::format("{}:{}", std::filesystem::path(at.file).filename().string(), at.line);
}

// A finding before and after the reruns.
struct Told {
  const diagnose::Finding* was;
  const diagnose::Finding* is;
};

// The finding on the same asynchronous failure in the report before the reruns; null: there is none.
const diagnose::Finding* counterpart(const diagnose::Diagnosis& before, const diagnose::Finding& finding) {
  const auto found = std::find_if(before.findings.begin(), before.findings.end(), [&](const diagnose::Finding& other) {
    return other.pid == finding.pid && other.code == finding.code && analyse::is_asynchronous(other.kind);
  });
  return found == before.findings.end() ? nullptr : &*found;
}

// Chooses the finding that the reruns were for: the first that they proved, else the first asynchronous failure. A
// refused call needs no rerun.
Told told_of(const diagnose::Diagnosis& before, const diagnose::Diagnosis& after) {
  Told told{&before.findings.front(), &after.findings.front()};
  bool any = false;
  for (const diagnose::Finding& is : after.findings) {
    const diagnose::Finding* was = analyse::is_asynchronous(is.kind) ? counterpart(before, is) : nullptr;
    if (was == nullptr) continue;
    if (is.grade == analyse::Grade::proven && was->grade != analyse::Grade::proven) return {was, &is};
    if (!any) told = {was, &is};
    any = true;
  }
  return told;
}

bool is_proof(const Told& told) {
  return told.is->grade == analyse::Grade::proven && told.was->grade != analyse::Grade::proven;
}

bool has_moved(const Told& told, const diagnose::Diagnosis& before, const diagnose::Diagnosis& after) {
  return !leads_as_before(*told.was, *told.is) || !leads_as_before(before.findings.front(), after.findings.front());
}

bool is_confirm(const diagnose::PassLine& pass) { return pass.kind == session::PassKind::confirm; }

// "a rerun (3.2 s)"; empty if none waited for anything.
std::string reruns_text(const diagnose::Diagnosis& after) {
  const auto reruns = std::count_if(after.passes.begin(), after.passes.end(), is_confirm);
  if (reruns == 0) return "";
  double seconds = 0;
  for (const diagnose::PassLine& pass : after.passes) seconds += is_confirm(pass) ? pass.seconds : 0;
  const std::string runs = reruns == 1 ? "a rerun" : fmt::format("{} reruns", reruns);
  return fmt::format("{} ({})", runs, diagnose::duration(seconds));
}

// "confirmed by a rerun (3.2 s): train.py:41  [proven]"
std::string proof_text(const diagnose::Diagnosis& after, const diagnose::Finding& finding) {
  const bool by_waiting = std::any_of(after.passes.begin(), after.passes.end(), [&](const diagnose::PassLine& pass) {
    return is_confirm(pass) && pass.judged == Outcome::proven;
  });
  const bool has_dump = std::any_of(after.passes.begin(), after.passes.end(), [](const diagnose::PassLine& pass) {
    return pass.dump == diagnose::DumpState::read;
  });
  std::string by = reruns_text(after);
  if (!by_waiting && has_dump && finding.device) by = "the GPU core dump of a rerun";
  if (by.empty()) return "";
  return fmt::format("confirmed by {}: {}  [{}]", by, place_of(finding), diagnose::word(finding.grade));
}

// "2 reruns (6.4 s): did not fail; the first answer remains  [bracketed]"
std::string no_proof_text(const diagnose::Diagnosis& after, const diagnose::Finding& finding,
                          const std::string& session) {
  const std::string runs = reruns_text(after);
  if (runs.empty()) return "";
  const diagnose::PassLine& last = *std::find_if(after.passes.rbegin(), after.passes.rend(), is_confirm);
  if (last.ended_at_that) {
    const std::string allow =
        after.session.empty() ? "" : "; to allow it: " + diagnose::bisect_command(session, after.input_read);
    return fmt::format("not confirmed: {} {}{}", runs, last.outcome, allow);
  }
  const bool interrupted = last.cut_short == CutShort::interrupted, too_long = last.cut_short == CutShort::time_limit;
  const bool gave_up = last.judged == Outcome::given_up;
  const std::string options = too_long ? "--time-limit SECONDS" : gave_up ? "--wait-limit SECONDS" : "";
  const std::string later = (interrupted || too_long || gave_up) && !after.session.empty()
                                ? "; to prove it: " + diagnose::bisect_command(session, after.input_read, options)
                                : "";
  const std::string which = &finding == &after.findings.front() ? "" : " for " + place_of(finding);
  return fmt::format("{}: {}; the first answer{} remains  [{}]{}", runs, last.outcome, which,
                     diagnose::word(finding.grade), later);
}

bool has_eager_line(const diagnose::Finding& finding) {
  return std::any_of(finding.related.begin(), finding.related.end(),
                     [](const diagnose::Related& related) { return related.role == "eager"; });
}

std::string cause_of(const diagnose::Finding& finding) { return finding.cause ? finding.cause->text : ""; }

// Whether the report says something about the failure that it did not say before.
bool says_more(const Told& told, const std::string& directory) {
  const diagnose::Finding &was = *told.was, &is = *told.is;
  return was.grade != is.grade || cause_of(was) != cause_of(is) || was.device.has_value() != is.device.has_value() ||
         was.memory.has_value() != is.memory.has_value() || was.witnesses != is.witnesses ||
         was.thread_start.has_value() != is.thread_start.has_value() || has_eager_line(was) != has_eager_line(is) ||
         report::wrong_pointer_lines(was, directory, true) != report::wrong_pointer_lines(is, directory, true);
}

// Applies to calls that found no memory.
bool has_new_tensors(const diagnose::Diagnosis& before, const diagnose::Diagnosis& after) {
  const auto tensors = [](const diagnose::Diagnosis& report) {
    return std::count_if(report.findings.begin(), report.findings.end(), [](const diagnose::Finding& finding) {
      return finding.memory_use && finding.memory_use->tensors;
    });
  };
  return tensors(before) != tensors(after);
}

std::size_t races_of(const diagnose::Diagnosis& report) {
  return static_cast<std::size_t>(std::count_if(report.findings.begin(), report.findings.end(),
                                                [](const diagnose::Finding& finding) { return finding.race; }));
}

bool same_races(const diagnose::Diagnosis& before, const diagnose::Diagnosis& after) {
  const auto titles = [](const diagnose::Diagnosis& of) {
    std::vector<std::string> texts;
    for (const diagnose::Finding& finding : of.findings) {
      if (finding.race) texts.push_back(finding.title + place_of(finding));
    }
    return texts;
  };
  return titles(before) == titles(after);
}

// Prints a line for each race that a rerun explained, and the whole report again if it found new races.
void tell_races(const diagnose::Diagnosis& before, const diagnose::Diagnosis& after, report::Verbosity verbosity) {
  constexpr std::size_t kMost = 5;
  const auto pass = std::find_if(after.passes.rbegin(), after.passes.rend(),
                                 [](const diagnose::PassLine& line) { return line.kind == session::PassKind::races; });
  if (pass == after.passes.rend()) return;
  if (!same_races(before, after)) {
    say(fmt::format("a rerun ({}) says more of the races:", diagnose::duration(pass->seconds)));
    if (races_of(after) == 0) return say("by the schemas of PyTorch's operators there is none");
    return write_error_text(report::write_text(after, text_options(verbosity, STDERR_FILENO)));
  }
  if (verbosity == report::Verbosity::quiet) return;
  std::size_t told = 0;
  for (const diagnose::Finding& finding : after.findings) {
    if (!finding.race) continue;
    if (told == kMost) return say("cudadiag report has the tensors of the others");
    std::string text;
    for (const std::string& line : report::race_tensors(*finding.race)) text += (text.empty() ? "" : "; ") + line;
    if (text.empty()) text = finding.race->rerun;
    if (text.empty()) continue;
    say(fmt::format("{}: {}  [{}]", place_of(finding), text, diagnose::word(finding.grade)));
    ++told;
  }
  if (races_of(after) == 0) {
    const auto open = std::find_if(after.notes.begin(), after.notes.end(),
                                   [](const analyse::Note& note) { return note.code == "races-unjudged"; });
    return say(fmt::format("a rerun ({}) {}", diagnose::duration(pass->seconds),
                           open == after.notes.end() ? "settles it: by the schemas of their operators, all of them read"
                                                     : "leaves it at that: " + open->text));
  }
  if (told == 0)
    say(fmt::format("a rerun ({}) could not name the tensors that race", diagnose::duration(pass->seconds)));
}

}  // namespace

RerunNews::RerunNews(diagnose::Diagnosis before, std::string session, report::Verbosity verbosity)
    : before_(std::move(before)), session_(std::move(session)), verbosity_(verbosity) {}

void RerunNews::tell_new_line(const diagnose::Diagnosis& after) {
  const Told told = told_of(before_, after);
  const bool moved = has_moved(told, before_, after);
  const char* how = was_possible(*told.was, *told.is) ? "narrows" : "corrects";
  const std::string text = moved ? fmt::format("a rerun {} the first answer: {}  [{}]", how, place_of(*told.is),
                                               diagnose::word(told.is->grade))
                                 : proof_text(after, *told.is);
  if (!text.empty()) say(text);
  told_proof_ = true;
}

void RerunNews::look_at(const diagnose::Diagnosis& now) {
  if (told_proof_ || before_.findings.empty() || now.findings.empty() || before_.findings.front().race) return;
  if (is_proof(told_of(before_, now))) tell_new_line(now);
}

void RerunNews::tell_what_is_left_open(const diagnose::Diagnosis& after) {
  const Told told = told_of(before_, after);
  const diagnose::Finding& answer = *told.is;
  if (verbosity_ == report::Verbosity::quiet) return;
  const bool unfinished = std::any_of(after.passes.begin(), after.passes.end(), [](const diagnose::PassLine& pass) {
    return pass.dump == diagnose::DumpState::unfinished;
  });
  if (!answer.device && unfinished) {
    const std::string sanitize = diagnose::bisect_command(session_, after.input_read, "--sanitize");
    say("on the GPU: line, block and thread are not known, as " + answer.device_unknown +
        (diagnose::memcheck_may_tell(answer) ? "; " + sanitize + " may show them (needs compute-sanitizer)" : ""));
  }
  if (std::any_of(after.passes.begin(), after.passes.end(), [](const diagnose::PassLine& pass) {
        return pass.kind == session::PassKind::eager && pass.judged == Outcome::did_not_fail;
      })) {
    say("a rerun without torch.compile did not fail");
  }
  // The rerun of a hang is for its dump.
  if (answer.grade == analyse::Grade::proven || answer.kind == analyse::Kind::hang) return;
  const std::string& said = told.was->because;
  if (answer.because.starts_with(said + "; ")) return say(answer.because.substr(said.size() + 2));
  if (answer.because != said) say(answer.because);
}

void RerunNews::finish(const diagnose::Diagnosis& after) {
  if (after.passes.size() <= before_.passes.size()) return;
  tell_races(before_, after, verbosity_);
  if (!before_.findings.empty() && !after.findings.empty() && !before_.findings.front().race) {
    const Told told = told_of(before_, after);
    const bool moved = has_moved(told, before_, after);
    const bool more = after.findings.size() - races_of(after) > before_.findings.size() - races_of(before_);
    if (!told_proof_ && (moved || is_proof(told))) {
      tell_new_line(after);
    } else if (!told_proof_ && more) {
      say("a rerun failed elsewhere:");
    } else if (const std::string text = no_proof_text(after, *told.is, session_); !told_proof_ && !text.empty()) {
      say(text);
    }
    if (moved || more || says_more(told, after.working_directory) || has_new_tensors(before_, after)) {
      const std::string whole = report::write_text(after, text_options(verbosity_, STDERR_FILENO));
      // With -q the one line of the proof is the whole report.
      if (verbosity_ != report::Verbosity::quiet) write_error_text("\n" + whole);
      if (verbosity_ == report::Verbosity::quiet && (moved || more)) write_error_text(whole);
    } else {
      tell_what_is_left_open(after);
    }
  }
  say(fmt::format("the command ran {} times in all", after.passes.size()));
}

}  // namespace cudadiag::command
