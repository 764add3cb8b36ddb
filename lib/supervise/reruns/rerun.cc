#include "supervise/reruns/rerun.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "analyse/first_failure.h"
#include "base/files.h"
#include "evidence/core_facts.h"
#include "launch/arena.h"
#include "launch/environment.h"
#include "launch/isolation/isolation.h"
#include "launch/isolation/private_folders.h"
#include "launch/libraries.h"
#include "launch/supervised_rerun.h"
#include "session/process_record.h"
#include "session/session_reader.h"
#include "supervise/hook_config.h"
#include "supervise/kernel_code.h"
#include "supervise/race_watch.h"
#include "supervise/recorded_processes.h"
#include "supervise/reruns/gpu_dumps.h"
#include "supervise/reruns/rerun_watch.h"
#include "supervise/toolkit_programs.h"
#include "symbolize/source_file.h"
#include "wire/environment.h"

namespace cudadiag::supervise {
namespace {

using Clock = std::chrono::steady_clock;
using session::PassKind;

std::string name_of(const RerunSpec& spec) { return std::string(session::word(spec.kind)); }

base::FileDescriptor input_of(const RerunSpec& spec) {
  if (spec.input != nullptr) return spec.input->again();
  return base::FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

std::string cuda_of(const session::Session& session) {
  for (const session::Process& process : session.processes) {
    if (const std::string& cuda = session::value_of(process.record, session::Property::cuda); !cuda.empty())
      return cuda;
  }
  return "";
}

// The command, variables and shared memory of one pass.
struct Start {
  std::vector<std::string> command;
  std::vector<launch::Variable> variables;
  std::optional<launch::Arena> arena;  // nullopt if the pass runs without the recorder
};

// A driver with an injection library writes no core dumps, so a recorder that expects one is preloaded.
std::vector<std::string> environment_of(const Start& start, bool dumps) {
  return start.arena && !dumps ? launch::environment_with(start.variables)
                               : launch::environment_without_injection(start.variables);
}

Start dumping_start(const RerunSpec& spec, const session::Session& session, const std::filesystem::path& folder) {
  std::vector<launch::Variable> variables = dump_variables(folder, cuda_of(session), spec.isolated);
  if (spec.dump_after) {
    variables.push_back({"CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "1"});
    variables.push_back({"CUDA_COREDUMP_PIPE", DumpRequest::pipe_pattern(folder)});
  }
  variables.push_back({wire::environment::kPass, name_of(spec)});
  return {session.manifest.command, std::move(variables), std::nullopt};
}

Start sanitized_start(const RerunSpec& spec, const session::Session& session, const std::filesystem::path& folder) {
  return {sanitizer_command(spec.sanitizer, SanitizerTool::memcheck, folder / session::kSanitizerFile, spec.kernels,
                            session.manifest.command),
          // Without this variable, the sanitizer sees only the large blocks that the caching allocator divides.
          {{wire::environment::kPass, name_of(spec)}, {"PYTORCH_NO_CUDA_MEMORY_CACHING", "1"}},
          std::nullopt};
}

// A rerun is watched in the same way as the first run, because only the same calls have the same call sites. If the
// recorder chose, it chooses alike, except that it prefers CUPTI in a run that looks for races. If its hooks saw
// nothing, the rerun needs CUPTI.
wire::WatchBy way_of_rerun(const session::Session& session) {
  const wire::WatchBy way = wire::watch_by(session.manifest.watch_by);
  if (way != wire::WatchBy::automatic) return way;
  const auto saw_nothing = [](const session::Process& process) { return analyse::hooks_saw_nothing(process.record); };
  if (std::ranges::any_of(session.processes, saw_nothing)) return wire::WatchBy::cupti;
  if (!session.races) return way;
  const bool by_cupti = std::ranges::any_of(session.processes, [](const session::Process& process) {
    return session::has(process.record, session::Property::cupti_path);
  });
  return by_cupti ? wire::WatchBy::cupti : wire::WatchBy::hooks;
}

base::Result<Start> recorded_start(const RerunSpec& spec, const session::Session& session,
                                   session::SessionWriter& writer) {
  const std::filesystem::path folder = writer.pass_folder();
  const auto recorder = launch::usable_recorder(spec.dumps);
  if (const auto* failure = std::get_if<base::Error>(&recorder)) return *failure;
  auto arena = launch::Arena::create();
  if (const auto* failure = std::get_if<base::Error>(&arena)) return *failure;
  wire::RecordOptions record;
  record.python_stacks = session.manifest.python_stacks;
  record.native_stacks = session.manifest.native_stacks;
  record.once = spec.dumps;
  record.races = spec.kind == PassKind::races;
  if (record.races) std::get<launch::Arena>(arena).keep_areas();
  // The first run already found the races with host writes, so a rerun need not look for them.
  record.host_writes = false;
  // Without a choice, the recorder uses CUPTI to find races, because only CUPTI provides the code of each kernel.
  if (!record.races) record.watch_by = way_of_rerun(session);
  // A CUPTI callback must not copy memory.
  if (spec.save_limit > 0 && !spec.dumps) record.watch_by = wire::WatchBy::hooks;
  record.save_limit = spec.save_limit;
  // The first rerun without torch.compile waits for no operations, so only dense markers can show the failing line.
  if (spec.kind == PassKind::eager) record.markers = wire::Markers::dense;
  Start start{session.manifest.command, {}, std::move(std::get<launch::Arena>(arena))};
  start.variables = launch::recording_variables(std::get<std::filesystem::path>(recorder),
                                                {start.arena->path(), folder, name_of(spec), spec.window, spec.values},
                                                launch::find_cupti(session.manifest.command), record);
  if (spec.dumps) start.variables.push_back(kShowDumpProgress);
  if (spec.seconds_for_tracing > 0) {
    auto variables = start_of_origins(spec.seconds_for_tracing, writer);
    if (const auto* failure = std::get_if<base::Error>(&variables)) return *failure;
    for (launch::Variable& variable : std::get<std::vector<launch::Variable>>(variables)) {
      if (variable.name != wire::environment::kSession) start.variables.push_back(std::move(variable));
    }
  }
  // Older versions of PyTorch read only the second variable.
  if (spec.kind == PassKind::eager) {
    for (const char* name : {"TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"}) start.variables.push_back({name, "1"});
  }
  return start;
}

base::Result<Start> tracing_start(const RerunSpec& spec, const session::Session& session,
                                  session::SessionWriter& writer) {
  auto variables = start_of_origins(spec.seconds_for_tracing, writer);
  if (const auto* failure = std::get_if<base::Error>(&variables)) return *failure;
  Start start{session.manifest.command, std::move(std::get<std::vector<launch::Variable>>(variables)), std::nullopt};
  start.variables.push_back(kUncompiled);
  start.variables.push_back({wire::environment::kPass, name_of(spec)});
  return start;
}

base::Result<Start> start_of(const RerunSpec& spec, const session::Session& session, session::SessionWriter& writer) {
  const std::filesystem::path folder = writer.pass_folder();
  if (spec.kind == PassKind::origin) return tracing_start(spec, session, writer);
  if (spec.kind == PassKind::device) return dumping_start(spec, session, folder);
  if (spec.kind == PassKind::sanitize) return sanitized_start(spec, session, folder);
  return recorded_start(spec, session, writer);
}

// Everything that is set up before the program starts and kept while it runs.
struct Prepared {
  Start start;
  base::FileDescriptor input;
  std::unique_ptr<RerunOutput> output;
  launch::SupervisedOptions options;
  std::optional<launch::PrivateFolders> folders{};
};

// Prevents the rerun from changing anything outside. It writes to overlays or, where these are impossible, only to
// private folders.
std::optional<base::Error> isolate(const RerunSpec& spec, const session::SessionWriter& writer, Prepared& prepared) {
  launch::Isolation isolation = launch::usual_isolation();
  std::error_code error;
  const std::filesystem::path pass = std::filesystem::read_symlink(base::path_through(writer.opened_pass()), error);
  isolation.folders = {pass};
  if (spec.kind == PassKind::sanitize) isolation.ports = sanitizer_ports();
  if (spec.dumps) {
    isolation.ports = core_dump_ports();
    isolation.any_interface = true;
  }
  const launch::Entry entry = spec.write_limit > 0 ? launch::entry_to_overlays() : launch::Entry::refused;
  if (entry != launch::Entry::refused) isolation.overlays = {spec.write_limit, pass, spec.hidden, {}};
  if (!isolation.overlays) {
    auto made = launch::PrivateFolders::make(writer.pass_folder(), writer.opened_pass());
    if (const auto* failure = std::get_if<base::Error>(&made)) return *failure;
    auto& folders = prepared.folders.emplace(std::move(std::get<launch::PrivateFolders>(made)));
    auto& variables = prepared.start.variables;
    variables.insert(variables.end(), folders.variables().begin(), folders.variables().end());
    prepared.options.remove = folders.opened().get();
    isolation.folders.push_back(folders.root());
  }
  isolation.shared_memory = !isolation.overlays && std::filesystem::is_directory(launch::kSharedMemory, error);
  prepared.options.isolation = std::move(isolation);
  return std::nullopt;
}

base::Result<Prepared> prepare(const RerunSpec& spec, const session::Session& session, session::SessionWriter& writer) {
  const std::filesystem::path folder = writer.pass_folder();
  auto made = start_of(spec, session, writer);
  if (const auto* failure = std::get_if<base::Error>(&made)) return *failure;
  errno = 0;
  Prepared prepared{std::move(std::get<Start>(made)), input_of(spec), nullptr, {}};
  prepared.output = spec.show ? std::make_unique<RerunOutput>(STDERR_FILENO)
                              : std::make_unique<RerunOutput>(writer.create_file(session::kOutputFile));
  if (errno == EMFILE && !(prepared.input.valid() && prepared.output->pipe().valid())) {
    return base::Error{"too few files may be open for a rerun", "raise the limit: ulimit -n"};
  }
  if (!prepared.input.valid()) {
    return base::Error{"the command's standard input cannot be copied for the rerun", "store the input in a file"};
  }
  if (!prepared.output->pipe().valid()) {
    return base::Error{spec.show ? "cannot create a pipe for the output of the rerun"
                                 : "cannot write " + (folder / session::kOutputFile).string(),
                       "free some space, or check the limits: ulimit -a"};
  }
  auto& start = prepared.start;
  start.variables.push_back({"WANDB_MODE", "disabled"});
  // This variable identifies the rerun's processes, even in a pass without the recorder.
  const launch::Variable mark = {wire::environment::kSession, folder.string()};
  const auto is_marked = [&](const launch::Variable& each) { return each.name == mark.name; };
  if (!start.arena && std::none_of(start.variables.begin(), start.variables.end(), is_marked))
    start.variables.push_back(mark);
  launch::SupervisedOptions& options = prepared.options;
  options.input = prepared.input.get();
  options.output = prepared.output->pipe().get();
  options.directory = session.manifest.working_directory;
  options.arena = start.arena ? start.arena->file() : -1;
  options.patience = std::chrono::milliseconds(std::llround(std::clamp(spec.time_limit, 1.0, 60.0) * 1000));
  options.mark = mark.name + "=" + mark.value;
  if (!spec.isolated) return prepared;
  if (auto failure = isolate(spec, writer, prepared)) return *failure;
  return prepared;
}

// Returns what is known about a pass before it runs.
session::Pass planned_pass(const RerunSpec& spec, const session::Session& session, const std::string& folder) {
  session::Pass pass;
  pass.kind = spec.kind;
  pass.folder = folder;
  pass.waits = spec.waits;
  pass.values = !spec.values.empty();
  pass.kernels = spec.kernels;
  pass.rewritten = symbolize::rewritten_files(session);
  pass.isolated = spec.isolated;
  return pass;
}

// Reads and stores the files that a rerun left.
class Leavings {
 public:
  Leavings(const RerunSpec& spec, session::Session& session, session::SessionWriter& writer, RerunListener& listener)
      : spec_(spec), session_(session), writer_(writer), listener_(listener) {}

  void take_races(RaceWatch& watch, RerunResult& result) {
    result.races = watch.finish();
    // Removes the device code now, because it may take up to 1 GiB per process.
    writer_.remove(writer_.pass_folder() / session::kModulesFolder);
    const auto file = writer_.pass_folder() / session::kRaces;
    store(writer_.store_text(file, session::write_races(*result.races)));
  }

  void take_recording(const launch::Arena& arena, RerunResult& result) {
    result.processes = read_processes(&arena, &writer_, session_);
    if (auto note = note_on_unrecorded(arena, &writer_)) session_.manifest.notes.push_back(std::move(*note));
    session::attach_hook_output(writer_.pass_folder(), result.processes);
    const double start = std::chrono::duration<double>(started_at_).count();
    result.pass.failed_after = first_freeze(result.processes, start);
    // The result is reported even if it cannot be stored. Later reports then lack it.
    store(store_areas(arena, writer_));
  }

  void take_dump(RerunResult& result) {
    const std::filesystem::path folder = writer_.pass_folder();
    const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(started_at_).count();
    result.pass.dump =
        spec_.isolated ? find_dump(folder) : collect_dump(folder, session_.manifest.working_directory, since);
    remove_pipes(folder);
  }

  void take_code(const session::Pass& pass) {
    store(store_failing_code(pass.dump, writer_, session_.manifest.command));
  }

 private:
  void store(const std::optional<base::Error>& failure) {
    if (failure) listener_.cannot({RerunProblem::Kind::not_stored, *failure});
  }

  const RerunSpec& spec_;
  session::Session& session_;
  session::SessionWriter& writer_;
  RerunListener& listener_;
  const std::chrono::system_clock::duration started_at_ = std::chrono::system_clock::now().time_since_epoch();
};

}  // namespace

base::Result<RerunResult> rerun(const RerunSpec& spec, session::Session& session, session::SessionWriter& writer,
                                launch::SignalRelay& relay, RerunListener& listener) {
  std::error_code error;
  const std::filesystem::path directory = session.manifest.working_directory;
  if (!directory.empty() && !std::filesystem::is_directory(directory, error)) {
    return base::Error{"the working folder of the program has been removed: " + directory.string(),
                       "create it again, with the files that the program reads"};
  }
  const auto name = writer.begin_pass(name_of(spec));
  if (const auto* failure = std::get_if<base::Error>(&name)) return *failure;
  if (spec.drops_launch) writer.store_text(writer.pass_folder() / session::kPassingLaunchFile, "");
  auto made = prepare(spec, session, writer);
  if (const auto* failure = std::get_if<base::Error>(&made)) return *failure;
  auto& [start, input, output, options, folders] = std::get<Prepared>(made);
  launch::Arena* arena = start.arena ? &*start.arena : nullptr;

  RerunResult result;
  session::Pass& pass = result.pass;
  pass = planned_pass(spec, session, std::get<std::string>(name));
  const auto started = Clock::now();
  Leavings leavings(spec, session, writer, listener);
  auto spawned = launch::Supervised::spawn(start.command, environment_of(start, spec.dumps), options);
  if (const auto* failure = std::get_if<launch::SpawnFailure>(&spawned)) return failure->failure;
  auto& target = std::get<launch::Supervised>(spawned);
  output->close_pipe();
  std::optional<RaceWatch> races;
  if (spec.kind == PassKind::races) {
    races.emplace(*arena, relay, writer.pass_folder(), find_disassembler(start.command));
  }
  RerunWatch watch(target, relay, arena, spec, writer.pass_folder());
  pass.cut_short = watch.wait(listener);
  output->finish();
  result.dump_asked = watch.dump_asked();
  pass.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  pass.end = target.end();
  pass.kept_from = target.kept_from();
  result.not_hidden = target.not_hidden();
  for (const pid_t left : target.left()) listener.cannot({RerunProblem::Kind::cannot_end, {}, {}, left});
  result.any_left = !target.left().empty();
  result.interrupted = relay.interrupted();
  if (races) leavings.take_races(*races, result);
  if (arena != nullptr) leavings.take_recording(*arena, result);
  if (spec.kind == PassKind::origin) session::attach_hook_output(writer.pass_folder(), result.processes);
  if (spec.dumps) {
    leavings.take_dump(result);
    leavings.take_code(result.pass);
  }
  return result;
}

}  // namespace cudadiag::supervise
