#include "report/html_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/words.h"
#include "report/finding_text.h"

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

namespace {

constexpr std::size_t kFolded = 8;  // a section with more lines is folded

}  // namespace

std::string row(const Section& section, const Markup& markup) {
  if (section.lines.empty()) return "";
  std::string html = fmt::format("<tr><th>{}</th><td{}>", markup.text(section.label),
                                 section.wide == Wide::wraps ? " class=\"prose\"" : "");
  const bool folds = section.lines.size() > kFolded;
  if (folds) html += fmt::format("<details><summary>{} lines</summary>", section.lines.size());
  for (const std::string& line : section.lines) {
    html += fmt::format("<div>{}</div>", section.is_link ? markup.link(line) : markup.text(line));
  }
  return html + (folds ? "</details>" : "") + "</td></tr>\n";
}

std::string table(const std::string& rows) {
  return rows.empty() ? "" : "<table class=\"facts\">\n" + rows + "</table>\n";
}

std::string folded(const Section& section, const Markup& markup) {
  if (section.lines.empty()) return "";
  std::string lines;
  for (const std::string& line : section.lines) lines += markup.text(line) + '\n';
  return fmt::format("<details><summary>{}, {}</summary><pre>{}</pre></details>\n", markup.text(section.label),
                     counted(section.lines.size(), "line"), lines);
}

namespace {

// The width of drawings that have a fixed width.
constexpr double kFigureWidth = 720;

// An SVG drawing. Coordinates are in pixels, `kind` is a CSS class of the page, and texts must already be escaped.
class Drawing {
 public:
  // `label` describes the drawing for screen readers.
  Drawing(double width, double height, std::string label) : width_(width), height_(height), label_(std::move(label)) {}

  void box(double x, double y, double width, double height, std::string_view kind, std::string_view title = "") {
    shapes_ += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="5" class="{}">{}</rect>)",
                           x, y, width, height, kind, titled(title));
  }

  void line(double x1, double y1, double x2, double y2, std::string_view kind) {
    shapes_ +=
        fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>)", x1, y1, x2, y2, kind);
  }

  void text(double x, double y, std::string_view kind, std::string_view text) {
    shapes_ += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" class="{}">{}</text>)", x, y, kind, text);
  }

  void centred(double x, double y, std::string_view kind, std::string_view text) {
    shapes_ +=
        fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" class="{}">{}</text>)", x, y, kind, text);
  }

  // Draws a triangle whose top is at (x, y).
  void triangle(double x, double y, std::string_view kind, std::string_view title) {
    shapes_ += fmt::format(R"(<path d="M{:.1f} {:.1f}l5 8h-10z" class="{}">{}</path>)", x, y, kind, titled(title));
  }

  void dot(double x, double y, std::string_view kind) {
    shapes_ += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="5" class="{}"/>)", x, y, kind);
  }

  // Draws an area that is bounded by the SVG path `path`, such as "M0 0H10V5Z".
  void area(std::string_view path, std::string_view kind) {
    shapes_ += fmt::format(R"(<path d="{}" class="{}"/>)", path, kind);
  }

  // The drawing is in a <div> that scrolls if the page is narrower.
  std::string html() const {
    return fmt::format(
        "<div class=\"drawing\" tabindex=\"0\"><svg width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n{3}\n</svg></div>\n",
        width_, height_, label_, shapes_);
  }

 private:
  static std::string titled(std::string_view title) {
    return title.empty() ? "" : fmt::format("<title>{}</title>", title);
  }

  double width_, height_;
  std::string label_, shapes_;
};

using diagnose::DrawnOperation;
using diagnose::DrawnProgress;

constexpr double kBoxWidth = 78, kBoxHeight = 38, kStep = 86, kLane = 76, kMargin = 4;
constexpr double kLabel = 16;        // height of the label above each lane
constexpr double kBeforeBoxes = 44;  // room for the count of operations that are not drawn
constexpr std::size_t kTitleColumns = 60, kBoxColumns = 12;

