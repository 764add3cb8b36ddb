// Writes the HTML page of a report.
#include "report/html.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "diagnose/facts/model.h"
#include "diagnose/ranks/groups.h"
#include "diagnose/words.h"
#include "report/html/finding_article.h"
#include "report/html/markup.h"
#include "report/html/style.h"
#include "report/report_page.h"
#include "report/sharing/redaction.h"
#include "report/text.h"

namespace cudadiag::report {

namespace {

// Groups the findings of processes that failed in the same way, such as the ranks of a job. Each group gets one
// article.

// Returns for each group the indices of its findings. Groups are in the order of the report. Each race is a group of
// its own.
std::vector<std::vector<std::size_t>> groups_of_findings(const diagnose::Diagnosis& report) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const diagnose::Finding& finding = report.findings[i];
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<std::size_t>& each) {
      const diagnose::Finding& first = report.findings[each.front()];
      return !finding.race && !first.race && first.pid != finding.pid && first.kind == finding.kind &&
             first.code == finding.code && first.title == finding.title &&
             diagnose::same_line(first.location, finding.location);
    });
    group == groups.end() ? groups.push_back({i}) : group->push_back(i);
  }
  return groups;
}

// Returns a line with the command, the time of the run, and the GPUs.
std::string context_line(const diagnose::Diagnosis& report, const Markup& markup) {
  std::vector<std::string> parts;
  if (!report.command.empty())
    parts.push_back(fmt::format("<code>{}</code>", markup.text(diagnose::shell_line(report.command))));
  // Turns "2026-11-21T10:15:00Z" into "2026-11-21 10:15:00 UTC".
  std::string started = report.started;
  if (const std::size_t at = started.find('T'); at != started.npos) started[at] = ' ';
  if (started.ends_with('Z')) started.replace(started.size() - 1, 1, " UTC");
  if (!started.empty()) parts.push_back(markup.text(started));
  for (const std::string& gpu : report.gpus) {
    const std::string name = markup.text(gpu);
    if (std::find(parts.begin(), parts.end(), name) == parts.end()) parts.push_back(name);
  }
  std::string html;
  for (const std::string& part : parts) html += "<span>" + part + "</span>";
  return html.empty() ? "" : "<p class=\"context\">" + html + "</p>\n";
}

std::string clean_article(const diagnose::Diagnosis& report, const Markup& markup) {
  const CleanVerdict verdict = clean_verdict(report);
  const bool clean = report.verdict == analyse::Verdict::no_cuda_failure;
  return fmt::format("<article class=\"{}\">\n{}<h1>{}</h1>\n{}</article>\n", clean ? "clean" : "open",
                     context_line(report, markup), markup.text(verdict.sentence),
                     verdict.reason.empty() ? "" : "<p class=\"lead\">" + markup.text(verdict.reason) + "</p>\n");
}

std::string title_of(const diagnose::Diagnosis& report) {
  TextOptions options;
  options.say_clean = true;
  options.verbosity = Verbosity::quiet;
  const std::string text = write_text(report, options);
  return text.substr(0, text.find('\n'));
}

std::string run_article(const Page& page, const Markup& markup) {
  std::string rows;
  for (const Section& section : page.sections) {
    if (!section.label.empty()) rows += row(section, markup);
  }
  return rows.empty() ? "" : "<article>\n<h2>The run</h2>\n" + table(rows) + "</article>\n";
}

}  // namespace

std::string write_html(const diagnose::Diagnosis& whole, const std::vector<diagnose::FindingPictures>& pictures,
                       const PageOptions& page_options) {
  const Markup markup(page_options.redaction);
  diagnose::Diagnosis report = without_secret_arguments(whole);
  std::string html =
      fmt::format("{}<title>{}</title>\n</head>\n<body>\n<main>\n", page_head(), markup.text(title_of(report)));
  const std::string context = context_line(report, markup);
  if (report.findings.empty()) html += clean_article(report, markup);
  // The first note gives the reason for the verdict, and the article above already shows this reason.
  if (report.findings.empty() && report.verdict == analyse::Verdict::inconclusive && !report.notes.empty()) {
    report.notes.erase(report.notes.begin());
  }
  TextOptions options;
  options.say_clean = true;
  options.verbosity = Verbosity::verbose;
  if (const std::string job = diagnose::job_sentence(report); !job.empty()) {
    html += "<p class=\"lead\">" + markup.text(job) + ".</p>\n";
  }
  const std::vector<Page> pages = whole_pages(report, options);
  const diagnose::FindingPictures none;
  for (const std::vector<std::size_t>& group : groups_of_findings(report)) {
    std::vector<const diagnose::Finding*> findings;
    for (const std::size_t i : group) findings.push_back(&report.findings[i]);
    const std::size_t first = group.front();
    const ArticleSources sources{findings, pages[first], first < pictures.size() ? pictures[first] : none,
                                 report.working_directory, first == 0};
    html += finding_article(sources, first == 0 ? context : "", markup);
  }
  html += run_article(pages.back(), markup);
  return html +
         fmt::format("<footer>Written by cudadiag {}</footer>\n</main>\n</body>\n</html>\n", page_options.version);
}

}  // namespace cudadiag::report
