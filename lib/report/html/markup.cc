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

}  // namespace cudadiag::report
