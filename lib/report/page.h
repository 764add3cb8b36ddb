// A page of a report: labelled sections, cut to a number of lines, coloured last. Knows nothing of CUDA.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::report {

inline constexpr std::size_t kLabelWidth = 8;

enum class Ink { plain, headline, marked };

struct Section {
  std::string label;  // "Why"; empty: lines stand at the left edge
  std::vector<std::string> lines;
  std::size_t at_least = 1;  // lines that stay unless the page is very short
  int sacrifice = 0;         // the highest gives its lines up first
  Ink ink = Ink::plain;
  bool whole = false;  // never cut at the right edge: commands to paste
};

struct Page {
  std::size_t columns = 100;
  bool colour = false;
  std::vector<Section> sections;

  // Text broken at spaces to what fits behind a label.
  std::vector<std::string> wrap(std::string_view text) const;
  // `left`, and `right` at the right edge.
  std::string justify(std::string_view left, std::string_view right) const;

  // Drops lines of the sections that can spare them until `limit` is kept; a section that lost some says "...". Where
  // that is not enough, sections that sacrifice anything keep one line.
  void fit(std::size_t limit);
  std::string print() const;
};

}  // namespace cudadiag::report
