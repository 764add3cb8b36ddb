// Text on its way into a page: whatever the target could have put into it stays text.
#pragma once

#include <string>
#include <string_view>

#include "report/sharing/redaction.h"

namespace cudadiag::report {

class Markup {
 public:
  // Null: names of people, hosts and home folders stay. It outlives this.
  explicit Markup(const Redaction* redaction) : redaction_(redaction) {}

  // One line, without control characters and names, escaped for an element or a quoted attribute.
  std::string text(std::string_view raw) const;
  // Likewise; an address of ours or of a vendor's becomes a link. Never for anything that a session holds.
  std::string link(std::string_view address) const;

 private:
  const Redaction* redaction_;
};

}  // namespace cudadiag::report
