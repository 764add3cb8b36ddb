// Draws the two sides of a race for the HTML page.
#include <fmt/core.h>

#include "base/printable.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/stream_name.h"
#include "report/html/figures.h"
#include "report/html/svg.h"

namespace cudadiag::report {
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

}  // namespace cudadiag::report
