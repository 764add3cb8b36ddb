// Writes what reruns add to a report that was already printed.
#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyse/analysis.h"
#include "base/text.h"
#include "diagnose/facts/place.h"
#include "diagnose/failure/tool_evidence.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "report/writers.h"

namespace cudadiag::report {

// Describes the first failure that the reruns proved, or else the first asynchronous failure. The pointers point into
// the two diagnoses.
struct Gain {
  const diagnose::Finding* before = nullptr;
  const diagnose::Finding* after = nullptr;
  bool is_proof = false;   // the answer is proven now and was not before
  bool moved = false;      // the headline names a different line now
  bool narrowed = false;   // the new line was a candidate of the first answer, or a node of its graph
  bool elsewhere = false;  // a rerun also failed elsewhere
  bool says_more = false;  // the report has more facts about the failure than before
};

namespace {

using diagnose::Argument;
using diagnose::Diagnosis;
using diagnose::Finding;
using diagnose::Location;
using diagnose::PassLine;
using diagnose::Related;
using session::CutShort;
using session::PassKind;
using Outcome = analyse::Rerun::Outcome;

bool is_race(const Finding& finding) { return finding.race.has_value(); }

bool same_place(const Location& a, const Location& b) {
  const bool same = a.file == b.file && a.line == b.line;
  return same && (a.line > 0 || (a.function == b.function && a.nearest().line == b.nearest().line));
}

bool was_possible(const Finding& before, const Finding& after) {
  const auto is_it = [&](const auto& other) { return same_place(other.location, after.location); };
  if (std::ranges::any_of(before.candidates, is_it)) return true;
  if (after.compiled && same_place(after.compiled->called, before.location)) return true;
  const bool no_node = before.launch && before.launch->operation == session::Work::graph && !before.launch->graph_node;
  return no_node && std::ranges::any_of(after.related, [&](const Related& related) {
           return related.role == diagnose::Role::replay && same_place(related.location, before.location);
         });
}

// Returns true if both findings are at the same line. If a rerun found the line that started the thread, compares the
// library's line instead.
bool leads_as_before(const Finding& before, const Finding& after) {
  const bool new_start = after.thread_start && !before.thread_start;
  return same_place(before.location, new_start ? after.thread_start->issued : after.location);
}

const Finding* counterpart(const Diagnosis& before, const Finding& finding) {
  const auto found = std::ranges::find_if(before.findings, [&](const Finding& other) {
    return other.pid == finding.pid && other.code == finding.code && analyse::is_asynchronous(other.kind);
  });
  return found == before.findings.end() ? nullptr : &*found;
}

bool is_proof(const Finding& before, const Finding& after) {
  return after.evidence.proves() && !before.evidence.proves();
}

void choose_finding(Gain& gain, const Diagnosis& before, const Diagnosis& after) {
  gain.before = &before.findings.front();
  gain.after = &after.findings.front();
  bool any = false;
  for (const Finding& is : after.findings) {
    const Finding* was = analyse::is_asynchronous(is.kind) ? counterpart(before, is) : nullptr;
    if (was == nullptr) continue;
    if (!any || is_proof(*was, is)) {
      gain.before = was;
      gain.after = &is;
    }
    if (is_proof(*was, is)) return;
    any = true;
  }
}

bool has_eager_line(const Finding& finding) {
  return std::ranges::any_of(finding.related,
                             [](const Related& related) { return related.role == diagnose::Role::eager; });
}

std::string cause_of(const Finding& finding) { return finding.cause ? finding.cause->text : ""; }

auto wrong_pointers(const Finding& finding) {
  std::vector<std::tuple<std::string, bool, std::uint64_t>> wrong;
  for (const Argument& argument : finding.arguments) {
    if (argument.points_amiss()) wrong.emplace_back(argument.name, argument.allocation->is_freed, argument.past_end());
  }
  return wrong;
}

bool says_more(const Finding& was, const Finding& is) {
  return was.evidence.grade() != is.evidence.grade() || cause_of(was) != cause_of(is) ||
         was.device.has_value() != is.device.has_value() ||
         was.tools.memory.has_value() != is.tools.memory.has_value() ||
         was.origin.has_value() != is.origin.has_value() || was.tools.witnesses != is.tools.witnesses ||
         was.thread_start.has_value() != is.thread_start.has_value() || has_eager_line(was) != has_eager_line(is) ||
         was.saved_launch.has_value() != is.saved_launch.has_value() || wrong_pointers(was) != wrong_pointers(is);
}

// Counts the out-of-memory findings for which a rerun queried PyTorch's allocator.
auto asked_allocators(const Diagnosis& report) {
  return std::ranges::count_if(
      report.findings, [](const Finding& finding) { return finding.memory_use && finding.memory_use->tensors; });
}

auto failures_in(const Diagnosis& report) {
  return std::ranges::count_if(report.findings, [](const Finding& finding) { return !is_race(finding); });
}

// Returns nullopt if either diagnosis has no findings, or if `before` begins with a race.
std::optional<Gain> find_gain(const Diagnosis& before, const Diagnosis& after) {
  if (before.findings.empty() || after.findings.empty() || is_race(before.findings.front())) return std::nullopt;
  Gain gain;
  choose_finding(gain, before, after);
  gain.is_proof = is_proof(*gain.before, *gain.after);
  gain.moved =
      !leads_as_before(*gain.before, *gain.after) || !leads_as_before(before.findings.front(), after.findings.front());
  gain.narrowed = gain.moved && was_possible(*gain.before, *gain.after);
  gain.elsewhere = failures_in(after) > failures_in(before);
  gain.says_more = says_more(*gain.before, *gain.after) || asked_allocators(before) != asked_allocators(after);
  return gain;
}

// Returns true if both diagnoses have the same races at the same lines.
bool same_races(const Diagnosis& before, const Diagnosis& after) {
  const auto key = [](const Finding& finding) {
    const Location& at = finding.location;
    return std::tuple(finding.race->possible, at.file, at.line, at.function);
  };
  std::vector<decltype(key(before.findings.front()))> were, are;
  for (const Finding& finding : before.findings) {
    if (is_race(finding)) were.push_back(key(finding));
  }
  for (const Finding& finding : after.findings) {
    if (is_race(finding)) are.push_back(key(finding));
  }
  return were == are;
}

// ---- messages

// Returns a location such as "train.py:41".
std::string place_of(const Finding& finding) {
  const diagnose::Location& at = finding.location;
  if (at.line == 0 && !at.function.empty()) return at.function;
  if (at.file.empty()) return diagnose::place(at, "");
  return fmt::format("{}:{}", base::file_name(at.file), at.line);
}

template <typename Predicate>
bool any_pass(const Diagnosis& report, Predicate predicate) {
  return std::ranges::any_of(report.passes, predicate);
}

bool is_confirm(const PassLine& pass) { return pass.kind == PassKind::confirm; }

// Returns the number and time of the reruns, such as "a rerun (3.2 s)"; empty if no rerun waited for operations.
std::string reruns_text(const Diagnosis& after) {
  const auto reruns = std::ranges::count_if(after.passes, is_confirm);
  if (reruns == 0) return "";
  double seconds = 0;
  for (const PassLine& pass : after.passes) seconds += is_confirm(pass) ? pass.seconds : 0;
  const std::string runs = reruns == 1 ? "a rerun" : fmt::format("{} reruns", reruns);
  return fmt::format("{} ({})", runs, diagnose::duration(seconds));
}

// Returns a sentence such as "confirmed by a rerun (3.2 s): proven".
std::string proof_text(const Diagnosis& after, const Finding& finding) {
  const bool by_waiting =
      any_pass(after, [](const PassLine& pass) { return is_confirm(pass) && pass.judged == Outcome::proven; });
  const bool has_dump = any_pass(after, [](const PassLine& pass) { return pass.dump == diagnose::DumpState::read; });
  std::string by = reruns_text(after);
  if (!by_waiting && has_dump && finding.device) by = "the GPU core dump of a rerun";
  if (by.empty()) return "";
  const bool one_place =
      std::ranges::all_of(after.findings, [&](const Finding& other) { return place_of(other) == place_of(finding); });
  const std::string which = one_place ? "" : place_of(finding) + " is ";
  return fmt::format("confirmed by {}: {}{}", by, which, diagnose::word(finding.evidence.grade()));
}

// Returns a sentence such as "2 reruns (6.4 s): did not fail; the first answer remains [bracketed]". Returns "" if no
// rerun waited for operations. `isolates`: as in TextOptions.
std::string no_proof_text(const Diagnosis& after, const Finding& finding, const std::string& session, bool isolates) {
  const std::string runs = reruns_text(after);
  if (runs.empty()) return "";
  const PassLine& last = *std::find_if(after.passes.rbegin(), after.passes.rend(), is_confirm);
  if (last.ended_at_that) {
    const std::string allow =
        after.session.empty()
            ? ""
            : "; to allow it: " +
                  diagnose::bisect_command(session, after.input_read, after.rerun_options,
                                           last.reached_write_limit ? diagnose::kIsolatedWithMoreWrites : "");
    const bool several = std::ranges::count_if(after.passes, is_confirm) > 1;
    return fmt::format("not confirmed: {}{} {}{}", runs, several ? "; the last one" : "", last.outcome, allow);
  }
  const bool interrupted = last.cut_short == CutShort::interrupted, too_long = last.cut_short == CutShort::time_limit;
  const bool gave_up = last.judged == Outcome::given_up;
  std::string options = too_long ? "--time-limit SECONDS" : gave_up ? "--wait-limit SECONDS" : "";
  if (last.isolated) options = diagnose::kIsolated + (options.empty() ? "" : ' ' + options);
  const bool in_the_way = last.judged == Outcome::not_reached && !last.isolated && isolates;
  if (in_the_way) options = diagnose::kIsolated;
  const std::string later =
      (interrupted || too_long || gave_up || in_the_way) && !after.session.empty()
          ? (in_the_way ? "; files of the first run may be in its way; " : "; ") + std::string("to prove it: ") +
                diagnose::bisect_command(session, after.input_read, after.rerun_options, options) +
                (last.isolated || in_the_way ? "" : diagnose::kNotIsolated)
          : "";
  const std::string which = &finding == &after.findings.front() ? "" : " for " + place_of(finding);
  return fmt::format("{}: {}; the first answer{} remains  [{}]{}", runs, last.outcome, which,
                     diagnose::word(finding.evidence.grade()), later);
}

}  // namespace

std::string last_line_text(const std::string& line) {
  constexpr std::size_t kColumns = 80;
  return line.empty() ? "" : "the rerun's last line: " + base::clip(base::printable(line), kColumns);
}

RerunText::RerunText(Diagnosis before, TextOptions options)
    : before_(std::move(before)), options_(options), session_(options.is_latest ? "" : before_.session) {}

void RerunText::say(std::string text) {
  if (!text.empty()) messages_.push_back({RerunMessage::Kind::sentence, std::move(text)});
}

void RerunText::write(std::string report) { messages_.push_back({RerunMessage::Kind::report, std::move(report)}); }

std::string RerunText::whole(const Diagnosis& after) const {
  return (is_quiet() ? "" : "\n") + write_text(after, options_);
}

void RerunText::print_new_line(const Gain& gain, const Diagnosis& after) {
  printed_proof_ = true;
  if (is_quiet() && gain.moved) return;  // the new report gives the line
  if (!gain.moved) return say(proof_text(after, *gain.after));
  const std::string line = fmt::format("{}  [{}]", place_of(*gain.after), diagnose::grade_text(*gain.after));
  say((gain.narrowed ? "a rerun narrows the first answer: " : "a rerun corrects the first answer: ") + line);
}

std::string RerunText::proof(const Diagnosis& now) {
  const auto gain = printed_proof_ ? std::nullopt : find_gain(before_, now);
  if (!gain || !gain->is_proof) return "";
  print_new_line(*gain, now);
  std::string text = messages_.empty() ? "" : messages_.back().text;
  messages_.clear();
  return text;
}

void RerunText::print_open_questions(const Gain& gain, const Diagnosis& after) {
  const Finding& answer = *gain.after;
  if (is_quiet()) return;
  const bool unfinished =
      any_pass(after, [](const PassLine& pass) { return pass.dump == diagnose::DumpState::unfinished; });
  if (!answer.device && unfinished) {
    const std::string sanitize =
        diagnose::bisect_command(session_, after.input_read, after.rerun_options, "--sanitize");
    say("on the GPU: line, block and thread are unknown, because " + answer.device_unknown +
        (options_.sanitizes && diagnose::memcheck_may_help(answer) ? "; to find them: " + sanitize : ""));
  }
  if (any_pass(after, [](const PassLine& pass) {
        return pass.kind == PassKind::eager && pass.judged == Outcome::did_not_fail;
      })) {
    say("a rerun without torch.compile did not fail");
  }
  // Reruns of a hang can only add a core dump. They prove nothing.
  if (answer.evidence.proves() || answer.kind == analyse::Kind::hang) return;
  say(answer.evidence.text_since(gain.before->evidence));
}

void RerunText::print_failure(const Gain& gain, const Diagnosis& after) {
  if (!printed_proof_) {
    if (gain.moved || gain.is_proof) {
      print_new_line(gain, after);
    } else if (!is_quiet()) {
      say(gain.elsewhere ? "a rerun failed elsewhere:"
                         : no_proof_text(after, *gain.after, session_, options_.isolates));
      const auto last = std::find_if(after.passes.rbegin(), after.passes.rend(), is_confirm);
      if (!gain.elsewhere && last != after.passes.rend()) say(last_line_text(last->last_printed));
    }
  }
  const bool new_place = gain.moved || gain.elsewhere;
  if (!new_place && !gain.says_more) return print_open_questions(gain, after);
  if (new_place) return write(whole(after));
  // With -q, the line about the proof is the whole report.
  if (!is_quiet()) write(write_changes(before_, after, options_));
}

// Prints a line for each race that the rerun explained. If the rerun found different races, prints the whole report
// again.
void RerunText::print_races(const Diagnosis& after) {
  constexpr std::size_t kMost = 5;
  const auto pass = std::find_if(after.passes.rbegin(), after.passes.rend(),
                                 [](const PassLine& line) { return line.kind == PassKind::races; });
  if (pass == after.passes.rend()) return;
  const std::string rerun = fmt::format("a rerun ({})", diagnose::duration(pass->seconds));
  const bool any = std::ranges::any_of(after.findings, is_race);
  if (!same_races(before_, after)) {
    if (!is_quiet()) say(rerun + " shows more about the races:");
    any ? write(write_text(after, options_)) : say("the schemas of PyTorch's operators show no race");
    return;
  }
  if (is_quiet()) return;
  std::size_t told = 0;
  for (const Finding& finding : after.findings) {
    if (!is_race(finding)) continue;
    if (told == kMost) return say("cudadiag report shows the tensors of the other races");
    std::string text;
    for (const std::string& line : race_tensors(*finding.race)) text += (text.empty() ? "" : "; ") + line;
    if (text.empty()) text = finding.race->rerun;
    if (text.empty()) continue;
    say(fmt::format("{}: {}  [{}]", place_of(finding), text, diagnose::word(finding.evidence.grade())));
    ++told;
  }
  if (!any) {
    const auto open = std::ranges::find(after.notes, analyse::NoteCode::races_unjudged, &analyse::Note::code);
    return say(
        rerun +
        (open == after.notes.end()
             ? " found no race: according to the schemas of PyTorch's operators, all operators involved only read"
             : " is inconclusive: " + open->text));
  }
  if (told == 0) say(rerun + " could not name the tensors that race");
}

std::vector<RerunMessage> RerunText::finish(const Diagnosis& after) {
  if (after.passes.size() <= before_.passes.size()) return {};
  print_races(after);
  if (const auto gain = find_gain(before_, after)) print_failure(*gain, after);
  if (!is_quiet()) {
    const auto cut = std::ranges::count_if(after.passes, [](const auto& pass) { return pass.cut_short.has_value(); });
    say(fmt::format("the command ran {} times in all{}", after.passes.size(),
                    cut == 0 ? "" : fmt::format("; cudadiag ended {} of these runs early", cut)));
  }
  return std::exchange(messages_, {});
}

}  // namespace cudadiag::report
