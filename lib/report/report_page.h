// A report as pages, for those who read it as text: what `write_text` prints and `write_html` marks up. Every line is
// base::printable().
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "report/page.h"
#include "report/text.h"

namespace cudadiag::report {

// The first finding, and what to do next; at most `options.lines` rows. Empty when there is no finding, unless
// `options.say_clean` asks for more.
Page short_page(const diagnose::Diagnosis& report, const TextOptions& options);

// The verdict of a session without a finding: "no CUDA failure in this session". `reason` is the note that explains it.
struct CleanVerdict {
  std::string sentence, reason;
};
CleanVerdict clean_verdict(const diagnose::Diagnosis& report);

// All that is known: a page for each finding, then one of the run.
std::vector<Page> whole_pages(const diagnose::Diagnosis& report, const TextOptions& options);

}  // namespace cudadiag::report
