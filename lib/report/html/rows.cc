#include "report/html/rows.h"

#include <fmt/core.h>

namespace cudadiag::report {
namespace {

constexpr std::size_t kFolded = 8;  // a section with more lines is folded

}  // namespace

std::string row(const Section& section, const Markup& markup) {
  if (section.lines.empty()) return "";
  std::string html = fmt::format("<tr><th>{}</th><td{}>", markup.text(section.label),
                                 section.wide == Wide::wraps ? " class=\"prose\"" : "");
  const bool folds = section.lines.size() > kFolded;
  if (folds) html += fmt::format("<details><summary>{} lines</summary>", section.lines.size());
  for (const std::string& line : section.lines) {
    html += fmt::format("<div>{}</div>", section.is_link ? markup.link(line) : markup.text(line));
  }
  return html + (folds ? "</details>" : "") + "</td></tr>\n";
}

std::string table(const std::string& rows) {
  return rows.empty() ? "" : "<table class=\"facts\">\n" + rows + "</table>\n";
}

std::string folded(const Section& section, const Markup& markup) {
  if (section.lines.empty()) return "";
  std::string lines;
  for (const std::string& line : section.lines) lines += markup.text(line) + '\n';
  return fmt::format("<details><summary>{}, {} line{}</summary><pre>{}</pre></details>\n", markup.text(section.label),
                     section.lines.size(), section.lines.size() == 1 ? "" : "s", lines);
}

}  // namespace cudadiag::report
