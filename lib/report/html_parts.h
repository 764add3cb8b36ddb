// The parts of an HTML page: escaped text, rows of a table, quoted source, and drawings as inline SVG.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/page_drawings.h"
#include "report/redaction.h"
#include "report/text_layout.h"

namespace cudadiag::report {

class Markup {
 public:
  // `redaction` must outlive this object. If null, names of people, hosts and home folders are kept.
  explicit Markup(const Redaction* redaction) : redaction_(redaction) {}

  // Returns the text as one line, escaped for an element or a quoted attribute. The result has no control characters,
  // and names are redacted.
  std::string text(std::string_view raw) const;
  // Like text(), but turns a web address into a link. Never use this for data from a session.
  std::string link(std::string_view address) const;

 private:
  const Redaction* redaction_;
};

// Returns a table row. Folds a section if it has many lines.
std::string row(const Section& section, const Markup& markup);
std::string table(const std::string& rows);

// Returns a stack, folded.
std::string folded(const Section& section, const Markup& markup);

// ---- figures: functions that return a whole <figure>, or "" if there is nothing to show

// The texts around a quotation, already in HTML.
struct SourceWords {
  std::string heading, caption;
  std::string kind;                        // a CSS class
  int other_line = 0;                      // number of a second line to mark; 0 for none
  std::string own_label{}, other_label{};  // shown next to the two marked lines, if there are two
};

// Shows the lines of a quotation, with the quoted line marked.
std::string source_figure(const diagnose::Quotation& quotation, const SourceWords& words, const Markup& markup);

// Returns a location without folders, such as "train.py:41".
std::string short_place(const diagnose::Location& location);

// Shows the operations of each stream in the order of issue, with their progress and completion markers.
std::string stream_figure(const diagnose::Timeline& timeline, const std::string& directory, const Markup& markup);

// Shows the two accesses of a race, and the missing order between them.
std::string race_figure(const diagnose::ResolvedRace& race, const std::string& directory, const Markup& markup);

// Shows how much memory the process held until a call ran out of memory.
std::string memory_figure(const diagnose::MemoryCurve& curve, const diagnose::MemoryUse& use, const Markup& markup);

// Shows where a failing access was, relative to the intended memory.
std::string access_figure(const diagnose::Access& access, const Markup& markup);

// Shows what happened to memory that was used after it had been freed.
std::string freed_figure(const diagnose::Argument& argument, const diagnose::Location& used, const Markup& markup);

}  // namespace cudadiag::report
