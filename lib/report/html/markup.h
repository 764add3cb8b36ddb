// Writes text and sections of a report as HTML. Escapes text, so that text from the target cannot become markup.
#pragma once

#include <string>
#include <string_view>

#include "report/page.h"
#include "report/sharing/redaction.h"

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

}  // namespace cudadiag::report
