// Additions of reruns to a report that was printed before them: the proof at the moment it is known, and at the end the
// whole report again if anything in it is new.
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "diagnose/reruns/gain.h"
#include "report/text.h"

namespace cudadiag::report {

// A sentence of our own, or a text with its line ends.
struct RerunMessage {
  enum class Kind { sentence, report };
  Kind kind = Kind::sentence;
  std::string text;
};

class RerunText {
 public:
  // `before`: the diagnosis without the reruns. `session`: how bisect names it, empty for the latest one.
  RerunText(diagnose::Diagnosis before, std::string session, TextOptions options);

  // Between two reruns: the line that is proven, once. Empty: none is, or it was printed.
  std::string proof(const diagnose::Diagnosis& now);
  bool has_printed_proof() const { return printed_proof_; }
  // When the reruns are over.
  std::vector<RerunMessage> finish(const diagnose::Diagnosis& after);

 private:
  bool is_quiet() const { return options_.verbosity == Verbosity::quiet; }
  void say(std::string text);
  void write(const diagnose::Diagnosis& after, bool apart);
  void print_new_line(const diagnose::Gain& gain, const diagnose::Diagnosis& after);
  void print_failure(const diagnose::Gain& gain, const diagnose::Diagnosis& after);
  void print_open_questions(const diagnose::Gain& gain, const diagnose::Diagnosis& after);
  void print_races(const diagnose::Diagnosis& after);

  diagnose::Diagnosis before_;
  std::string session_;
  TextOptions options_;
  bool printed_proof_ = false;
  std::vector<RerunMessage> messages_;
};

}  // namespace cudadiag::report