struct Look {
  const char* kind;     // CSS class
  const char* meaning;  // text in the legend
};

const Look& look_of(DrawnProgress progress) {
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
      const Look& look = look_of(static_cast<DrawnProgress>(i));
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
      text += timeline_.other_streams == 1
                  ? " 1 more stream is not drawn."
                  : fmt::format(" {} more streams are not drawn.", diagnose::thousands(timeline_.other_streams));
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

std::string source_figure(const diagnose::Quotation& quotation, const SourceWords& words, const Markup& markup) {
  if (quotation.lines.empty()) return "";
  const std::string none;
  std::string rows;
  for (const symbolize::SourceLine& line : quotation.lines) {
    const bool own = line.number == quotation.at.line, other = !own && line.number == words.other_line;
    const std::string& label = own ? words.own_label : other ? words.other_label : none;
    const std::string gutter = words.other_line == 0 ? "" : fmt::format("<em>{}</em>", label);
    rows += fmt::format("<span{}>{}<i>{}</i>{}</span>",
                        own     ? " class=\"at\""
                        : other ? " class=\"other\""
                                : "",
                        gutter, line.number, markup.text(line.text));
  }
  return fmt::format("<figure class=\"{}\"><figcaption><b>{}</b>{}</figcaption><pre>{}</pre></figure>\n", words.kind,
                     words.heading, words.caption, rows);
}

std::string short_place(const diagnose::Location& location) {
  const diagnose::Location& shown = location.nearest();
  const std::string name = base::file_name(shown.file);
  if (!name.empty() && shown.line > 0) return fmt::format("{}:{}", name, shown.line);
  return diagnose::place(location, "");
}

namespace {

constexpr double kHeight = 176, kRaceBoxWidth = 280, kRaceBoxHeight = 44;
constexpr std::size_t kColumns = 38;  // most columns of the text in a box

std::string deed_of(const diagnose::ResolvedAccess& access) {
  const char* does = access.mode == session::RaceMode::unknown ? "may write"
                     : access.mode == session::RaceMode::read  ? "reads"
                                                               : "writes";
  if (access.on_host && access.op.empty()) return std::string("code on the CPU ") + does;
  const std::string what = access.kernel.empty() ? std::string(session::word(access.operation))
                                                 : diagnose::short_kernel_name(access.kernel, kColumns / 2);
  return fmt::format("{} {}", what, does);
}

void side(Drawing& drawing, const diagnose::ResolvedAccess& access, const std::string& directory, double x, double y,
          const Markup& markup) {
  drawing.text(0, y - 6, "small", markup.text(access.on_host ? "the host" : diagnose::stream_name(access.stream)));
  drawing.line(0, y + kRaceBoxHeight / 2, kFigureWidth, y + kRaceBoxHeight / 2, "lane");
  // cudadiag detects a write by the CPU only by the changed memory, so the line may be unknown.
  const std::string place = access.location.known() ? diagnose::place(access.location, directory) : "line unknown";
  const std::string name = access.location.known() ? short_place(access.location) : place;
  drawing.box(x, y, kRaceBoxWidth, kRaceBoxHeight, "box failed", markup.text(place + ": " + deed_of(access)));
  drawing.centred(x + kRaceBoxWidth / 2, y + 19, "", markup.text(base::clip(name, kColumns)));
  drawing.centred(x + kRaceBoxWidth / 2, y + 35, "small", markup.text(base::clip(deed_of(access), kColumns)));
}

}  // namespace

std::string race_figure(const diagnose::ResolvedRace& race, const std::string& directory, const Markup& markup) {
  if (race.accesses.size() != 2) return "";
  Drawing drawing(kFigureWidth, kHeight, "Two operations on streams, with nothing to order them");
  const double top = 20, bottom = kHeight - kRaceBoxHeight - 6, first = 60, second = kFigureWidth - kRaceBoxWidth - 20;
  side(drawing, race.accesses[0], directory, first, top, markup);
  side(drawing, race.accesses[1], directory, second, bottom, markup);
  const double from = first + kRaceBoxWidth - 30, to = second + 40;
  drawing.line(from, top + kRaceBoxHeight, to, bottom, "gap");
  drawing.text((from + to) / 2 + 24, (top + kRaceBoxHeight + bottom) / 2 + 4, "", "nothing orders these two");
  return "<figure>" + drawing.html() + "</figure>\n";
}

namespace {

using Point = diagnose::MemoryCurve::Point;
using diagnose::Relation;

constexpr std::size_t kMostPoints = 360;
constexpr std::size_t kPlaceColumns = 44;

// Divides the curve into parts, and keeps the highest point of each, so that no peak is lost. Also keeps the last
// point.
std::vector<Point> thinned(const std::vector<Point>& points) {
  const std::size_t part = points.size() / kMostPoints + 1;
  std::vector<Point> kept;
  for (std::size_t i = 0; i < points.size(); i += part) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>(std::min(i + part, points.size()));
    kept.push_back(*std::max_element(begin, end, [](const Point& a, const Point& b) { return a.bytes < b.bytes; }));
  }
  if (part > 1) kept.push_back(points.back());
  return kept;
}

std::string figure(const Drawing& drawing, std::string_view caption) {
  return fmt::format("<figure>{}<figcaption class=\"below\">{}</figcaption></figure>\n", drawing.html(), caption);
}

}  // namespace

