#include "report/text.h"

#include <fmt/core.h>

#include "base/printable.h"
#include "diagnose/ranks/groups.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "report/report_page.h"

namespace cudadiag::report {

std::string write_text(const diagnose::Diagnosis& report, const TextOptions& options) {
  if (options.verbosity == Verbosity::quiet && !report.findings.empty()) {
    const std::string job = diagnose::job_sentence(report);
    if (!job.empty()) return fmt::format("cudadiag: {}\n", base::printable(job));
    const diagnose::Finding& first = report.findings.front();
    return fmt::format("cudadiag: {} [{}]\n", headline(first, report.working_directory), diagnose::word(first.grade));
  }
  if (options.verbosity != Verbosity::verbose) return short_page(report, options).print();
  std::string text;
  for (const Page& page : whole_pages(report, options)) text += page.print();
  return text;
}

}  // namespace cudadiag::report
