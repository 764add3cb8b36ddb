// Writes a report as text, JSON, SARIF or HTML, and what reruns add to a printed report.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "diagnose/facts/report_model.h"
#include "diagnose/page_drawings.h"
#include "report/redaction.h"
#include "report/text_layout.h"

namespace cudadiag::report {

// The text for a terminal. Without -v, each failure takes at most 22 lines of 80 columns, plus the lines that name the
// ranks of a job. Uses colour only on request. Text from the target is made printable.
enum class Verbosity { quiet, normal, verbose };  // quiet: a line for each finding; normal: 22 lines

struct TextOptions {
  Verbosity verbosity = Verbosity::normal;
  bool colour = false;
  int columns = 100;
  bool say_clean = false;     // print one sentence if nothing was found, for `cudadiag report`
  std::size_t lines = 22;     // most lines, unless verbose; terminals narrower than 80 columns get more
  bool suggest_rerun = true;  // suggest a first rerun; false if one is about to start
  bool isolates = false;      // this machine can isolate reruns, so the first suggested rerun is isolated
  bool sanitizes = false;     // compute-sanitizer is installed, so a rerun under it may be suggested
  bool is_latest = false;     // the session is the latest one, so the suggested commands need not name it
  bool to_terminal = false;   // wrap even the verdict on a session without findings, which scripts read as one line
  bool show_run = false;      // add a line with the time and command of the run, unless quiet
};

// The options for the first report of a run that is about to be rerun. Reserves rows for the messages about the reruns.
TextOptions before_reruns(TextOptions options);

// Returns the rows of the report that the report of `before`, with the options from before_reruns(), did not have.
std::string write_changes(const diagnose::Diagnosis& before, const diagnose::Diagnosis& after,
                          const TextOptions& options);

// If nothing was found, returns "" unless `say_clean` is set or the verbosity is `verbose`.
std::string write_text(const diagnose::Diagnosis& report, const TextOptions& options);

// The verdict on a session without findings: "no CUDA failure in this session". `reason` is the note that explains it.
struct CleanVerdict {
  std::string sentence, reason;
};
CleanVerdict clean_verdict(const diagnose::Diagnosis& report);
// Returns whether the program crashed while GPU work was pending, and a rerun may show whether some of it failed.
bool crashed_at_work(const diagnose::Diagnosis& report);

// Everything that is known: a page for each finding, then a page for the run. Every line has gone through
// base::printable().
std::vector<Page> whole_pages(const diagnose::Diagnosis& report, const TextOptions& options);

// JSON, according to the contract "cudadiag.report/1", and the contract as a JSON Schema.
std::string write_json(const diagnose::Diagnosis& report);
std::string write_schema();

// SARIF 2.1.0 (OASIS), for code scanning, review tools and editors. Each finding is one result at its true line, with
// its other lines as related locations, and with its whole stacks. Facts for which SARIF has no member are in
// `properties`. `version` is cudadiag's version. Paths of files in the target's working directory are relative to it
// (uriBaseId `SRCROOT`). The result is ASCII, and text from the target is made printable.
std::string write_sarif(const diagnose::Diagnosis& report, const std::string& version);

// One file for a browser. It contains the verdict (line, grade and cause), the source around the line, drawings, and
// everything that `-v` prints. Stacks are folded. The page has no script and loads nothing. Text that the target may
// control is escaped, so that it cannot become markup.
struct PageOptions {
  const Redaction* redaction = nullptr;  // removes names of people, hosts and home folders; null to keep them
  std::string version;                   // the version of cudadiag
  bool isolates = false;                 // as in TextOptions
};

// `pictures` has one entry for each finding, in the same order. Entries at the end may be missing.
std::string write_html(const diagnose::Diagnosis& report, const std::vector<diagnose::FindingPictures>& pictures = {},
                       const PageOptions& options = {});

// ---- rerun_text.cc: what reruns add to a report that was already printed

// A single sentence without a trailing newline, or a whole report, in which every line ends with a newline.
struct RerunMessage {
  enum class Kind { sentence, report };
  Kind kind = Kind::sentence;
  std::string text;
};

// Quotes the last line that a rerun printed before it failed in another way than the first run; empty if `line` is.
std::string last_line_text(const std::string& line);

struct Gain;

// Writes the proof as soon as a line is proven and, at the end, the rows that changed, or the whole report if it names
// another line.
class RerunText {
 public:
  // `before` is the diagnosis before the reruns, whose report was printed with the options from before_reruns().
  RerunText(diagnose::Diagnosis before, TextOptions options);

  // Call this between reruns. The first time that a line is proven, returns the message about it; otherwise returns "".
  std::string proof(const diagnose::Diagnosis& now);
  bool has_printed_proof() const { return printed_proof_; }
  // Call this after the last rerun.
  std::vector<RerunMessage> finish(const diagnose::Diagnosis& after);

 private:
  bool is_quiet() const { return options_.verbosity == Verbosity::quiet; }
  void say(std::string text);
  void write(std::string report);
  std::string whole(const diagnose::Diagnosis& after) const;
  void print_new_line(const Gain& gain, const diagnose::Diagnosis& after);
  void print_failure(const Gain& gain, const diagnose::Diagnosis& after);
  void print_open_questions(const Gain& gain, const diagnose::Diagnosis& after);
  void print_races(const diagnose::Diagnosis& after);

  diagnose::Diagnosis before_;
  TextOptions options_;
  std::string session_;  // as an argument of cudadiag bisect; empty for the latest session
  bool printed_proof_ = false;
  std::vector<RerunMessage> messages_;
};

}  // namespace cudadiag::report
