// Writes the report as one file for a browser. The file contains the verdict (line, grade and cause), the source around
// the line, drawings, and everything that `-v` prints. Stacks are folded. The page has no script and loads nothing.
// Text that the target may control is escaped, so that it cannot become markup.
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/model.h"
#include "diagnose/pictures/pictures.h"
#include "report/sharing/redaction.h"

namespace cudadiag::report {

struct PageOptions {
  const Redaction* redaction = nullptr;  // removes names of people, hosts and home folders; null to keep them
  std::string version;                   // the version of cudadiag
};

// `pictures` has one entry for each finding, in the same order. Entries at the end may be missing.
std::string write_html(const diagnose::Diagnosis& report, const std::vector<diagnose::FindingPictures>& pictures = {},
                       const PageOptions& options = {});

}  // namespace cudadiag::report
