#include "report/text_layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace cudadiag::report {
namespace {

constexpr std::string_view kMore = " ...";
constexpr std::string_view kBold = "\x1b[1m", kBoldRed = "\x1b[1;31m", kPlain = "\x1b[0m";

// Returns whether the text begins with a command, not with a sentence about cudadiag.
bool begins_command(std::string_view text) {
  constexpr std::string_view kName = "cudadiag ";
  constexpr std::string_view kVerbs[] = {"bisect", "completion", "core", "doctor", "dump",  "env",
                                         "keep",   "list",       "nans", "races",  "ranks", "replay",
                                         "report", "rm",         "run",  "status", "top"};
  if (!text.starts_with(kName)) return false;
  text.remove_prefix(kName.size());
  return std::ranges::find(kVerbs, text.substr(0, text.find_first_of(" ,;.:)"))) != std::end(kVerbs);
}

// Returns the part of the text that stays in one row: a word, or a command with its arguments.
std::string_view next_piece(std::string_view text) {
  std::size_t end = std::min(text.find(' '), text.size());
  if (!begins_command(text)) return text.substr(0, end);
  bool quoted = false, takes_all = false;
  for (bool verb = true; end < text.size(); verb = false) {
    const std::string_view word = text.substr(end + 1, text.find(' ', end + 1) - end - 1);
    if (!quoted && !verb && std::string_view(",;:.)").find(text[end - 1]) != std::string_view::npos) break;
    if (word.empty() || word == "#") break;
    const auto first = static_cast<unsigned char>(word.front());
    const bool is_argument = std::string_view("-/<'~").find(word.front()) != std::string_view::npos ||
                             std::isupper(first) != 0 || std::isdigit(first) != 0;
    if (!verb && !quoted && !takes_all && !is_argument) break;
    quoted = quoted != (std::ranges::count(word, '\'') % 2 != 0);
    takes_all = takes_all || word == "--";
    end += 1 + word.size();
  }
  return text.substr(0, end);
}

bool is_important(const Section& section) {
  constexpr Topic kImportant[] = {Topic::headline, Topic::source, Topic::cause, Topic::fix, Topic::blame};
  return std::ranges::find(kImportant, section.topic) != std::end(kImportant);
}

std::string painted(std::string_view text, std::string_view colour) {
  return fmt::format("{}{}{}", colour, text, kPlain);
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t columns, std::size_t hang) {
  std::string indent(std::min(text.find_first_not_of(' '), text.size()), ' ');
  text.remove_prefix(indent.size());
  std::vector<std::string> rows;
  std::string row, lead;
  while (!text.empty()) {
    // The comment after a command begins a row unless all of it fits. Each of its rows is a comment for the shell.
    const bool comment = text.starts_with("# ");
    const std::string_view piece = next_piece(text);
    const std::size_t width = base::width(comment ? text : piece);
    text.remove_prefix(std::min(text.size(), piece.size() + 1));
    if (!row.empty() && indent.size() + base::width(row) + 1 + width > columns) {
      row.resize(row.find_last_not_of(' ') + 1);
      rows.push_back(indent + row);
      if (rows.size() == 1) indent.append(hang, ' ');
      row = lead;
    }
    if (comment) lead = "#";
    if (!row.empty()) row += ' ';
    row += piece;
  }
  if (!row.empty() || rows.empty()) rows.push_back(indent + row);
  return rows;
}

std::string justify(std::string_view left, std::string_view right, std::size_t columns) {
  const std::size_t kept = base::width(right) + 2 < columns ? columns - base::width(right) - 2 : 0;
  const std::string text = base::clip(left, kept);
  return fmt::format(
      "{}{:{}}{}", text, "",
      columns > base::width(text) + base::width(right) ? columns - base::width(text) - base::width(right) : 2, right);
}

void Page::add(Section section) {
  if (section.lines.empty()) return;
  for (std::string& line : section.lines) line = base::printable(line);
  sections.push_back(std::move(section));
}

std::vector<std::string> Page::rows(const Section& section, std::string_view text) const {
  const std::size_t label = section.label.empty() ? 0 : kLabelWidth;
  const std::size_t room = columns > label ? columns - label : 0;
  if (section.wide == Wide::stays) return {std::string(text)};
  if (section.wide == Wide::is_cut) return {base::clip(text, room)};
  return wrapped(text, room, section.hang);
}

std::size_t Page::drop_lines(std::size_t total, std::size_t limit, bool important, bool all_but_one) {
  const auto spares = [&](const Section& section) {
    if (is_important(section) != important) return false;
    const bool gives = all_but_one && section.sacrifice > 0;
    return section.lines.size() > (gives ? std::min<std::size_t>(section.at_least, 1) : section.at_least);
  };
  while (total > limit) {
    Section* victim = nullptr;
    for (Section& section : sections) {
      if (spares(section) && (victim == nullptr || section.sacrifice > victim->sacrifice)) victim = &section;
    }
    if (victim == nullptr) break;
    total -= rows(*victim, victim->lines.back()).size();
    victim->lines.pop_back();
    if (victim->lines.empty() || victim->lines.back().ends_with(kMore)) continue;
    total -= rows(*victim, victim->lines.back()).size();
    victim->lines.back() += kMore;
    total += rows(*victim, victim->lines.back()).size();
  }
  return total;
}

std::size_t Page::drop_sections(std::size_t total, std::size_t limit, int droppable, bool cuts) {
  const auto is_droppable = [&](const Section& section) {
    return section.sacrifice >= droppable && section.topic != Topic::evidence;
  };
  const auto can_shrink = [&](const Section& section) {
    if (section.sacrifice <= 0 || section.lines.empty() || is_important(section)) return false;
    const std::string& line = section.lines.front();
    if (is_droppable(section)) return line != section.in_short;
    if (!cuts) return false;
    const std::size_t size = rows(section, line).size();
    return size > 1 && rows(section, first_rows(section, line, 1)).size() < size;
  };
  while (total > limit) {
    Section* victim = nullptr;
    for (Section& section : sections) {
      if (can_shrink(section) && (victim == nullptr || section.sacrifice > victim->sacrifice)) victim = &section;
    }
    if (victim == nullptr) break;
    std::string& line = victim->lines.front();
    const std::size_t size = rows(*victim, line).size();
    total -= size;
    if (!is_droppable(*victim)) {
      line = first_rows(*victim, line, size - std::min(total + size - limit, size - 1));
    } else if (!victim->in_short.empty()) {
      line = victim->in_short;
    } else {
      victim->lines.erase(victim->lines.begin());
      continue;
    }
    total += rows(*victim, line).size();
  }
  return total;
}

std::string Page::first_rows(const Section& section, const std::string& line, std::size_t count) const {
  std::string text;
  for (const std::string& row : rows(section, line)) {
    if (count-- == 0) break;
    text += (text.empty() ? "" : " ") + row;
  }
  const std::size_t most = rows(section, text).size();
  while (rows(section, text + std::string(kMore)).size() > most && text.find(' ') != text.npos) {
    text.resize(text.rfind(' '));
  }
  return text + std::string(kMore);
}

void Page::cut_longest(std::size_t total, std::size_t limit) {
  for (const bool any : {false, true}) {
    while (total > limit) {
      const Section* section = nullptr;
      std::string* line = nullptr;
      std::size_t most = 1, next = 1;
      for (Section& each : sections) {
        if (each.wide != Wide::wraps || (is_important(each) && !any)) continue;
        for (std::string& candidate : each.lines) {
          const std::size_t size = rows(each, candidate).size();
          next = std::max(next, std::min(size, most));
          if (size <= most) continue;
          most = size;
          section = &each;
          line = &candidate;
        }
      }
      if (line == nullptr) break;
      const std::size_t kept = most - std::min(total - limit, std::max<std::size_t>(most - next, 1));
      *line = first_rows(*section, *line, std::max<std::size_t>(kept, 1));
      const std::size_t now = rows(*section, *line).size();
      if (now >= most) break;
      total -= most - now;
    }
  }
}

void Page::fit(std::size_t limit) {
  std::size_t total = 0;
  for (const Section& section : sections) {
    for (const std::string& line : section.lines) total += rows(section, line).size();
  }
  total = drop_lines(total, limit, false, false);
  total = drop_sections(total, limit, kDroppable, false);
  total = drop_lines(total, limit, false, true);
  for (const int droppable : {kDroppable, kDroppableLast}) total = drop_sections(total, limit, droppable, true);
  for (const bool all_but_one : {false, true}) total = drop_lines(total, limit, true, all_but_one);
  cut_longest(total, limit);
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
