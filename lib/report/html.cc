#include "report/html.h"

#include <fmt/core.h>

#include <string_view>

#include "report/report_page.h"
#include "report/sharing/shareable.h"
#include "report/text.h"

namespace cudadiag::report {
namespace {

constexpr std::size_t kFolded = 8;  // lines of a section that are shown without being asked for

// With this policy a browser loads and runs nothing, whatever the page contains.
constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
article { border-top: 1px solid #8886; padding: 0.5rem 0 1.5rem; }
h2 { font-size: 1.15rem; color: light-dark(#b00020, #ff8a80); overflow-wrap: anywhere; }
table { border-spacing: 0; width: 100%; }
th { width: 6rem; text-align: left; vertical-align: top; font-weight: 600; padding: 0.15rem 1rem 0.15rem 0; }
td { padding: 0.15rem 0; overflow-wrap: anywhere; }
pre, td.fact div { font-family: ui-monospace, monospace; font-size: 0.9em; white-space: pre-wrap; }
pre { background: #8881; padding: 0.6rem; border-radius: 4px; }
mark { background: light-dark(#ffe08a, #6b5200); color: inherit; }
summary { cursor: pointer; color: #888; }
</style>
)";

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string line_of(std::string_view text, bool is_link) {
  std::string html = escaped(text);
  const bool address = is_link && text.starts_with("https://") && text.find(' ') == text.npos;
  return address ? fmt::format(R"(<a href="{0}" rel="noreferrer">{0}</a>)", html) : html;
}

std::string row(const Section& section) {
  std::string html = fmt::format("<tr><th>{}</th><td{}>", escaped(section.label),
                                 section.wide == Wide::wraps ? "" : R"( class="fact")");
  const bool folds = section.lines.size() > kFolded;
  if (folds) html += fmt::format("<details><summary>{} lines</summary>", section.lines.size());
  for (const std::string& line : section.lines) html += fmt::format("<div>{}</div>", line_of(line, section.is_link));
  return html + (folds ? "</details>" : "") + "</td></tr>\n";
}

// Lines without a label, sources foremost, stand between the headline and the rows.
std::string article(const Page& page) {
  std::string heading, block, rows;
  for (const Section& section : page.sections) {
    if (section.lines.empty()) continue;
    if (!section.label.empty()) {
      rows += row(section);
      continue;
    }
    for (const std::string& line : section.lines) {
      if (section.ink == Ink::headline) {
        heading += fmt::format("<h2>{}</h2>\n", escaped(line));
      } else {
        block += section.ink == Ink::marked ? fmt::format("<mark>{}</mark>\n", escaped(line)) : escaped(line) + '\n';
      }
    }
  }
  return fmt::format("<article>\n{}{}{}</article>\n", heading, block.empty() ? "" : "<pre>" + block + "</pre>\n",
                     rows.empty() ? "" : "<table>\n" + rows + "</table>\n");
}

}  // namespace

std::string write_html(const diagnose::Diagnosis& whole) {
  const diagnose::Diagnosis report = without_secret_arguments(whole);
  TextOptions options;
  options.say_clean = true;
  options.verbosity = Verbosity::quiet;
  const std::string told = write_text(report, options);
  std::string html = fmt::format("{}<title>{}</title>\n</head>\n<body>\n", kHead,
                                 escaped(std::string_view(told).substr(0, told.find('\n'))));
  options.verbosity = Verbosity::verbose;
  for (const Page& page : whole_pages(report, options)) html += article(page);
  return html + "</body>\n</html>\n";
}

}  // namespace cudadiag::report
