// The report as one file for a browser: the verdict with its line, grade and cause, the source around it, drawings, and
// all that `-v` prints, with stacks folded. It has no script, loads nothing, and what the target could have put into it
// is text.
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "diagnose/pictures/pictures.h"
#include "report/sharing/redaction.h"

namespace cudadiag::report {

struct PageOptions {
  const Redaction* redaction = nullptr;  // takes names of people, hosts and home folders out; null: they stay
  std::string version;                   // of cudadiag
};

// `pictures`: of the report's findings, in their order; those that are missing are left out.
std::string write_html(const diagnose::Diagnosis& report, const std::vector<diagnose::FindingPictures>& pictures = {},
                       const PageOptions& options = {});

}  // namespace cudadiag::report
