#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/printable.h"

namespace cudadiag::report {
namespace {

constexpr std::string_view kBold = "\x1b[1m", kBoldRed = "\x1b[1;31m", kPlain = "\x1b[0m";

std::string painted(std::string_view text, std::string_view colour) {
  return fmt::format("{}{}{}", colour, text, kPlain);
}

}  // namespace

std::vector<std::string> Page::rows(const Section& section, std::string_view text) const {
  const std::size_t label = section.label.empty() ? 0 : kLabelWidth;
  const std::size_t room = columns > label ? columns - label : 0;
  if (section.wide == Wide::stays) return {std::string(text)};
  if (section.wide == Wide::is_cut) return {clip(text, room)};
  const std::string indent(std::min(text.find_first_not_of(' '), text.size()), ' ');
  text.remove_prefix(indent.size());
  std::vector<std::string> rows;
  std::string row;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!row.empty() && indent.size() + width(row) + 1 + width(word) > room) {
      rows.push_back(indent + row);
      row.clear();
    }
    if (!row.empty()) row += ' ';
    row += word;
  }
  if (!row.empty() || rows.empty()) rows.push_back(indent + row);
  return rows;
}

std::string Page::justify(std::string_view left, std::string_view right) const {
  const std::size_t kept = width(right) + 2 < columns ? columns - width(right) - 2 : 0;
  const std::string text = clip(left, kept);
  return fmt::format("{}{:{}}{}", text, "",
                     columns > width(text) + width(right) ? columns - width(text) - width(right) : 2, right);
}

void Page::fit(std::size_t limit) {
  std::size_t total = 0;
  for (const Section& section : sections) {
    for (const std::string& line : section.lines) total += rows(section, line).size();
  }
  const auto spares = [](const Section& section, bool all_but_one) {
    const bool gives = all_but_one && section.sacrifice > 0;
    return section.lines.size() > (gives ? std::min<std::size_t>(section.at_least, 1) : section.at_least);
  };
  for (const bool all_but_one : {false, true}) {
    while (total > limit) {
      Section* victim = nullptr;
      for (Section& section : sections) {
        if (spares(section, all_but_one) && (victim == nullptr || section.sacrifice > victim->sacrifice)) {
          victim = &section;
        }
      }
      if (victim == nullptr) break;
      total -= std::min(total, rows(*victim, victim->lines.back()).size());
      victim->lines.pop_back();
      if (!victim->lines.empty() && !victim->lines.back().ends_with(" ...")) victim->lines.back() += " ...";
    }
  }
}

std::string Page::print() const {
  std::string out;
  for (const Section& section : sections) {
    bool first = true;
    for (const std::string& line : section.lines) {
      for (const std::string& row : rows(section, line)) {
        const std::string label =
            section.label.empty() ? "" : fmt::format("{:<{}}", first ? section.label : "", kLabelWidth);
        if (!colour) {
          out += label + row;
        } else {
          out += label.empty() || !first ? label : painted(label, kBold);
          out += section.ink == Ink::plain ? row : painted(row, section.ink == Ink::marked ? kBold : kBoldRed);
        }
        out += '\n';
        first = false;
      }
    }
  }
  return out;
}

}  // namespace cudadiag::report
