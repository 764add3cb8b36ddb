// A page of a report: labelled sections, cut to a number of lines, coloured last. Knows nothing of CUDA.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::report {

inline constexpr std::size_t kLabelWidth = 8;
// The right edge of the text on wider pages.
inline constexpr std::size_t kRightEdge = 100;

enum class Ink { plain, headline, marked };

// The treatment of a line that is too long: sentences are broken at spaces, source is cut, commands to paste stay.
enum class Wide { wraps, is_cut, stays };

// The subject of a section, for writers that give it a place of its own.
enum class Topic {
  fact,      // a row of a table will do
  headline,  // the error and its line
  source,    // lines of code, and what is wrong with them
  cause,
  evidence,  // the grade, its meaning, and how it is known
  fix,
  blame,
  stack,
};

struct Section {
  std::string label;               // "Why"; empty: lines are at the left edge
  std::vector<std::string> lines;  // each is shown whole or not at all, in as many rows as it takes
  std::size_t at_least = 1;        // lines that stay unless the page is very short
  int sacrifice = 0;               // the highest gives its lines up first
  Ink ink = Ink::plain;
  Wide wide = Wide::wraps;
  bool is_link = false;  // to a page of ours, or of a vendor's: nothing that a session holds
  Topic topic = Topic::fact;
};

// `text` broken at spaces into rows of at most `columns`, indented as it is, those after the first by `hang` more. A
// word that is too long has a row of its own.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns, std::size_t hang = 0);

// `left`, and `right` at the right edge.
std::string justify(std::string_view left, std::string_view right, std::size_t columns);

struct Page {
  std::size_t columns = 100;
  bool colour = false;
  std::vector<Section> sections;

  // The rows that a line of the section takes after its label.
  std::vector<std::string> rows(const Section& section, std::string_view line) const;

  // Drops lines of the sections that can spare them until `limit` rows are kept; a section that lost some says "...".
  // If that is not enough, sections that sacrifice anything keep one line. If that is not enough either, because some
  // sentence is longer than any of ours, the longest are cut.
  void fit(std::size_t limit);
  std::string print() const;

 private:
  std::size_t drop_lines(std::size_t total, std::size_t limit);
  void cut_longest(std::size_t total, std::size_t limit);
  std::string first_rows(const Section& section, const std::string& line, std::size_t count) const;
};

}  // namespace cudadiag::report