std::string memory_figure(const diagnose::MemoryCurve& curve, const diagnose::MemoryUse& use, const Markup& markup) {
  constexpr double kTop = 24, kBottom = 170, kLeft = 4, kRight = kFigureWidth - 210, kAsked = 34;
  const std::uint64_t total = use.of_host ? 0 : use.total.value_or(0), held = curve.points.back().bytes;
  // The requested size is drawn on top of the memory in use. The drawn size is limited, because a damaged record may
  // contain any size.
  const std::uint64_t wanted = held + std::min(use.asked, std::max(total, held));
  std::uint64_t most = std::max<std::uint64_t>({total, wanted, 1});
  for (const Point& point : curve.points) most = std::max(most, point.bytes);
  const double begin = curve.points.front().seconds, span = std::max(curve.end - begin, 1e-9);
  const auto x_of = [&](double seconds) { return kLeft + (kRight - kLeft) * (seconds - begin) / span; };
  const auto y_of = [&](std::uint64_t bytes) {
    return kBottom - (kBottom - kTop) * static_cast<double>(bytes) / static_cast<double>(most);
  };
  Drawing drawing(kFigureWidth, 196, "Memory that this process held over time, until the call that failed");
  std::string path = fmt::format("M{:.1f} {:.1f}", kLeft, kBottom);
  for (const Point& point : thinned(curve.points)) {
    path += fmt::format("H{:.1f}V{:.1f}", x_of(point.seconds), y_of(point.bytes));
  }
  drawing.area(path + fmt::format("H{:.1f}V{:.1f}Z", kRight, kBottom), "held");
  const double beside = kRight + kAsked + 8;
  if (wanted > held) {
    drawing.box(kRight, y_of(wanted), kAsked, y_of(held) - y_of(wanted), "box failed");
    drawing.text(beside, (y_of(wanted) + y_of(held)) / 2 + 4, "alarm",
                 markup.text(fmt::format("{} requested", size_text(use.asked))));
  }
  if (total > 0) {
    drawing.line(kLeft, y_of(total), kRight + kAsked, y_of(total), "limit");
    drawing.text(kLeft, y_of(total) - 6, "small", markup.text(fmt::format("{} in total", size_text(total))));
  }
  drawing.text(beside, std::min((y_of(held) + kBottom) / 2 + 12, kBottom), "",
               markup.text(fmt::format("{} held", size_text(held))));
  drawing.text(kLeft, kBottom + 18, "small", "first allocation");
  drawing.centred(kRight, kBottom + 18, "small", markup.text(diagnose::duration(span) + " later"));
  return figure(drawing, use.of_host ? "Pinned memory that this process held over time."
                                     : "GPU memory that this process held over time, not counting other processes.");
}

