// Writes what reruns add to a report that was already printed. Writes the proof as soon as a line is proven and, at the
// end, the rows that changed, or the whole report if it names another line.
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/report_model.h"
#include "report/writers.h"

namespace cudadiag::report {

// A single sentence without a trailing newline, or a whole report, in which every line ends with a newline.
struct RerunMessage {
  enum class Kind { sentence, report };
  Kind kind = Kind::sentence;
  std::string text;
};

// Quotes the last line that a rerun printed before it failed in another way than the first run; empty if `line` is.
std::string last_line_text(const std::string& line);

struct Gain;

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
