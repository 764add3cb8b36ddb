#include "supervise/recording.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <utility>

#include "analyse/error_codes.h"
#include "analyse/notes.h"
#include "base/files.h"
#include "base/processes.h"
#include "launch/libraries.h"
#include "launch/spawn.h"
#include "session/full_log.h"
#include "session/process_record.h"
#include "session/session.h"
#include "session/session_reader.h"
#include "session/session_trust.h"
#include "supervise/kernel_code.h"
#include "supervise/recorded_processes.h"
#include "supervise/reruns/gpu_dumps.h"
#include "supervise/reruns/rerun_policy.h"
#include "supervise/toolkit_programs.h"
#include "wire/cuda_codes.h"
#include "wire/environment.h"
#include "wire/pass_files.h"

namespace cudadiag::supervise {
namespace {

constexpr const char* kInnerLauncher = "launcher";  // an empty file in the folder of the outer launcher's pass

bool found_no_memory(const session::Process& process) {
  const auto& errors = process.record.errors;
  return std::ranges::any_of(
      errors, [](const session::FailedCall& error) { return error.code == wire::cuda::kMemoryAllocation; });
}

// If processes ran out of device memory, adds all processes on the same devices to the manifest.
void add_gpu_processes(session::Session& session) {
  std::set<std::string> devices;
  for (const session::Process& process : session.processes) {
    if (!found_no_memory(process)) continue;
    for (std::size_t i = 0; !session::pci_bus_id(process.record, i).empty(); ++i) {
      devices.insert(session::pci_bus_id(process.record, i));
    }
  }
  for (const std::string& device : devices) {
    std::ranges::move(launch::gpu_processes(device), std::back_inserter(session.manifest.gpu_processes));
  }
}

session::Manifest first_manifest(const RecordingOptions& options, std::time_t now) {
  session::Manifest manifest;
  std::error_code ignored;
  manifest.command = options.command;
  manifest.options = options.options;
  manifest.rerun_options = options.rerun_options;
  manifest.working_directory = std::filesystem::current_path(ignored).string();
  manifest.host = base::host_name();
  manifest.ranks = ranks_of_job();
  manifest.code_rules = options.code_rules;
  manifest.python_stacks = options.record.python_stacks;
  manifest.native_stacks = options.record.native_stacks;
  // Reruns must be watched in the same way: only the same calls have the same call sites.
  manifest.watch_by = wire::word(wire::way_of(options.record));
  manifest.started = session::iso_time(now);
  session::Pass record;
  record.kind = session::PassKind::record;
  record.folder = session::kRecordFolder;
  manifest.passes.push_back(std::move(record));
  return manifest;
}

// Returns whether a CUDA runtime is linked into the executable, as nvcc does by default. Every runtime can print the
// name of this error.
bool has_runtime(const std::filesystem::path& executable) {
  std::error_code error;
  const base::FileDescriptor file = base::open_plain(std::filesystem::canonical(executable, error));
  const std::size_t size = file.valid() ? base::size_of(file) : 0;
  void* const bytes = size == 0 ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (bytes == MAP_FAILED) return false;
  const std::string_view name = analyse::cuda_error(wire::cuda::kLaunchMaxDepthExceeded).runtime_name;
  const bool found = std::string_view(static_cast<const char*>(bytes), size).find(name) != std::string_view::npos;
  ::munmap(bytes, size);
  return found;
}

}  // namespace

Recording::Recording(const RecordingOptions& options)
    : options_(options), started_(std::chrono::steady_clock::now()), started_at_(std::chrono::system_clock::now()) {
  const std::time_t now = std::chrono::system_clock::to_time_t(started_at_);
  session_.manifest = first_manifest(options, now);
  if (!options.runs_python()) find_recorder();
  if (!refusal_) open_places(now);
  if (refusal_) return;
  tell_outer_launcher();
  options_.runs_python() ? choose_python_variables() : choose_variables();
}

void Recording::tell_outer_launcher() {
  const char* folder = std::getenv(wire::environment::kSession);
  // `cudadiag env` sets no arena.
  if (folder == nullptr || *folder != '/' || std::getenv(wire::environment::kArena) == nullptr) return;
  const std::filesystem::path file = std::filesystem::path(folder) / kInnerLauncher;
  const base::FileDescriptor made(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

void Recording::open_places(std::time_t now) {
  open_folder(now);
  if (refusal_) return;
  open_memory();
  // Ignores a failure: commands such as `cudadiag status` then report that they cannot inspect the run.
  if (arena_ && writer_) writer_->store_live_place(arena_->place(), session_.manifest);
}

void Recording::open_folder(std::time_t now) {
  auto writer =
      session::SessionWriter::create(session::roots(options_.output), static_cast<std::uint32_t>(::getpid()), now);
  if (auto* failure = std::get_if<base::Error>(&writer)) {
    (options_.output ? refusal_ : no_session_) = std::move(*failure);
  } else {
    writer_.emplace(std::move(std::get<session::SessionWriter>(writer)));
  }
}

void Recording::open_memory() {
  auto arena = launch::Arena::create();
  const auto* failure = std::get_if<base::Error>(&arena);
  if (failure == nullptr) {
    arena_.emplace(std::move(std::get<launch::Arena>(arena)));
    // The log and the search for races follow each area from its beginning to its end.
    if (options_.full_log || options_.record.races) arena_->keep_areas();
  } else if (!launch::fits_in_files()) {
    session_.manifest.unrecorded = failure->what + "; " + failure->hint;
  } else if (writer_) {
    session_.manifest.notes.push_back(failure->what + "; " + failure->hint);
  } else {
    session_.manifest.unrecorded = failure->what + ", and no folder to record to was found; choose one with -o FOLDER";
  }
}

void Recording::choose_python_variables() {
  if (!writer_) {
    refusal_ = no_session_;
    return;
  }
  auto variables = options_.nans ? start_of_nans(*options_.nans, *writer_) : start_of_tensor_races(*writer_);
  if (auto* failure = std::get_if<base::Error>(&variables)) {
    refusal_ = std::move(*failure);
  } else {
    variables_ = std::move(std::get<std::vector<launch::Variable>>(variables));
  }
}

void Recording::find_recorder() {
  auto recorder = launch::usable_recorder(options_.record.once);
  const auto* failure = std::get_if<base::Error>(&recorder);
  if (failure == nullptr) {
    recorder_ = std::move(std::get<std::filesystem::path>(recorder));
  } else if (::access("/proc/self", F_OK) == 0) {
    refusal_ = *failure;
  } else {
    session_.manifest.unrecorded = failure->what + "; " + failure->hint;
  }
}

void Recording::choose_variables() {
  if (!session_.manifest.unrecorded.empty()) return;
  const std::filesystem::path& path = recorder_;
  if (options_.record.nccl) {
    if (const auto fault = launch::fault_in_profiler(path)) {
      warnings_.push_back("running without NCCL's profiler plugin: " + fault->what + "; " + fault->hint);
    }
  }
  const std::string dropped = launch::dropped_injection(path);
  if (!dropped.empty()) warnings_.push_back(dropped);
  if (options_.record.once && has_runtime(launch::find_command(options_.command.front()).path)) {
    warnings_.push_back("--once does not see errors that the CUDA runtime in " + options_.command.front() +
                        " keeps to itself, such as a launch with too many threads; without --once, cudadiag does");
  }
  session_.manifest.notes.insert(session_.manifest.notes.end(), warnings_.begin(), warnings_.end());
  wire::RecordOptions record_options = options_.record;
  // Races are found in the arena while the target runs. Without an arena, the launcher reads the recording only after
  // the target has ended.
  if (!arena_) record_options.races = false;
  if (arena_ && writer_) disassembler_ = find_disassembler(options_.command);
  record_options.code = !disassembler_.empty();
  variables_ = launch::recording_variables(path,
                                           {arena_ ? arena_->path() : "", writer_ ? writer_->pass_folder() : "",
                                            "record", options_.window, watched_lines(options_.watch)},
                                           launch::find_cupti(options_.command), record_options);
  if (options_.graph_memory) add_graph_memory();
}

void Recording::add_graph_memory() {
  if (!writer_) {
    refusal_ = no_session_;
    return;
  }
  auto started = start_of_graph_memory(recorder_, *writer_);
  if (auto* failure = std::get_if<base::Error>(&started)) {
    refusal_ = std::move(*failure);
    return;
  }
  for (launch::Variable& each : std::get<std::vector<launch::Variable>>(started)) {
    const bool known = std::ranges::any_of(variables_, [&](const auto& other) { return other.name == each.name; });
    if (!known) variables_.push_back(std::move(each));
  }
}

double Recording::seconds_so_far() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

std::vector<std::string> Recording::environment() const {
  return options_.record.once ? launch::environment_without_injection(variables_)
                              : launch::environment_with(variables_);
}

void Recording::read() {
  session_.manifest.passes.front().seconds = seconds_so_far();
  read_areas();
}

diagnose::SessionState& Recording::state() {
  if (!state_) state_.emplace(session_);
  return *state_;
}

void Recording::read_areas() {
  state_.reset();
  session::Manifest manifest = std::move(session_.manifest);
  session_ = {};
  session_.manifest = std::move(manifest);
  session_.whole = session_.manifest.whole;
  if (writer_) session_.folder = writer_->final_folder();
  session_.races = races_;
  session_.processes = read_processes(arena(), writer(), session_);
  if (writer_ && options_.full_log) session::attach_logs(writer_->pass_folder(), session_.processes);
  if (writer_ && (options_.runs_python() || options_.graph_memory || !options_.watch.empty()))
    session::attach_hook_output(writer_->pass_folder(), session_.processes);
  const double start = std::chrono::duration<double>(started_at_.time_since_epoch()).count();
  session::Pass& pass = session_.manifest.passes.front();
  pass.failed_after = first_freeze(session_.processes, start);
  if (xids_ != nullptr && pass.failed_after)
    std::ranges::move(xids_->take(), std::back_inserter(session_.manifest.notes));
  add_kernel_code();
}

void Recording::add_kernel_code() {
  // A GPU core dump contains the code, too.
  const auto has_dump = [](const session::Process& process) { return session::left_core_dump(process.record); };
  if (!writer_ || disassembler_.empty() || std::ranges::any_of(session_.processes, has_dump)) return;
  std::vector<std::string> kernels = suspected_kernels(state());
  if (kernels.empty()) return;
  state_->advance();
  const bool is_read = kernels == read_kernels_;
  if (!is_read) kernel_code_ = code_of(kernels, writer_->pass_folder() / session::kModulesFolder, disassembler_);
  read_kernels_ = std::move(kernels);
  session_.kernel_code = kernel_code_;
  if (is_read) return;
  auto failure =
      writer_->store_text(writer_->pass_folder() / session::kKernelCodeFile, session::write_kernel_code(kernel_code_));
  if (failure) not_stored_ = std::move(failure);
}

void Recording::read_hang(double seconds, launch::SignalRelay& relay) {
  session_.manifest.hang = seconds;
  session_.manifest.host_stacks.clear();
  read();
  for (const session::Process& process : session_.processes) {
    if (base::has_ended(process.pid)) session_.manifest.ended_before_hang.insert(process.pid);
    std::ranges::move(host_stacks(process), std::back_inserter(session_.manifest.host_stacks));
  }
  if (may_be_dumped()) {
    if (!is_being_dumped()) request_dump(writer_->pass_folder(), relay);
    take_own_dump();
    read_areas();
  }
  if (state_) state_->advance();
}

void Recording::read_host_stacks() {
  if (session_.manifest.hang || !session_.manifest.host_stacks.empty() || arena() == nullptr) return;
  session::Session session;
  for (const session::Process& process : read_processes(arena(), nullptr, session)) {
    if (process.rank) std::ranges::move(host_stacks(process), std::back_inserter(session_.manifest.host_stacks));
  }
}

void Recording::note_stalls(const StallNews& news) {
  session_.manifest.stalls.insert(session_.manifest.stalls.end(), news.found.begin(), news.found.end());
  for (const StallNews::Ended& ended : news.ended) session_.manifest.stalls.at(ended.stall).ended_after = ended.seconds;
}

void Recording::read_stalls(const StallNews& news) {
  note_stalls(news);
  if (!news.found.empty()) {
    session_.manifest.host_stacks.clear();
    read_host_stacks();
  }
  read();
}

void Recording::note_unreached(const std::string& what) {
  void_ = true;
  if (!session_.manifest.unrecorded.empty()) return;  // no process is recorded, and the reason is known
  session_.manifest.notes.push_back(what);
  session_.manifest.whole = false;
}

bool Recording::is_void() const {
  return void_ || !session_.manifest.unrecorded.empty() || (options_.runs_python() && session_.processes.empty()) ||
         std::ranges::any_of(session_.processes, analyse::is_unrecorded);
}

void Recording::note_failures(std::vector<base::Error> failures) {
  for (const base::Error& failure : failures) session_.manifest.notes.push_back(failure.what);
  failures_ = std::move(failures);
}

bool Recording::is_being_dumped() {
  if (!may_be_dumped()) return false;
  read();
  return std::ranges::any_of(session_.processes, [&](const session::Process& process) {
    const auto dump = wire::core_dump::file_name(process.pid, process.record.start_realtime);
    std::error_code error;
    return session::awaited_core_dump(process.record) &&
           std::filesystem::exists(writer_->pass_folder() / dump.text, error);
  });
}

bool Recording::is_ended_by_driver() {
  if (!options_.record.once || !arena_) return false;
  read();
  return std::ranges::any_of(session_.processes, [&](const session::Process& process) {
    return session::left_core_dump(process.record) && session::is_held_by(arena_->place(), process.pid);
  });
}

void Recording::take_own_dump() {
  if (!may_be_dumped()) return;
  session::Pass& pass = session_.manifest.passes.front();
  pass.dump = find_dump(writer_->pass_folder());
  if (auto failure = store_failing_code(pass.dump, *writer_, options_.command)) not_stored_ = std::move(failure);
}

void Recording::note_end(const RunEnd& end) {
  session::Pass& pass = session_.manifest.passes.front();
  pass.seconds = seconds_so_far();
  pass.end = end.end;
  session_.manifest.ends = end.ends;
  if (arena_) {
    if (auto note = note_on_unrecorded(*arena_, writer())) unrecorded_.push_back(std::move(*note));
  }
  if (auto note = left_unrecorded(arena(), writer())) unrecorded_.push_back(std::move(*note));
  for (const std::string& note : unrecorded_) note_unreached(note);
  session_.manifest.outlived_by = {end.outliving.begin(), end.outliving.end()};
  session_.manifest.asked_to_end = end.interrupted;
  // Once a hanging program has been asked to terminate, its actions say nothing about the hang.
  if (!session_.manifest.hang) read_areas();
  // A process that started after the end of the command records to a file.
  for (const session::Process& process : session_.processes) {
    const bool goes_on = writer_ && session::lives(writer_->folder(), process.record).value_or(false);
    if (goes_on) session_.manifest.outlived_by.insert(process.pid);
  }
  if (may_be_dumped()) remove_pipes(writer_->pass_folder());
  std::error_code error;
  holds_launcher_ = writer_ && std::filesystem::remove(writer_->pass_folder() / kInnerLauncher, error);
  // The images are not read after this, and they may be large.
  if (writer_) writer_->remove(writer_->pass_folder() / session::kModulesFolder);
  add_gpu_processes(session_);
  if (state_) state_->advance();
  store_created();
}

void Recording::store_created() {
  if (!beginning_ || !writer_ || (state().analysis().failures.empty() && !races_)) return;
  const FolderSnapshot::Since since = beginning_->since(session_);
  const std::string text = written(since);
  if (text.empty()) return;
  auto failure = writer_->store_text(writer_->pass_folder() / session::kCreatedFile, text);
  if (failure) not_stored_ = std::move(failure);
}

std::optional<base::Error> Recording::store_recording() {
  std::optional<base::Error> failure;
  if (arena_) failure = store_areas(*arena_, *writer_);
  if (!failure && races_) failure = writer_->store_races(*races_);
  return failure;
}

std::optional<base::Error> Recording::store_manifest() {
  session::Manifest manifest = session_.manifest;
  if (not_stored_) {
    manifest.notes.push_back("the session is incomplete: " + not_stored_->what);
    manifest.whole = false;
  }
  auto failure = writer_->store_manifest(manifest);
  const session::ProcessEnd& end = manifest.passes.front().end;
  if (!failure || !(end.code || end.signal)) return failure;
  // The target has ended, so other processes need not find the recording in memory any more.
  writer_->drop_live_place();
  return writer_->store_manifest(manifest);
}

Stored Recording::store() {
  Stored stored;
  not_stored_ = store_recording();
  if (not_stored_ && writer_->lacks_room() && full_log_ != nullptr) {
    stored.given_up = full_log_->give_up();
    for (const base::Error& given_up : stored.given_up) session_.manifest.notes.push_back(given_up.what);
    not_stored_ = store_recording();
  }
  auto failure = store_manifest();
  if (not_stored_) failure = not_stored_;
  if (failure && whole_) stored.loss = failure;
  if (failure) whole_ = false;
  return stored;
}

Stored Recording::store_last() {
  if (!session_.manifest.hang) return store();
  // The recording was already stored when the hang was found.
  store_manifest();
  return {};
}

std::optional<base::Error> Recording::close(const session::Retention& retention) {
  auto failure = writer_->finish(retention);
  const bool is_first = failure && whole_;
  if (failure) whole_ = false;
  return is_first ? failure : std::nullopt;
}

void Recording::discard() {
  if (writer_) writer_->discard();
  writer_.reset();
  if (state_) state_->folder_removed();
}

bool Recording::keeps_session() const {
  std::error_code error;
  return writer_ && std::filesystem::is_directory(writer_->folder(), error);
}

}  // namespace cudadiag::supervise
