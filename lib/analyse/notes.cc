#include "analyse/notes.h"

#include "base/text.h"

namespace cudadiag::analyse {
namespace {

constexpr base::Words<NoteCode, 63> kWords = {{
    {NoteCode::other, "other"},
    {NoteCode::arguments_not_read, "arguments-not-read"},
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

}  // namespace cudadiag::analyse
