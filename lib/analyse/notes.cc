#include "analyse/notes.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "analyse/first_failure.h"
#include "analyse/stream_history.h"
#include "base/text.h"

namespace cudadiag::analyse {
namespace {

constexpr base::Words<NoteCode, 66> kWords = {{
    {NoteCode::other, "other"},
    {NoteCode::arguments_not_read, "arguments-not-read"},
    {NoteCode::copies_unchecked, "copies-unchecked"},
    {NoteCode::core_dump_off, "core-dump-off"},
    {NoteCode::cupti_held, "cupti-held"},
    {NoteCode::cupti_not_found, "cupti-not-found"},
    {NoteCode::cupti_refused, "cupti-refused"},
    {NoteCode::driver_not_found, "driver-not-found"},
    {NoteCode::forward_lines_off, "forward-lines-off"},
    {NoteCode::graph_not_marked, "graph-not-marked"},
    {NoteCode::graph_refused, "graph-refused"},
    {NoteCode::hooks_refused, "hooks-refused"},
    {NoteCode::markers_refused, "markers-refused"},
    {NoteCode::modules_not_kept, "modules-not-kept"},
    {NoteCode::python_hook, "python-hook"},
    {NoteCode::python_hook_off, "python-hook-off"},
    {NoteCode::python_off, "python-off"},
    {NoteCode::python_stacks_off, "python-stacks-off"},
    {NoteCode::recorder_disabled, "recorder-disabled"},
    {NoteCode::runtime_not_seen, "runtime-not-seen"},
    {NoteCode::wait_given_up, "wait-given-up"},
    {NoteCode::wait_left_out, "wait-left-out"},
    {NoteCode::window_not_read, "window-not-read"},
    {NoteCode::area_damaged, "area-damaged"},
    {NoteCode::errors_dropped, "errors-dropped"},
    {NoteCode::held_dropped, "held-dropped"},
    {NoteCode::interns_dropped, "interns-dropped"},
    {NoteCode::log_cut, "log-cut"},
    {NoteCode::log_lost, "log-lost"},
    {NoteCode::markers_failed, "markers-failed"},
    {NoteCode::markers_off, "markers-off"},
    {NoteCode::nothing_recorded, "nothing-recorded"},
    {NoteCode::operations_dropped, "operations-dropped"},
    {NoteCode::rerun_lost, "rerun-lost"},
    {NoteCode::sites_dropped, "sites-dropped"},
    {NoteCode::streams_dropped, "streams-dropped"},
    {NoteCode::cut_off, "cut-off"},
    {NoteCode::error_handled, "error-handled"},
    {NoteCode::interrupted_at_work, "interrupted-at-work"},
    {NoteCode::killed_at_work, "killed-at-work"},
    {NoteCode::launcher, "launcher"},
    {NoteCode::mps, "mps"},
    {NoteCode::outlived, "outlived"},
    {NoteCode::ranks_part, "ranks-part"},
    {NoteCode::unfinished, "unfinished"},
    {NoteCode::unrelated_end, "unrelated-end"},
    {NoteCode::assertion_printed, "assertion-printed"},
    {NoteCode::checks_ended, "checks-ended"},
    {NoteCode::cuda_after_fork, "cuda-after-fork"},
    {NoteCode::cuda_gdb, "cuda-gdb"},
    {NoteCode::device_disagrees, "device-disagrees"},
    {NoteCode::foreign_session, "foreign-session"},
    {NoteCode::launch_blocking, "launch-blocking"},
    {NoteCode::launch_blocking_late, "launch-blocking-late"},
    {NoteCode::races_dismissed, "races-dismissed"},
    {NoteCode::races_forgotten, "races-forgotten"},
    {NoteCode::races_gap, "races-gap"},
    {NoteCode::races_unjudged, "races-unjudged"},
    {NoteCode::races_unlisted, "races-unlisted"},
    {NoteCode::races_unchecked, "races-unchecked"},
    {NoteCode::sanitizer_differs, "sanitizer-differs"},
    {NoteCode::sanitizer_elsewhere, "sanitizer-elsewhere"},
    {NoteCode::source_changed, "source-changed"},
    {NoteCode::source_newer, "source-newer"},
    {NoteCode::symbols, "symbols"},
    {NoteCode::values_disturb, "values-disturb"},
}};

}  // namespace

std::string_view word(NoteCode code) { return base::word_of(kWords, code); }

NoteCode note_code(std::string_view word) { return base::value_of(kWords, word).value_or(NoteCode::other); }

namespace {

using session::ProcessRecord;

void add_counts(const ProcessRecord& record, std::vector<Note>& notes) {
  const auto add = [&](std::uint64_t count, NoteCode code, const char* one, const char* several) {
    if (count > 0) notes.push_back({code, fmt::format("{} {}", count, count == 1 ? one : several)});
  };
  add(record.dropped_operations, NoteCode::operations_dropped, "operation could not be recorded",
      "operations could not be recorded");
  add(record.dropped_sites, NoteCode::sites_dropped,
      "operation was issued at a call site that did not fit into the recording",
      "operations were issued at call sites that did not fit into the recording");
  add(record.dropped_interns, NoteCode::interns_dropped, "name or stack did not fit into the recording",
      "names or stacks did not fit into the recording");
  add(record.dropped_streams, NoteCode::streams_dropped,
      "stream did not fit into the recording, so the order of its operations is unknown",
      "streams did not fit into the recording, so the order of their operations is unknown");
  const bool all_logged = record.log && record.log->whole();
  add(all_logged ? 0 : record.dropped_held, NoteCode::held_dropped,
      "unfinished operation was overwritten by later ones", "unfinished operations were overwritten by later ones");
  if (record.log)
    add(record.log->lost, NoteCode::log_lost, "operation was overwritten before the full log could read it",
        "operations were overwritten before the full log could read them");
  if (record.log && !record.log->reaches_rings) {
    notes.push_back(
        {NoteCode::log_cut, "the full log ends early: the operations between its end and the latest ones are unknown"});
  }
  add(record.failed_markers, NoteCode::markers_failed, "completion marker was rejected by the driver",
      "completion markers were rejected by the driver");
  add(record.damaged, NoteCode::area_damaged, "damaged part of the recording was ignored",
      "damaged parts of the recording were ignored");
  const std::uint64_t kept = record.errors.size();
  add(record.error_count > kept ? record.error_count - kept : 0, NoteCode::errors_dropped,
      "failed call did not fit into the recording", "failed calls did not fit into the recording");
}

void add_states(const ProcessRecord& record, std::vector<Note>& notes) {
  const auto unmarked = std::ranges::count_if(record.contexts, [](const auto& context) {
    return context.state != wire::context::State::free && context.markers != wire::context::Markers::on;
  });
  if (unmarked > 0) {
    notes.push_back(
        {NoteCode::markers_off, fmt::format("{} of the process's contexts had no completion markers", unmarked)});
  }
  if (under_mps(record)) {
    notes.push_back({NoteCode::mps, "the GPU is shared under MPS, where another process's fault can end this one"});
  }
}

// This note comes first, because it is all that we know about an unrecorded process.
void add_why_unrecorded(const session::Process& process, std::vector<Note>& notes) {
  if (!is_unrecorded(process)) return;
  std::string text = "the recorder turned itself off";
  for (const session::Note& note : process.record.notes) {
    const char* remedy = remedy_for(note_code(note.code));
    if (remedy != nullptr) text += ": " + note.text + "; " + remedy;
  }
  notes.insert(notes.begin(), {NoteCode::recorder_disabled, text});
}

}  // namespace

bool is_unrecorded(const session::Process& process) { return process.record.state == wire::area::State::disabled; }

const char* remedy_for(NoteCode code) {
  switch (code) {
    case NoteCode::cupti_held:
      return "another profiler uses CUPTI: turn it off for this run, or use --watch-by=hooks";
    case NoteCode::cupti_not_found:
      return "install it (pip install nvidia-cuda-cupti) or set CUDADIAG_CUPTI to a libcupti.so";
    case NoteCode::cupti_refused:
      return "set CUDADIAG_CUPTI to a libcupti.so that is not newer than the driver";
    case NoteCode::driver_not_found:
      return "make sure that the dynamic linker can find libcuda.so.1 by name";
    default:
      return nullptr;
  }
}

std::vector<Note> coverage_notes(const session::Process& process, bool several) {
  std::vector<Note> notes;
  for (const auto& note : process.record.notes) {
    const NoteCode code = note_code(note.code);
    std::string text = note.text;
    if (is_about_cupti(code) && !is_unrecorded(process)) {
      text = "calls were watched by hooks, not by CUPTI (" + note.text + ")";
    } else if (code == NoteCode::runtime_not_seen) {
      text = "errors that the CUDA runtime in " + note.text +
             " does not pass on were not recorded: use --watch-by=cupti, without --once";
    }
    notes.push_back({code, std::move(text)});
  }
  add_counts(process.record, notes);
  add_states(process.record, notes);
  add_why_unrecorded(process, notes);
  if (several) {
    for (auto& note : notes) note.text = fmt::format("process {}: {}", process.pid, note.text);
  }
  return notes;
}

std::uint64_t unfinished_operations(const ProcessRecord& record) {
  std::uint64_t unfinished = 0;
  for (const auto& history : stream_histories(record, EventLog(record))) {
    if (history.stream->issued > history.completed) unfinished += history.stream->issued - history.completed;
  }
  return unfinished;
}

}  // namespace cudadiag::analyse
