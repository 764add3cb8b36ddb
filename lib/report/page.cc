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

std::vector<std::string> Page::wrap(std::string_view text) const {
  const std::size_t room = columns > kLabelWidth + 20 ? columns - kLabelWidth : 20;
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!line.empty() && width(line) + 1 + width(word) > room) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string Page::justify(std::string_view left, std::string_view right) const {
  const std::size_t kept = width(right) + 2 < columns ? columns - width(right) - 2 : 0;
  const std::string text = clip(left, kept);
  return fmt::format("{}{:{}}{}", text, "",
                     columns > width(text) + width(right) ? columns - width(text) - width(right) : 2, right);
}

void Page::fit(std::size_t limit) {
  std::size_t total = 0;
  for (const Section& section : sections) total += section.lines.size();
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
      victim->lines.pop_back();
      --total;
      if (!victim->lines.empty() && !victim->lines.back().ends_with(" ...")) victim->lines.back() += " ...";
    }
  }
}

std::string Page::print() const {
  std::string out;
  for (const Section& section : sections) {
    for (std::size_t i = 0; i < section.lines.size(); ++i) {
      const std::string label =
          section.label.empty() ? "" : fmt::format("{:<{}}", i == 0 ? section.label : "", kLabelWidth);
      const std::size_t room = columns > label.size() ? columns - label.size() : 0;
      const std::string text = section.whole ? section.lines[i] : clip(section.lines[i], room);
      if (!colour) {
        out += label + text;
      } else {
        out += label.empty() || i > 0 ? label : painted(label, kBold);
        out += section.ink == Ink::plain ? text : painted(text, section.ink == Ink::marked ? kBold : kBoldRed);
      }
      out += '\n';
    }
  }
  return out;
}

}  // namespace cudadiag::report
