#include "recording.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <utility>

#include "analyse/degraded.h"
#include "findings.h"
#include "launch/gpu_processes.h"
#include "planted_fault.h"
#include "report/races.h"
#include "report/surroundings.h"
#include "report/words.h"
#include "session/host_name.h"
#include "session/logged_history.h"
#include "supervise/hang_watch.h"
#include "supervise/recorded_processes.h"
#include "supervise/recorder_check.h"
#include "supervise/reruns/rerun_needs.h"
#include "supervise/watched_lines.h"
#include "terminal.h"
#include "wire/area.h"

namespace cudadiag::command {
namespace {

std::string iso_time(std::time_t time) {
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

// Who else is on the devices where a call found no memory. False: there is nothing to be told.
bool add_gpu_processes(const session::Session& session, std::vector<session::GpuProcess>& found) {
  std::set<std::string> devices;
  for (const analyse::Failure& failure : analyse::analyse(session).failures) {
    if (failure.kind != analyse::Kind::out_of_memory) continue;
    for (const auto& [key, value] : failure.process->record.properties) {
      if (key.starts_with("device.") && key.ends_with(".pci")) devices.insert(value);
    }
  }
  for (const std::string& device : devices) {
    for (session::GpuProcess& process : launch::gpu_processes(device)) found.push_back(std::move(process));
  }
  return !found.empty();
}

const analyse::Note* find_note(const std::vector<analyse::Note>& notes, const char* code) {
  const auto found = std::find_if(notes.begin(), notes.end(), [&](const auto& note) { return note.code == code; });
  return found == notes.end() ? nullptr : &*found;
}

// Where the recorder stepped aside, of the first such process. True: nobody else recorded anything.
bool tell_of_unrecorded(const std::vector<session::Process>& processes) {
  const auto first = std::find_if(processes.begin(), processes.end(), analyse::is_unrecorded);
  if (first == processes.end()) return false;
  const bool all = std::all_of(processes.begin(), processes.end(), analyse::is_unrecorded);
  for (const session::Note& note : first->record.notes) {
    const char* remedy = analyse::remedy_for(note.code);
    if (remedy == nullptr) continue;
    say("nothing was recorded" + (all ? "" : " of process " + std::to_string(first->pid)) + ": " + note.text + "; " +
        remedy);
    return all;
  }
  return false;
}

bool records_by_itself(const std::vector<std::string>& command) {
  if (command.size() < 2 || std::filesystem::path(command[0]).filename() != "cudadiag") return false;
  return command[1] == "run" || command[1] == "races" || command[1] == "bisect";
}

// Of a session without findings nothing else may stay.
std::string handled_calls(const std::vector<analyse::Note>& notes) {
  std::string text;
  for (const analyse::Note& note : notes) {
    if (note.code == "error-handled" || note.code == "cuda-after-fork") text += "; " + note.text;
  }
  return text;
}

// What writes to `| head` is ended by SIGPIPE, as nobody wonders at.
bool failed(const session::ProcessEnd& end) { return end.signal ? *end.signal != SIGPIPE : end.code.value_or(0) != 0; }

}  // namespace

Recording::Recording(const RunOptions& options)
    : options_(options), started_(std::chrono::steady_clock::now()), started_at_(std::chrono::system_clock::now()) {
  const std::time_t now = std::chrono::system_clock::to_time_t(started_at_);
  std::error_code ignored;
  manifest_.command = options.command;
  manifest_.working_directory = std::filesystem::current_path(ignored).string();
  manifest_.host = session::host_name();
  manifest_.code_rules = options.code_rules;
  manifest_.python_stacks = options.record.python_stacks;
  manifest_.native_stacks = options.record.native_stacks;
  manifest_.started = iso_time(now);
  session::Pass record;
  record.name = record.folder = session::kRecordFolder;
  manifest_.passes.push_back(std::move(record));

  open_places(now);
  if (refusal_) return;
  const auto recorder = launch::find_recorder();
  if (const auto* failure = std::get_if<session::Failure>(&recorder)) {
    manifest_.unrecorded = failure->what + "; " + failure->hint;
  }
  if (!manifest_.unrecorded.empty()) {
    say("running without recording: " + manifest_.unrecorded);
    return;
  }
  const auto& path = std::get<std::filesystem::path>(recorder);
  if (std::string warning = launch::replaced_injection(path); !warning.empty()) {
    say(warning);
    manifest_.notes.push_back(std::move(warning));
  }
  launch::RecordOptions record_options = options.record;
  // Races are looked for while the target runs, and files of its own nobody reads meanwhile.
  if (!arena_) record_options.races = false;
  variables_ = launch::recording_variables(path,
                                           {arena_ ? arena_->path() : "", writer_ ? writer_->pass_folder() : "",
                                            "record", options.window, supervise::watched_lines(options.watch)},
                                           launch::find_cupti(options.command), record_options);
}

void Recording::open_places(std::time_t now) {
  std::optional<std::filesystem::path> output;
  if (options_.output) output = *options_.output;
  auto writer = session::SessionWriter::create(session::roots(output), static_cast<std::uint32_t>(::getpid()), now);
  if (auto* failure = std::get_if<session::Failure>(&writer)) {
    if (options_.output) {
      refusal_ = std::move(*failure);
      return;
    }
    say("no session will be kept: " + failure->what + "; " + failure->hint);
  } else {
    writer_.emplace(std::move(std::get<session::SessionWriter>(writer)));
  }
  auto arena = launch::Arena::create();
  if (const auto* failure = std::get_if<session::Failure>(&arena)) {
    if (writer_ && launch::fits_in_files()) {
      manifest_.notes.push_back(failure->what + "; " + failure->hint);
    } else if (launch::fits_in_files()) {
      manifest_.unrecorded = failure->what + ", and there is no folder to record to; name one with -o FOLDER";
    } else {
      manifest_.unrecorded = failure->what + "; " + failure->hint;
    }
  } else {
    arena_.emplace(std::move(std::get<launch::Arena>(arena)));
  }
  // Without it nobody can look on from outside; that is told to those who try.
  if (arena_ && writer_) writer_->store_live_place(arena_->place(), manifest_);
}

double Recording::seconds_so_far() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

std::vector<std::string> Recording::environment() const { return launch::environment_with(variables_); }

void Recording::read() {
  session_ = {};
  session_.manifest = manifest_;
  session_.whole = manifest_.whole;
  if (writer_) session_.folder = writer_->final_folder();
  session_.races = races_;
  session_.processes = supervise::read_processes(arena(), writer_ ? &*writer_ : nullptr, session_);
  if (writer_ && options_.full_log) session::attach_logs(writer_->pass_folder(), session_.processes);
  if (writer_ && !options_.watch.empty()) session::attach_deliveries(writer_->pass_folder(), session_.processes);
  const double start = std::chrono::duration<double>(started_at_.time_since_epoch()).count();
  for (session::Manifest* manifest : {&manifest_, &session_.manifest}) {
    manifest->passes.front().failed_after = supervise::first_freeze(session_.processes, start);
  }
}

std::optional<session::Failure> Recording::store_recording() {
  std::optional<session::Failure> failure;
  if (arena_) failure = supervise::store_areas(*arena_, *writer_);
  if (!failure && races_) failure = writer_->store_races(*races_);
  return failure;
}

std::optional<session::Failure> Recording::store_manifest() {
  session::Manifest manifest = manifest_;
  if (not_stored_) {
    manifest.notes.push_back("the session is not whole: " + not_stored_->what);
    manifest.whole = false;
  }
  auto failure = writer_->store_manifest(manifest);
  const session::ProcessEnd& end = manifest.passes.front().end;
  if (!failure || !(end.code || end.signal)) return failure;
  // What was for the time of the run makes some room.
  writer_->drop_live_place();
  return writer_->store_manifest(manifest);
}

void Recording::store() {
  not_stored_ = store_recording();
  if (not_stored_ && writer_->lacks_room() && full_log_ != nullptr) {
    for (const session::Failure& given_up : full_log_->give_up()) {
      manifest_.notes.push_back(given_up.what);
      say(given_up);
    }
    not_stored_ = store_recording();
  }
  auto failure = store_manifest();
  if (not_stored_) failure = not_stored_;
  if (failure && kept_whole_) say("the session is not whole: " + failure->what + "; " + failure->hint);
  if (failure) kept_whole_ = false;
}

void Recording::tell(report::Report report) {
  if (report.findings.empty() && findings_) return;
  // Commands for a session that is not there would only be tried in vain.
  if (!kept_whole_) report.session.clear();
  report::TextOptions options = text_options(options_.verbosity, STDERR_FILENO);
  // What becomes of reruns is said on the lines that are left.
  if (options_.rerun_mode != RerunMode::never) {
    options.lines -= 3;
    options.suggest_rerun = false;
  }
  write_error_text(report::write_text(report, options));
  for (const report::Finding& finding : report.findings) told_.insert(finding.pid);
  if (!report.findings.empty()) findings_ = true;
}

void Recording::tell_rest() {
  if (told_.empty()) return tell(report());
  const auto is_new = [&](const report::Finding& finding) { return finding.race || !told_.contains(finding.pid); };
  const auto& findings = report().findings;
  if (std::none_of(findings.begin(), findings.end(), is_new)) return;
  tell(examine(session_, [&](const session::Process& process) { return !told_.contains(process.pid); }));
}

void Recording::note_failures(std::vector<session::Failure> failures) {
  for (const session::Failure& failure : failures) manifest_.notes.push_back(failure.what);
  failures_ = std::move(failures);
}

void Recording::report_freeze() {
  manifest_.passes.front().seconds = seconds_so_far();
  read();
  // A process that goes on may yet handle what has failed in it: only a frozen picture is final.
  const report::Report report = examine(session_, [&](const session::Process& process) {
    return process.record.state == wire::area::State::frozen && !told_.contains(process.pid);
  });
  if (report.findings.empty()) return;
  if (writer_) store();
  tell(report);
}

void Recording::report_hang(double seconds) {
  manifest_.hang = seconds;
  manifest_.passes.front().seconds = seconds_so_far();
  read();
  for (const session::Process& process : session_.processes) {
    if (supervise::has_ended(process.pid)) manifest_.ended_before_hang.insert(process.pid);
  }
  session_.manifest = manifest_;
  const report::Report report =
      examine(session_, [&](const session::Process& process) { return !told_.contains(process.pid); });
  if (writer_) store();
  tell(report);
}

bool Recording::explain_silence(const session::ProcessEnd& end, bool interrupted, const report::Report& report) const {
  if (!manifest_.unrecorded.empty() || tell_of_unrecorded(session_.processes)) return true;
  const bool none = session_.processes.empty();
  if (!unrecorded_.empty() && (none || options_.verbosity != report::Verbosity::quiet)) say(unrecorded_);
  if (!unrecorded_.empty() && none) return true;
  const bool wanted = failed(end) || (none && options_.tell_no_race);
  if (!wanted || options_.verbosity == report::Verbosity::quiet) return false;
  if (!none && report.verdict == analyse::Verdict::inconclusive) {
    const std::string why = report.notes.empty() ? "" : ": " + report.notes.front().text;
    return say("cannot tell whether CUDA failed" + why + handled_calls(report.notes)), false;
  }
  if (!none) {
    const std::string handled = handled_calls(report.notes);
    return say((handled.empty() ? "no CUDA failure was recorded" : "no CUDA failure is known to have ended it") +
               handled),
           false;
  }
  // Whoever ended it may have done so before it came to use CUDA.
  if (interrupted && !options_.tell_no_race) return false;
  if (interrupted) return say("the program did not use CUDA before it was interrupted"), true;
  if (records_by_itself(options_.command)) {
    return say("nothing was recorded here: the command is another cudadiag, which makes its own session"), true;
  }
  const auto recorder = supervise::loadable_recorder();
  const DriverReport driver = ask_driver();
  if (const auto* failure = std::get_if<session::Failure>(&recorder)) {
    say("nothing was recorded: the recorder cannot be loaded (" + failure->what + "); " + failure->hint);
  } else if (!driver.library_found) {
    say("the program could not use CUDA: this machine has no NVIDIA driver (libcuda.so.1); install it, or start the "
        "container with --gpus all");
  } else if (!driver.problem.empty()) {
    say("the program could not use CUDA: " + driver.problem +
        "; check that nvidia-smi works for this user and that CUDA_VISIBLE_DEVICES names a GPU");
  } else {
    say("the program did not use CUDA, as far as was recorded. If it should have: cudadiag doctor");
  }
  return true;
}

void Recording::finish(const session::ProcessEnd& end, const std::map<std::uint32_t, session::ProcessEnd>& ends,
                       const std::vector<std::uint32_t>& outliving, bool interrupted) {
  session::Pass& pass = manifest_.passes.front();
  pass.seconds = seconds_so_far();
  pass.end = end;
  manifest_.ends = ends;
  if (arena_) {
    if (auto note = supervise::note_on_unrecorded(*arena_, writer())) {
      manifest_.notes.push_back(std::move(*note));
      manifest_.whole = false;
    }
  }
  if (auto unrecorded = supervise::left_unrecorded(arena(), writer())) {
    unrecorded_ = *unrecorded;
    manifest_.notes.push_back(std::move(*unrecorded));
    manifest_.whole = false;
  }
  manifest_.outlived_by = {outliving.begin(), outliving.end()};
  manifest_.asked_to_end = interrupted;
  // What a hanging program did after it was asked to end says nothing of the hang.
  if (manifest_.hang) {
    session_.manifest = manifest_;
  } else {
    read();
  }
  if (add_gpu_processes(session_, manifest_.gpu_processes)) session_.manifest = manifest_;
  const report::Report& whole = report();
  // What was kept of watched lines lies in the session's folder.
  const bool kept = writer_.has_value();
  // Where nothing was recorded, that has been said, and there is nothing to read again.
  const bool clean = whole.findings.empty() && session_.whole && !find_note(whole.notes, analyse::kKilledAtWork) &&
                     !find_note(whole.notes, analyse::kCutOff) && !find_note(whole.notes, analyse::kRanksPart);
  open_pairs_ = clean && !findings_ && options_.rerun_mode != RerunMode::never && supervise::wants_races(session_);
  if (writer_ && clean && !findings_ && !options_.output && !open_pairs_ && manifest_.outlived_by.empty()) {
    writer_->discard();
    writer_.reset();
  }
  if (writer_) {
    for (const session::Failure& failure : failures_) say(failure);
    manifest_.hang ? void(store_manifest()) : store();
    if (const auto failure = writer_->finish()) {
      if (kept_whole_) say(*failure);
      kept_whole_ = false;
    }
    if (!writer_->root().warning.empty()) say(writer_->root().warning);
    if (options_.verbosity != report::Verbosity::quiet) tell_removed();
  }
  tell_rest();
  if (const analyse::Note* note = find_note(report().notes, analyse::kOutlived)) say(note->text + no_longer_sought());
  const bool nothing_recorded = !findings_ && explain_silence(end, interrupted, report());
  if (kept) {
    for (const std::string& sentence : supervise::silent_lines(options_.watch, session_)) say(sentence);
  }
  if (options_.tell_no_race && races_ && !nothing_recorded) tell_no_race();
  // Whoever ends a program often does so because it hangs.
  const bool ended_at_work = end.signal || find_note(report().notes, analyse::kKilledAtWork) != nullptr;
  const bool told = options_.verbosity == report::Verbosity::verbose && find_note(report().notes, report::kUnfinished);
  if (!findings_ && !told && (ended_at_work || options_.hang_after)) tell_unfinished(session_, writer_.has_value());
}

void Recording::tell_removed() const {
  const std::size_t removed = writer_->removed();
  if (removed == 0) return;
  const session::Retention keep;
  say(fmt::format(
      "removed {} old session{}: {} keeps the newest {}, {} GB at most; what -o FOLDER names is never removed", removed,
      removed == 1 ? "" : "s", report::shell_word(writer_->root().folder.string()), keep.sessions,
      keep.bytes / 1'000'000'000));
}

std::string Recording::no_longer_sought() const {
  const bool hangs = options_.hang_after.has_value(), races = races_.has_value();
  if (!hangs && !races) return "";
  return fmt::format("; {}{}{} are no longer looked for", hangs ? "hangs" : "", hangs && races ? " and " : "",
                     races ? "races" : "");
}

bool Recording::keeps_session() const {
  std::error_code error;
  return writer_ && std::filesystem::is_directory(writer_->folder(), error);
}

const report::Report& Recording::report() {
  if (!report_) report_ = examine(session_);
  return *report_;
}

void Recording::drop_if_clean() {
  if (!writer_ || !open_pairs_ || !manifest_.outlived_by.empty() || options_.output || !report().findings.empty())
    return;
  writer_->discard();
  writer_.reset();
}

// Where the report has none of them.
void Recording::tell_no_race() const {
  if (!races_->found.empty() || options_.verbosity == report::Verbosity::quiet) return;
  session::RaceCounts all;
  for (const session::RaceCounts& counts : races_->counts) {
    all.operations += counts.operations;
    all.lost += counts.lost;
    all.gaps += counts.gaps;
    all.forgotten += counts.forgotten;
  }
  std::string text = "no race was found between " + report::thousands(all.operations) + " operations on streams";
  if (all.lost > 0) {
    text += "; " + report::thousands(all.lost) + " records were lost, and races across the " +
            report::thousands(all.gaps) + (all.gaps == 1 ? " gap" : " gaps") + " could not be seen";
  }
  if (all.forgotten > 0) {
    text += "; " + report::thousands(all.forgotten) + (all.forgotten == 1 ? " access" : " accesses") +
            " had to be forgotten for want of room, and races with " + (all.forgotten == 1 ? "it" : "them") +
            " could not be seen";
  }
  if (const std::string unjudged = report::unjudged_text(*races_); !unjudged.empty()) text += "; " + unjudged;
  say(text);
}

void Recording::abandon() {
  if (writer_) writer_->discard();
}

}  // namespace cudadiag::command
