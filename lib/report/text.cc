#include "report/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/printable.h"
#include "diagnose/ranks/groups.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "report/report_page.h"

namespace cudadiag::report {
namespace {

// Replaces the addresses of streams, such as "stream 0x55d0c8", by letters, in the order of the page.
void name_streams_by_letters(Page& page) {
  constexpr std::string_view kName = "stream 0x", kDigits = "0123456789abcdef";
  std::vector<std::string> known;
  for (Section& section : page.sections) {
    if (section.topic == Topic::source) continue;
    for (std::string& line : section.lines) {
      for (std::size_t at = 0; (at = line.find(kName, at)) != std::string::npos;) {
        const std::size_t begin = at + kName.size() - 2, end = line.find_first_not_of(kDigits, begin + 2);
        const std::string address = line.substr(begin, end == std::string::npos ? end : end - begin);
        auto found = std::find(known.begin(), known.end(), address);
        if (found == known.end()) found = known.insert(found, address);
        at = begin;
        if (found - known.begin() < 26)
          line.replace(begin, address.size(), 1, static_cast<char>('A' + (found - known.begin())));
      }
    }
  }
}

}  // namespace

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
      text += fmt::format("cudadiag: {} [{}]\n", headline(each, report.working_directory), diagnose::word(each.grade));
    }
    return text;
  }
  if (options.verbosity != Verbosity::verbose) {
    Page page = short_page(report, options);
    name_streams_by_letters(page);
    return page.print();
  }
  std::string text;
  for (const Page& page : whole_pages(report, options)) text += page.print();
  return text;
}

}  // namespace cudadiag::report
