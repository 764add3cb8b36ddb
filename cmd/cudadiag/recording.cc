#include "recording.h"

#include <unistd.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>

#include "findings.h"
#include "planted_fault.h"
#include "report/json.h"
#include "session/area_reader.h"
#include "session/session_reader.h"
#include "terminal.h"
#include "wire/area.h"

namespace cudadiag::command {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string iso_time(std::time_t time) {
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

// What to do when the recorder could not begin; null for notes that do not stop it.
const char* remedy_for(const std::string& code) {
  if (code == "cupti-held") return "another profiler holds CUPTI: switch it off for this run";
  if (code == "cupti-not-found")
    return "install it (pip install nvidia-cuda-cupti) or set CUDADIAG_CUPTI to a libcupti.so";
  if (code == "cupti-refused") return "set CUDADIAG_CUPTI to a libcupti.so that is not newer than the driver";
  if (code == "driver-not-found") return "see that libcuda.so.1 can be found by its name";
  return nullptr;
}

bool failed(const session::ProcessEnd& end) { return end.signal || end.code.value_or(0) != 0; }

}  // namespace

Recording::Recording(const RunOptions& options)
    : options_(options), started_(std::chrono::steady_clock::now()), started_at_(std::chrono::system_clock::now()) {
  const std::time_t now = std::chrono::system_clock::to_time_t(started_at_);
  std::error_code ignored;
  manifest_.command = options.command;
  manifest_.working_directory = std::filesystem::current_path(ignored).string();
  manifest_.host = host_name();
  manifest_.started = iso_time(now);
  session::Pass record;
  record.name = record.folder = session::kRecordFolder;
  manifest_.passes.push_back(std::move(record));

  const auto recorder = launch::find_recorder();
  if (const auto* failure = std::get_if<session::Failure>(&recorder)) {
    say("running without recording: " + failure->what + "; " + failure->hint);
    return;
  }
  std::optional<std::filesystem::path> output;
  if (options.output) output = *options.output;
  auto writer = session::SessionWriter::create(session::roots(output), static_cast<std::uint32_t>(::getpid()), now);
  if (const auto* failure = std::get_if<session::Failure>(&writer)) {
    say("no session will be kept: " + failure->what + "; " + failure->hint);
  } else {
    writer_.emplace(std::move(std::get<session::SessionWriter>(writer)));
  }
  auto arena = launch::Arena::create();
  if (const auto* failure = std::get_if<session::Failure>(&arena)) {
    manifest_.notes.push_back(failure->what + "; " + failure->hint);
  } else {
    arena_.emplace(std::move(std::get<launch::Arena>(arena)));
  }
  if (!arena_ && !writer_) {
    say("running without recording: there is neither memory nor a folder to record to");
    return;
  }
  const auto& path = std::get<std::filesystem::path>(recorder);
  if (std::string warning = launch::replaced_injection(path); !warning.empty()) {
    say(warning);
    manifest_.notes.push_back(std::move(warning));
  }
  variables_ = launch::recording_variables(path, arena_ ? arena_->path() : "", writer_ ? writer_->pass_folder() : "",
                                           launch::find_cupti(options.command), options.record);
}

double Recording::seconds_so_far() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

std::vector<std::string> Recording::environment() const { return launch::environment_with(variables_); }

session::Session Recording::read() const {
  session::Session session;
  session.manifest = manifest_;
  if (writer_) {
    session.folder = writer_->final_folder();
    session::read_areas(writer_->foreign_areas(), session, session.processes);
  }
  for (std::size_t area = 0; arena_ && area < arena_->claimed(); ++area) {
    const launch::LiveArea live(*arena_, area);
    session::AreaContents contents = session::read_area(live.bytes());
    // An area without a magic number was claimed by a process that did not live to write it.
    if (!contents.error.empty()) continue;
    session.processes.push_back(session::describe_process(std::move(contents.record), session.manifest));
  }
  if (arena_ && arena_->turned_away() > 0) {
    session.manifest.notes.push_back(std::to_string(arena_->turned_away()) +
                                     " processes were not recorded: the memory for the recording is full");
  }
  session::sort_processes(session.processes);
  return session;
}

bool Recording::store() {
  if (!writer_) return false;
  std::optional<session::Failure> failure;
  for (std::size_t area = 0; arena_ && area < arena_->claimed() && !failure; ++area) {
    const launch::LiveArea live(*arena_, area);
    const auto contents =
        session::read_area(live.bytes().first(std::min(live.bytes().size(), wire::area::kHeaderSize)));
    if (!contents.error.empty()) continue;
    failure = writer_->store_area(area, contents.record.pid, arena_->file(), arena_->begin(area), arena_->end(area));
  }
  if (!failure) failure = writer_->store_manifest(manifest_);
  if (failure && kept_whole_) say("the session is not whole: " + failure->what + "; " + failure->hint);
  if (failure) kept_whole_ = false;
  return !failure;
}

void Recording::note_first_freeze(const session::Session& session) {
  const double start = std::chrono::duration<double>(started_at_.time_since_epoch()).count();
  std::optional<double>& failed_after = manifest_.passes.front().failed_after;
  for (const session::Process& process : session.processes) {
    const session::ProcessRecord& record = process.record;
    if (record.state != wire::area::State::frozen) continue;
    const double at = static_cast<double>(record.start_realtime) * 1e-9 + record.seconds(record.frozen_ticks) - start;
    if (!failed_after || at < *failed_after) failed_after = at;
  }
}

void Recording::tell(const report::Report& report) {
  if (report.findings.empty() && findings_) return;
  write_error_text(report::write_text(report, text_options(options_.verbosity, STDERR_FILENO)));
  for (const report::Finding& finding : report.findings) told_.insert(finding.pid);
  if (!report.findings.empty()) findings_ = true;
}

void Recording::report_freeze() {
  manifest_.passes.front().seconds = seconds_so_far();
  const session::Session session = read();
  // A process that goes on may yet handle what has failed in it: only a frozen picture is final.
  const report::Report report = examine(session, [&](const session::Process& process) {
    return process.record.state == wire::area::State::frozen && !told_.contains(process.pid);
  });
  if (report.findings.empty()) return;
  note_first_freeze(session);
  store();
  tell(report);
}

void Recording::explain_silence(const session::Session& session, const session::ProcessEnd& end) const {
  if (variables_.empty()) return;
  for (const session::Process& process : session.processes) {
    if (process.record.operations_issued > 0) continue;
    for (const session::Note& note : process.record.notes) {
      const char* remedy = remedy_for(note.code);
      if (remedy != nullptr) return say("nothing was recorded: " + note.text + "; " + remedy);
    }
  }
  if (!failed(end) || options_.verbosity == report::Verbosity::quiet) return;
  const DriverReport driver = session.processes.empty() ? ask_driver() : DriverReport{};
  if (session.processes.empty() && !driver.library_found) {
    say("the target never initialised CUDA, and could not have: this machine has no NVIDIA driver (libcuda.so.1); "
        "install it, or start the "
        "container with --gpus all");
  } else if (session.processes.empty() && !driver.problem.empty()) {
    say("the target never initialised CUDA, and could not have: " + driver.problem +
        "; see that nvidia-smi works for this user and that CUDA_VISIBLE_DEVICES names a GPU");
  } else if (session.processes.empty()) {
    say("the target never initialised CUDA, so there is nothing to report; if it should have, check the driver with "
        "cudadiag doctor, and whether the program clears its environment");
  } else {
    say("no CUDA failure was recorded");
  }
}

bool Recording::finish(const session::ProcessEnd& end, const std::map<std::uint32_t, session::ProcessEnd>& ends) {
  session::Pass& pass = manifest_.passes.front();
  pass.seconds = seconds_so_far();
  pass.end = end;
  manifest_.ends = ends;
  const session::Session session = read();
  note_first_freeze(session);
  const report::Report whole = examine(session);
  const bool clean = whole.findings.empty() && whole.verdict == analyse::Verdict::no_cuda_failure;
  if (writer_ && clean && !findings_ && !options_.output) {
    writer_->discard();
    writer_.reset();
  }
  if (writer_) {
    store();
    if (const auto failure = writer_->finish()) say(*failure);
    if (!writer_->root().warning.empty()) say(writer_->root().warning);
  }
  tell(told_.empty() ? whole
                     : examine(session, [&](const session::Process& process) { return !told_.contains(process.pid); }));
  if (!findings_) explain_silence(session, end);
  if (!options_.json.empty()) {
    std::ofstream file(options_.json, std::ios::binary | std::ios::trunc);
    file << report::write_json(whole);
    if (!file.flush()) say("cannot write the report to " + options_.json + "; check its folder and permissions");
  }
  return findings_;
}

void Recording::abandon() {
  if (writer_) writer_->discard();
}

}  // namespace cudadiag::command
