// The additions of reruns to a report that was printed before them, on standard error: the proof at the moment it is known, the
// whole report again at the end if anything is new, and how often the command ran.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"
#include "report/text.h"

namespace cudadiag::command {

class RerunNews {
 public:
  // `before`: the report without the reruns. `session`: how bisect names it, empty for the latest one.
  RerunNews(diagnose::Diagnosis before, std::string session, report::Verbosity verbosity);

  // Between two reruns, with the report as it is now. Says once which line is proven.
  void look_at(const diagnose::Diagnosis& now);
  bool has_told_proof() const { return told_proof_; }
  // When the reruns are over.
  void finish(const diagnose::Diagnosis& after);

 private:
  void tell_new_line(const diagnose::Diagnosis& after);
  void tell_what_is_left_open(const diagnose::Diagnosis& after);

  diagnose::Diagnosis before_;
  std::string session_;
  report::Verbosity verbosity_;
  bool told_proof_ = false;
};

}  // namespace cudadiag::command
