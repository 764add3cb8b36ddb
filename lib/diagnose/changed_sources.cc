#include "diagnose/changed_sources.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "diagnose/line_resolver.h"
#include "session/session.h"
#include "symbolize/source_file.h"

namespace cudadiag::diagnose {
namespace {

std::optional<double> at(const session::ProcessRecord& record, std::uint64_t ticks) {
  if (ticks < record.clock_start || ticks == 0 || record.seconds_per_tick <= 0) return std::nullopt;
  return record.unix_seconds(ticks);
}

void add_once(std::vector<std::string>& files, const std::string& file) {
  if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
}

bool is_changed(const Finding& finding, const std::string& file) {
  const auto& files = finding.source.changed;
  return std::find(files.begin(), files.end(), file) != files.end();
}

template <typename Each>
void for_locations(Finding& finding, const Each& of_line) {
  const auto each = [&](Location& location) {
    of_line(location);
    for (Location& outer : location.called_from) of_line(outer);
  };
  each(finding.location);
  for (auto* location : {&finding.caller, &finding.noticed.at}) {
    if (*location) each(**location);
  }
  for (Related& related : finding.related) each(related.location);
  for (CandidateLine& candidate : finding.candidates) each(candidate.location);
  if (!finding.race) return;
  for (ResolvedAccess& access : finding.race->accesses) each(access.location);
}

void drop_text(Finding& finding) {
  for_locations(finding, [&](Location& location) {
    if (is_changed(finding, location.file)) location.source.clear();
  });
  if (finding.source_changed()) finding.source.excerpt.clear();
}

// Returns the text for Finding::source_newer_than; empty if the source of the finding's line is not newer than the
// code.
std::string older_than_source(const Finding& finding, const session::ProcessRecord& record) {
  const Location& shown = finding.location.nearest();
  if (symbolize::written_since_start(shown.file, record)) return "the program had started";
  const auto& native = finding.stack.native;
  const auto frame = std::find_if(native.begin(), native.end(), [&](const symbolize::NativeFrame& each) {
    return each.line == shown.line && each.file == shown.file;
  });
  if (frame == native.end()) return "";
  const auto built = symbolize::time_written(frame->module), written = symbolize::time_written(shown.file);
  if (!built || !written || *written <= *built) return "";
  return base::file_name(frame->module) + " had been built";
}

// If the rerun failed at the same call on a different line of the same file, returns that line; else 0. Ignores graph
// nodes and backward kernels, because the line shown for them is not the line of the launch.
int line_in_rerun(const Finding& finding, const analyse::Failure& failure, symbolize::Symbolizer& symbolizer) {
  if (failure.again == nullptr || failure.again_process == nullptr || finding.backward) return 0;
  if (finding.location.line == 0) return 0;
  if (finding.location.language != symbolize::Language::python || failure.candidates.front().node != nullptr) return 0;
  const symbolize::Location there = resolve(symbolizer, *failure.again_process, failure.again->site).line.location;
  return there.file == finding.location.file && there.line != finding.location.line ? there.line : 0;
}

}  // namespace

std::optional<double> met_at(const analyse::Failure& failure) {
  const session::ProcessRecord& record = failure.process->record;
  if (failure.hang) return heard_until(record);
  const session::FailedCall* error = failure.noticed != nullptr ? failure.noticed : failure.reported;
  const std::uint64_t issued = failure.candidates.empty() ? 0 : failure.candidates.front().operation->ticks;
  return at(record, std::max({issued, error == nullptr ? 0 : error->ticks, record.frozen_ticks}));
}

std::optional<double> heard_until(const session::ProcessRecord& record) { return at(record, record.clock_last); }

// If a file server's clock is ahead, a file saved just before the run may seem changed. The report then omits some
// text, but is still correct.
void drop_changed_sources(Finding& finding, const session::ProcessRecord& record, std::optional<double> met) {
  for_locations(finding, [&](Location& location) {
    const auto written = location.line > 0 && met ? symbolize::time_written(location.file) : std::nullopt;
    if (written && *written > *met) add_once(finding.source.changed, location.file);
  });
  if (!finding.source.excerpt.empty() && !finding.source_changed())
    finding.source.newer_than = older_than_source(finding, record);
  drop_text(finding);
}

void compare_rerun_source(Finding& finding, const analyse::Failure& failure, const session::Session& session,
                          symbolize::Symbolizer& symbolizer) {
  // A finding from a rerun already has the lines of that rerun.
  if (session::rerun_of(session, failure.process) != nullptr) return;
  const std::string& file = finding.location.file;
  if (const int line = line_in_rerun(finding, failure, symbolizer); line > 0) {
    finding.evidence.add(fmt::format("the rerun ran a different version of {}, where this call is on line {}",
                                     base::file_name(file), line));
    // Drops the text even if the file seems unchanged, because an editor may have kept the modification time.
    add_once(finding.source.changed, file);
    drop_text(finding);
  } else if (!failure.rewritten.empty()) {
    finding.evidence.prepend(
        fmt::format("{} was edited before the rerun, so the rerun says nothing about this answer; ",
                    base::file_name(failure.rewritten)));
  }
}

std::string changed_source_text(const Finding& finding) {
  if (!finding.source_changed()) return "";
  return fmt::format("({} was edited after the run: line numbers are those of the run)",
                     base::printable(base::file_name(finding.location.nearest().file)));
}

void note_changed_sources(Diagnosis& report) {
  std::vector<std::string> changed, newer;
  for (const Finding& finding : report.findings) {
    for (const std::string& file : finding.source.changed) add_once(changed, file);
    if (finding.source.newer_than.empty()) continue;
    add_once(newer, finding.location.nearest().file + " was modified after " + finding.source.newer_than);
  }
  for (const std::string& file : changed) {
    report.notes.push_back({analyse::NoteCode::source_changed,
                            file + " was edited after the run: its lines may have changed and are not shown"});
  }
  for (const std::string& text : newer) {
    report.notes.push_back({analyse::NoteCode::source_newer, text + ": the lines that ran may have been different"});
  }
}

}  // namespace cudadiag::diagnose
