// Prints the quoted source lines for the HTML page.
#include <fmt/core.h>

#include <filesystem>

#include "diagnose/facts/place.h"
#include "report/html/figures.h"

namespace cudadiag::report {

std::string source_figure(const diagnose::Quotation& quotation, const SourceWords& words, const Markup& markup) {
  if (quotation.lines.empty()) return "";
  const std::string none;
  std::string rows;
  for (const symbolize::SourceLine& line : quotation.lines) {
    const bool own = line.number == quotation.at.line, other = !own && line.number == words.other_line;
    const std::string& label = own ? words.own_label : other ? words.other_label : none;
    const std::string gutter = words.other_line == 0 ? "" : fmt::format("<em>{}</em>", label);
    rows += fmt::format("<span{}>{}<i>{}</i>{}</span>",
                        own     ? " class=\"at\""
                        : other ? " class=\"other\""
                                : "",
                        gutter, line.number, markup.text(line.text));
  }
  return fmt::format("<figure class=\"{}\"><figcaption><b>{}</b>{}</figcaption><pre>{}</pre></figure>\n", words.kind,
                     words.heading, words.caption, rows);
}

std::string short_place(const diagnose::Location& location) {
  const diagnose::Location& shown = location.nearest();
  const std::string name = std::filesystem::path(shown.file).filename().string();
  if (!name.empty() && shown.line > 0) return fmt::format("{}:{}", name, shown.line);
  return diagnose::place(location, "");
}

}  // namespace cudadiag::report
