#include "supervise/recorded_processes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "session/area/area_reader.h"
#include "session/area/live_place.h"
#include "session/notes/unrecorded.h"
#include "session/session_reader.h"
#include "wire/area.h"

namespace cudadiag::supervise {

std::vector<session::Process> read_processes(const launch::Arena* arena, const session::SessionWriter* writer,
                                             session::Session& session) {
  std::vector<session::Process> processes;
  if (writer != nullptr) session::read_areas(writer->foreign_areas(), session, processes);
  for (std::size_t area = 0; arena != nullptr && area < arena->claimed(); ++area) {
    const launch::LiveArea live(*arena, area);
    session::AreaContents contents = session::read_area(live.bytes(), wire::ClockReading::now());
    // The process died before it could write even the magic number.
    if (!contents.error.empty()) continue;
    processes.push_back(session::describe_process(std::move(contents.record), session.manifest));
  }
  session::sort_processes(processes);
  return processes;
}

std::optional<std::string> note_on_unrecorded(const launch::Arena& arena, const session::SessionWriter* writer) {
  const std::size_t files = writer == nullptr ? 0 : writer->foreign_areas().size();
  const std::size_t missing = arena.forgotten() + arena.turned_away() - std::min(arena.turned_away(), files);
  if (missing == 0) return std::nullopt;
  return std::to_string(missing) + (missing == 1 ? " process was" : " processes were") +
         " not recorded: a recording has room for " + std::to_string(arena.places()) +
         ", including processes that failed; start cudadiag closer to the part that fails";
}

std::optional<std::string> left_unrecorded(const launch::Arena* arena, const session::SessionWriter* writer) {
  session::Unrecorded left;
  if (writer != nullptr) left = session::unrecorded_in(writer->pass_folder());
  if (arena != nullptr && arena->unrecorded().processes > 0) {
    const std::size_t beside = left.processes;
    left = arena->unrecorded();
    left.processes += beside;
  }
  if (left.processes == 0) return std::nullopt;
  const base::Error failure = session::nothing_recorded_of(left);
  return failure.what + "; " + failure.hint;
}

std::vector<std::uint32_t> recording_processes(const launch::Arena& arena) {
  std::vector<std::uint32_t> found;
  const session::LivePlace place = arena.place();
  for (std::size_t area = 0; area < arena.claimed(); ++area) {
    const launch::LiveArea live(arena, area);
    const auto bytes = live.bytes();
    const auto recording = static_cast<std::uint32_t>(wire::area::State::recording);
    if (bytes.empty() || wire::load_acquire(bytes.data(), wire::area::kState) != recording) continue;
    const std::uint32_t pid = wire::load(bytes.data(), wire::area::kPid);
    const bool known = std::find(found.begin(), found.end(), pid) != found.end();
    if (!known && session::is_held_by(place, pid)) found.push_back(pid);
  }
  return found;
}

std::optional<base::Error> store_areas(const launch::Arena& arena, session::SessionWriter& writer) {
  for (std::size_t area = 0; area < arena.claimed(); ++area) {
    const launch::LiveArea live(arena, area);
    const auto header = live.bytes().first(std::min(live.bytes().size(), wire::area::kHeaderSize));
    const auto contents = session::read_area(header);
    if (!contents.error.empty()) continue;
    arena.stamp_clock(area);
    auto failure = writer.store_area(area, contents.record.pid, arena.file(), arena.begin(area), arena.end(area));
    if (failure) return failure;
  }
  return std::nullopt;
}

std::optional<double> first_freeze(const std::vector<session::Process>& processes, double start) {
  std::optional<double> first;
  for (const session::Process& process : processes) {
    const session::ProcessRecord& record = process.record;
    if (record.state != wire::area::State::frozen) continue;
    const double at = record.unix_seconds(record.frozen_ticks) - start;
    if (!first || at < *first) first = at;
  }
  return first;
}

}  // namespace cudadiag::supervise
