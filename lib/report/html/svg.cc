#include "report/html/svg.h"

#include <fmt/core.h>

namespace cudadiag::report {
namespace {

std::string titled(std::string_view title) { return title.empty() ? "" : fmt::format("<title>{}</title>", title); }

}  // namespace

void Drawing::box(double x, double y, double width, double height, std::string_view kind, std::string_view title) {
  shapes_ += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="5" class="{}">{}</rect>)", x,
                         y, width, height, kind, titled(title));
}

void Drawing::line(double x1, double y1, double x2, double y2, std::string_view kind) {
  shapes_ += fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>)", x1, y1, x2, y2, kind);
}

void Drawing::text(double x, double y, std::string_view kind, std::string_view text) {
  shapes_ += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" class="{}">{}</text>)", x, y, kind, text);
}

void Drawing::centred(double x, double y, std::string_view kind, std::string_view text) {
  shapes_ += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" class="{}">{}</text>)", x, y, kind, text);
}

void Drawing::triangle(double x, double y, std::string_view kind, std::string_view title) {
  shapes_ += fmt::format(R"(<path d="M{:.1f} {:.1f}l5 8h-10z" class="{}">{}</path>)", x, y, kind, titled(title));
}

void Drawing::dot(double x, double y, std::string_view kind) {
  shapes_ += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="5" class="{}"/>)", x, y, kind);
}

void Drawing::area(std::string_view path, std::string_view kind) {
  shapes_ += fmt::format(R"(<path d="{}" class="{}"/>)", path, kind);
}

std::string Drawing::html() const {
  return fmt::format(
      "<div class=\"drawing\" tabindex=\"0\"><svg width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "role=\"img\" aria-label=\"{2}\">\n{3}\n</svg></div>\n",
      width_, height_, label_, shapes_);
}

}  // namespace cudadiag::report
