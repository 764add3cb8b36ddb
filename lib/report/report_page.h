// A report as pages of text: `write_text` prints them, and `write_html` marks them up. Every line has gone through
// base::printable().
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "report/page.h"
#include "report/text.h"

namespace cudadiag::report {

// The first finding, and what to do next, in at most `options.lines` rows. Empty for a report without findings, unless
// `options.say_clean` is set.
Page short_page(const diagnose::Diagnosis& report, const TextOptions& options);

// The verdict on a session without a finding: "no CUDA failure in this session". `reason` is the note that explains it.
struct CleanVerdict {
  std::string sentence, reason;
};
CleanVerdict clean_verdict(const diagnose::Diagnosis& report);

// Everything that is known: one page for each finding, then one for the run.
std::vector<Page> whole_pages(const diagnose::Diagnosis& report, const TextOptions& options);

}  // namespace cudadiag::report
