// Lays out a report as pages of text: `write_text` prints them, and `write_html` marks them up. Every line has gone
// through base::printable().
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/model.h"
#include "report/page.h"
#include "report/text.h"

namespace cudadiag::report {

// Returns the first finding, and what to do next, in at most `options.lines` rows. Without findings, the page is empty
// unless `options.say_clean` is set.
Page short_page(const diagnose::Diagnosis& report, const TextOptions& options);

// Returns the pages of `after` without the sections that the pages of `before` had, and without titles.
std::vector<Page> changed_pages(const diagnose::Diagnosis& before, const diagnose::Diagnosis& after,
                                const TextOptions& options);

// The verdict on a session without findings: "no CUDA failure in this session". `reason` is the note that explains it.
struct CleanVerdict {
  std::string sentence, reason;
};
CleanVerdict clean_verdict(const diagnose::Diagnosis& report);

// Returns everything that is known: a page for each finding, then a page for the run.
std::vector<Page> whole_pages(const diagnose::Diagnosis& report, const TextOptions& options);

}  // namespace cudadiag::report