std::string access_figure(const diagnose::Access& access, const Markup& markup) {
  const bool past = access.relation == Relation::past_end, before = access.relation == Relation::before;
  if (!access.allocation || !access.distance || (!past && !before)) return "";
  constexpr double kMemory = 340, kTop = 34, kHeight = 40;
  const double memory = past ? 4 : kFigureWidth - kMemory - 4, place = past ? kFigureWidth - 90 : 90;
  Drawing drawing(kFigureWidth, 118, "The intended memory, and the address of the failing access next to it");
  std::string name = access.parameter_name.empty() ? access.variable : access.parameter_name;
  if (name.empty() && access.parameter) {
    name = access.loaded.empty() ? fmt::format("parameter {}", *access.parameter) : diagnose::through_words(access);
  }
  drawing.box(memory, kTop, kMemory, kHeight, "held");
  drawing.centred(
      memory + kMemory / 2, kTop + 25, "",
      markup.text(base::clip(fmt::format("{}{}", name.empty() ? "" : name + ": ", size_text(access.allocation->bytes)),
                             kPlaceColumns)));
  const double edge = past ? memory + kMemory : memory;
  drawing.line(edge, kTop + kHeight / 2, place, kTop + kHeight / 2, "gap");
  drawing.dot(place, kTop + kHeight / 2, "alarm");
  const std::string distance =
      fmt::format("{} {}", size_text(*access.distance), past ? "past its end" : "before its beginning");
  drawing.centred((edge + place) / 2, kTop + kHeight / 2 - 8, "alarm", markup.text(distance));
  drawing.centred(place, kTop + kHeight + 22, "",
                  markup.text(fmt::format("{}{}", diagnose::word(access.kind),
                                          access.bytes == 0 ? "" : fmt::format(" of {} B", access.bytes))));
  return figure(drawing, "The failing access next to the intended memory. Distances are not to scale.");
}

std::string freed_figure(const diagnose::Argument& argument, const diagnose::Location& used, const Markup& markup) {
  if (!argument.allocation || !argument.allocation->is_freed || !argument.allocation->freed) return "";
  const diagnose::PointedMemory& memory = *argument.allocation;
  constexpr double kLine = 44, kBegin = 90, kFreed = 360, kUsed = 630;
  Drawing drawing(kFigureWidth, 104, "Memory that was allocated, freed, and then used");
  drawing.box(kBegin, kLine - 12, kFreed - kBegin, 24, "held");
  drawing.centred(
      (kBegin + kFreed) / 2, kLine + 4, "",
      markup.text(fmt::format("{}: {}", base::clip(argument.name, kPlaceColumns / 2), size_text(memory.bytes))));
  drawing.line(kFreed, kLine, kUsed, kLine, "gap");
  drawing.dot(kUsed, kLine, "alarm");
  const auto moment = [&](double x, const char* what, const diagnose::Location* location) {
    drawing.centred(x, kLine - 22, "small", what);
    if (location == nullptr) return;
    drawing.centred(x, kLine + 36, "", markup.text(base::clip(short_place(*location), kPlaceColumns / 2)));
  };
  moment(kBegin, "allocated", memory.allocated ? &*memory.allocated : nullptr);
  moment(kFreed, "freed", &*memory.freed);
  moment(kUsed, "used", &used);
  return figure(drawing, "The history of the memory passed to the operation. Widths do not show time.");
}

}  // namespace cudadiag::report
