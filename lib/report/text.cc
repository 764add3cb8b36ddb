#include "report/text.h"

#include <fmt/core.h>

#include "base/printable.h"
#include "diagnose/ranks/groups.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "report/report_page.h"

namespace cudadiag::report {
TextOptions before_reruns(TextOptions options) {
  constexpr std::size_t kMessages = 3;
  options.lines -= kMessages;
  options.suggest_rerun = false;
  return options;
}

std::string write_changes(const diagnose::Diagnosis& before, const diagnose::Diagnosis& after,
                          const TextOptions& options) {
  std::string text;
  for (const Page& page : changed_pages(before, after, options)) text += page.print();
  return text;
}

std::string write_text(const diagnose::Diagnosis& report, const TextOptions& options) {
  if (options.verbosity == Verbosity::quiet && !report.findings.empty()) {
    const std::string job = diagnose::job_sentence(report);
    if (!job.empty()) return fmt::format("cudadiag: {}\n", base::printable(job));
    std::string text;
    for (const diagnose::Finding& each : report.findings) {
      text += fmt::format("cudadiag: {} [{}]\n", headline(each, report.working_directory), diagnose::grade_text(each));
    }
    return text;
  }
  if (options.verbosity != Verbosity::verbose) return short_page(report, options).print();
  std::string text;
  for (const Page& page : whole_pages(report, options)) text += page.print();
  return text;
}

}  // namespace cudadiag::report
