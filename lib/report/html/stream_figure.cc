// Draws the timelines of streams for the HTML page.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/printable.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/words.h"
#include "report/html/figures.h"
#include "report/html/svg.h"

namespace cudadiag::report {
namespace {

using diagnose::DrawnOperation;
using diagnose::Progress;

constexpr double kBoxWidth = 78, kBoxHeight = 38, kStep = 86, kLane = 76, kMargin = 4;
constexpr double kLabel = 16;        // height of the label above each lane
constexpr double kBeforeBoxes = 44;  // room for the count of operations that are not drawn
constexpr std::size_t kTitleColumns = 60, kBoxColumns = 12;

struct Look {
  const char* kind;     // CSS class
  const char* meaning;  // text in the legend
};

const Look& look_of(Progress progress) {
  static constexpr std::array<Look, 6> kLooks = {{{"finished", "finished"},
                                                  {"failed", "failed"},
                                                  {"suspected", "one of these failed"},
                                                  {"suspected", "never finished, or is still waiting"},
                                                  {"not-run", "did not run"},
                                                  {"not-known", "may or may not have finished"}}};
  return kLooks[static_cast<std::size_t>(progress)];
}

std::string short_line(const diagnose::Location& location) {
  const diagnose::Location& shown = location.nearest();
  return shown.line > 0 ? fmt::format(":{}", shown.line) : "";
}

class StreamFigure {
 public:
  StreamFigure(const diagnose::Timeline& timeline, const std::string& directory, const Markup& markup)
      : timeline_(timeline),
        directory_(directory),
        markup_(markup),
        drawing_(kBeforeBoxes + static_cast<double>(timeline.columns) * kStep + kBeforeBoxes,
                 static_cast<double>(timeline.streams.size()) * kLane - kMargin,
                 "The latest operations of each stream in the order of issue; the title of each box says how far the "
                 "operation got") {}

  std::string html() {
    double y = kMargin;
    for (const diagnose::DrawnStream& stream : timeline_.streams) {
      lane(stream, y);
      y += kLane;
    }
    return "<figure>" + drawing_.html() + legend() + caption() + "</figure>\n";
  }

 private:
  static double x_of(std::size_t column) { return kBeforeBoxes + static_cast<double>(column) * kStep; }

  void lane(const diagnose::DrawnStream& stream, double top) {
    const double y = top + kLabel, middle = y + kBoxHeight / 2;
    drawing_.text(0, top + kLabel / 2 + 2, "small", markup_.text(stream.name));
    drawing_.line(0, middle, x_of(timeline_.columns) + kBeforeBoxes, middle, "lane");
    if (stream.earlier > 0)
      drawing_.text(0, middle - 5, "small", fmt::format("{} …", diagnose::thousands(stream.earlier)));
    std::size_t last = 0;
    for (const DrawnOperation& operation : stream.operations) {
      box(operation, y);
      last = std::max(last, operation.column);
    }
    if (stream.later > 0) {
      drawing_.text(x_of(last) + kStep, middle - 5, "small", fmt::format("… {}", diagnose::thousands(stream.later)));
    }
  }

  void box(const DrawnOperation& operation, double y) {
    const double x = x_of(operation.column), centre = x + kBoxWidth / 2;
    const Look& look = look_of(operation.progress);
    drawing_.box(x, y, kBoxWidth, kBoxHeight, fmt::format("box {}", look.kind), title(operation));
    const std::string line = short_line(operation.location);
    std::string name(session::word(operation.work));
    if (!operation.kernel.empty()) name = diagnose::short_kernel_name(operation.kernel, kBoxColumns);
    name = markup_.text(base::clip(base::printable(name), kBoxColumns));
    if (!line.empty()) drawing_.centred(centre, y + 16, "", line);
    drawing_.centred(centre, y + (line.empty() ? kBoxHeight / 2 + 4 : 31), "small", name);
    if (operation.marked) {
      drawing_.triangle(x + kBoxWidth + (kStep - kBoxWidth) / 2, y + kBoxHeight,
                        operation.marker_written ? "marker" : "marker missing",
                        operation.marker_written ? "completion marker, written" : "completion marker, never written");
    }
    any_marker_ |= operation.marked;
    any_missing_ |= operation.marked && !operation.marker_written;
    used_[static_cast<std::size_t>(operation.progress)] = true;
  }

  std::string title(const DrawnOperation& operation) const {
    std::string text = fmt::format("{} {}", session::word(operation.work), diagnose::thousands(operation.ordinal));
    if (!operation.kernel.empty()) text += " " + diagnose::short_kernel_name(operation.kernel, kTitleColumns);
    if (diagnose::is_known(operation.location))
      text += ", issued at " + diagnose::place(operation.location, directory_);
    if (operation.seconds > 0) text += fmt::format(" after {}", diagnose::duration(operation.seconds));
    return markup_.text(text + ": " + look_of(operation.progress).meaning);
  }

  std::string legend() const {
    std::string items;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (!used_[i]) continue;
      const Look& look = look_of(static_cast<Progress>(i));
      items += fmt::format("<li><span class=\"swatch {}\"></span>{}</li>", look.kind, look.meaning);
    }
    if (any_marker_) items += "<li>▲ completion marker that the GPU wrote</li>";
    if (any_missing_) items += "<li>△ completion marker that the GPU never wrote</li>";
    return "<ul class=\"legend\">" + items + "</ul>";
  }

  std::string caption() const {
    std::string text =
        "Each box is an operation and the line that issued it, in the order of issue. Widths do not show time.";
    if (timeline_.other_streams > 0) {
      text += fmt::format(" {} more stream{} not drawn.", diagnose::thousands(timeline_.other_streams),
                          timeline_.other_streams == 1 ? " is" : "s are");
    }
    return "<figcaption class=\"below\">" + text + "</figcaption>";
  }

  const diagnose::Timeline& timeline_;
  const std::string& directory_;
  const Markup& markup_;
  Drawing drawing_;
  std::array<bool, 6> used_{};
  bool any_marker_ = false, any_missing_ = false;
};

}  // namespace

std::string stream_figure(const diagnose::Timeline& timeline, const std::string& directory, const Markup& markup) {
  return timeline.columns == 0 ? "" : StreamFigure(timeline, directory, markup).html();
}

}  // namespace cudadiag::report
