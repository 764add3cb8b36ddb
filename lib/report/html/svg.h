// An SVG drawing. Coordinates are in pixels, `kind` is a CSS class of the page, and texts must already be escaped.
#pragma once

#include <string>
#include <string_view>

namespace cudadiag::report {

// The width of drawings that have a fixed width.
inline constexpr double kFigureWidth = 720;

class Drawing {
 public:
  // `label` describes the drawing for screen readers.
  Drawing(double width, double height, std::string label) : width_(width), height_(height), label_(std::move(label)) {}

  void box(double x, double y, double width, double height, std::string_view kind, std::string_view title = "");
  void line(double x1, double y1, double x2, double y2, std::string_view kind);
  void text(double x, double y, std::string_view kind, std::string_view text);
  void centred(double x, double y, std::string_view kind, std::string_view text);
  // Draws a triangle whose top is at (x, y).
  void triangle(double x, double y, std::string_view kind, std::string_view title);
  void dot(double x, double y, std::string_view kind);
  // Draws an area that is bounded by the SVG path `path`, such as "M0 0H10V5Z".
  void area(std::string_view path, std::string_view kind);

  // Returns the drawing in a <div> that scrolls if the page is narrower.
  std::string html() const;

 private:
  double width_, height_;
  std::string label_, shapes_;
};

}  // namespace cudadiag::report
