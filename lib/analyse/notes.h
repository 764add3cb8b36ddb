// The notes of an analysis: their codes, and the notes about what a recording lacks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "session/session.h"

namespace cudadiag::analyse {

// The codes of notes, with stable names for programs that read a report. The recorder's notes use the same names.
enum class NoteCode : std::uint8_t {
  other,  // an unknown name, from a different version of the recorder
  // Features of the recorder that were unavailable.
  arguments_not_read,
  copies_unchecked,
  core_dump_off,
  cupti_held,
  cupti_not_found,
  cupti_refused,
  driver_not_found,
  forward_lines_off,
  graph_not_marked,
  graph_refused,
  hooks_refused,
  markers_refused,
  modules_not_kept,
  python_hook,
  python_hook_off,
  python_off,
  python_stacks_off,
  recorder_disabled,
  runtime_not_seen,
  wait_given_up,
  wait_left_out,
  window_not_read,
  // Gaps in a recording.
  area_damaged,
  errors_dropped,
  held_dropped,
  interns_dropped,
  log_cut,
  log_lost,
  markers_failed,
  markers_off,
  nothing_recorded,
  operations_dropped,
  rerun_lost,
  sites_dropped,
  streams_dropped,
  // Events during a run, and how the run ended.
  cut_off,  // another process ended, and this one was cut off while working
  error_handled,
  interrupted_at_work,
  killed_at_work,
  launcher,
  mps,
  outlived,  // processes outlived the command
  ranks_part,
  unfinished,
  unrelated_end,
  // Other facts.
  assertion_printed,
  checks_ended,
  cuda_after_fork,
  cuda_gdb,
  device_disagrees,
  foreign_session,
  launch_blocking,
  launch_blocking_late,
  races_dismissed,
  races_forgotten,
  races_gap,
  races_unjudged,
  races_unlisted,
  races_unchecked,
  sanitizer_differs,
  sanitizer_elsewhere,
  source_changed,
  source_newer,
  symbols,
  values_disturb,
};

// Returns the name of the code, such as "error-handled".
std::string_view word(NoteCode code);
// Returns NoteCode::other for an unknown name.
NoteCode note_code(std::string_view word);

// Returns whether the note says that CUPTI was not available.
constexpr bool is_about_cupti(NoteCode code) {
  return code == NoteCode::cupti_held || code == NoteCode::cupti_not_found || code == NoteCode::cupti_refused;
}

// Call sites whose lines are inserted into a note's text at offset `at`, once symbols are available.
struct NotedCalls {
  const session::Process* process = nullptr;
  std::vector<std::uint32_t> sites;
  std::size_t at = 0;
};

struct Note {
  NoteCode code = NoteCode::other;
  std::string text;
  std::optional<NotedCalls> calls{};
};

// Returns whether the recorder turned itself off in the process.
bool is_unrecorded(const session::Process& process);

// For a code that says why the recorder could not start, returns what the user can do. Returns null for other codes.
const char* remedy_for(NoteCode code);

// If `several` processes were recorded, each note names its process.
std::vector<Note> coverage_notes(const session::Process& process, bool several);

// Counts the operations that no marker or wait has shown to be finished.
std::uint64_t unfinished_operations(const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
