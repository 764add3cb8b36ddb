// A page of a report: labelled sections, shortened to a given number of lines and then coloured. Does not depend on
// CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace cudadiag::report {

inline constexpr std::size_t kLabelWidth = 8;
// Sections with this `sacrifice` or more may be dropped: before the text of others is cut, and after that.
inline constexpr int kDroppable = 5, kDroppableLast = 2;
// On pages that are wider than this, text ends at this column.
inline constexpr std::size_t kRightEdge = 100;

enum class Ink { plain, headline, marked };

// How to treat a line that is too long: sentences wrap at spaces, source is cut, commands to paste stay whole.
enum class Wide { wraps, is_cut, stays };

// The subject of a section. Some writers position a section according to its subject.
enum class Topic {
  fact,      // fits into a row of a table
  headline,  // the error and its line
  source,    // lines of code, and remarks on them
  cause,
  evidence,  // the grade, its meaning, and the reasons
  fix,
  blame,
  stack,
};

using Lines = std::vector<std::string>;

inline Lines unless_empty(const std::string& line) { return line.empty() ? Lines() : Lines{line}; }

// Counts things: "1 thread", "2,048 threads".
inline std::string counted(std::uint64_t number, std::string_view one) {
  return base::thousands(number) + ' ' + std::string(one) + (number == 1 ? "" : "s");
}

struct Section {
  std::string label{};       // "Why"; if empty, the lines begin at the left edge
  Lines lines{};             // each line is shown whole or not at all, and may take several rows
  std::size_t at_least = 1;  // lines to keep unless the page is very short
  int sacrifice = 0;         // the section with the highest value loses lines first
  Ink ink = Ink::plain;
  Wide wide = Wide::wraps;
  std::size_t hang = 0;  // further indentation of a line's rows after the first
  bool is_link = false;  // the lines are web addresses from cudadiag's own tables, never data from a session
  Topic topic = Topic::fact;
  std::string in_short{};  // a row that may replace the lines of a section that can be dropped

  // Returns whether both sections say the same.
  bool repeats(const Section& other) const { return label == other.label && lines == other.lines; }
};

// Wraps `text` at spaces into rows of at most `columns`. All rows keep the indentation of `text`. Rows after the first
// are indented by `hang` more columns. Never breaks a word, which may be a path, or a command such as "cudadiag report
// -v": if one is too long, it gets a row of its own.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns, std::size_t hang = 0);

// Puts `left` at the left edge and `right` at the right edge of one row.
std::string justify(std::string_view left, std::string_view right, std::size_t columns);

struct Page {
  std::size_t columns = 100;
  bool colour = false;
  std::vector<Section> sections;

  // Makes the lines printable, and appends the section unless it has no lines.
  void add(Section section);
  // Returns the rows into which a line of the section is wrapped or cut, without the label.
  std::vector<std::string> rows(const Section& section, std::string_view line) const;

  // Shortens the page to `limit` rows. A section that lost text ends in "...". The headline, the source, the cause, the
  // fix and the blame come last. First drops lines of sections that have more than `at_least` lines, and then whole
  // sections. If that is not enough, reduces sections with a `sacrifice` to one line, and then to one row. Finally
  // shortens the important sections, and cuts the longest lines.
  void fit(std::size_t limit);
  std::string print() const;

 private:
  std::size_t drop_lines(std::size_t total, std::size_t limit, bool important, bool all_but_one);
  std::size_t drop_sections(std::size_t total, std::size_t limit, int droppable, bool cuts);
  void cut_longest(std::size_t total, std::size_t limit);
  std::string first_rows(const Section& section, const std::string& line, std::size_t count) const;
};

}  // namespace cudadiag::report
