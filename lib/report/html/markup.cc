#include "report/html/markup.h"

#include <fmt/core.h>

#include "base/printable.h"

namespace cudadiag::report {

namespace {

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

}  // namespace

std::string Markup::text(std::string_view raw) const {
  const std::string line = base::printable(raw);
  return escaped(redaction_ == nullptr ? line : redaction_->text(line));
}

std::string Markup::link(std::string_view address) const {
  const std::string html = text(address);
  const bool is_address = address.starts_with("https://") && address.find(' ') == address.npos;
  return is_address ? fmt::format(R"(<a href="{0}" rel="noreferrer">{0}</a>)", html) : html;
}

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
