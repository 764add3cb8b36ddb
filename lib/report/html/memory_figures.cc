// Draws memory for the HTML page: its use over time, and the allocations around a failing access.
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/printable.h"
#include "diagnose/words.h"
#include "report/html/figures.h"
#include "report/html/svg.h"
#include "report/memory_text.h"

namespace cudadiag::report {
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
  std::string name = access.parameter_name;
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
