#include "rerun.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "launch/arena.h"
#include "launch/isolation.h"
#include "launch/private_folders.h"
#include "launch/supervised.h"
#include "rerun_watch.h"
#include "supervise/race_watch.h"
#include "supervise/recorded_processes.h"
#include "supervise/reruns/device_pass.h"
#include "supervise/reruns/dump_request.h"
#include "supervise/tools/external_tools.h"
#include "symbolize/file_time.h"
#include "terminal.h"
#include "wire/environment.h"

namespace cudadiag::command {
namespace {

using Clock = std::chrono::steady_clock;

session::FileDescriptor input_of(const RerunSpec& spec) {
  if (spec.input != nullptr) return spec.input->again();
  return session::FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

session::FileDescriptor output_of(const RerunSpec& spec, const session::SessionWriter& writer) {
  if (spec.show) return session::FileDescriptor(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  return writer.create_file(session::kOutputFile);
}

std::string cuda_of(const session::Session& session) {
  for (const session::Process& process : session.processes) {
    const auto found = process.record.properties.find("cuda");
    if (found != process.record.properties.end()) return found->second;
  }
  return "";
}

// What one pass is started with.
struct Start {
  std::vector<std::string> command;
  std::vector<launch::Variable> variables;
  std::optional<launch::Arena> arena;  // nothing: the recorder stays out
};

Start dumping_start(const RerunSpec& spec, const session::Session& session, const std::filesystem::path& folder) {
  std::vector<launch::Variable> variables = supervise::dump_variables(folder, cuda_of(session), spec.isolated);
  if (spec.dump_after) {
    variables.push_back({"CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "1"});
    variables.push_back({"CUDA_COREDUMP_PIPE", supervise::DumpRequest::pipe_pattern(folder)});
  }
  variables.push_back({wire::environment::kPass, name_of(spec.kind)});
  return {session.manifest.command, std::move(variables), std::nullopt};
}

Start sanitized_start(const RerunSpec& spec, const session::Session& session, const std::filesystem::path& folder) {
  return {supervise::sanitizer_command(spec.sanitizer, folder / session::kSanitizerFile, spec.kernels,
                                       session.manifest.command),
          // Of the caching allocator's blocks the sanitizer sees only the large ones that they are cut from.
          {{wire::environment::kPass, name_of(spec.kind)}, {"PYTORCH_NO_CUDA_MEMORY_CACHING", "1"}},
          std::nullopt};
}

session::Result<Start> recorded_start(const RerunSpec& spec, const session::Session& session,
                                      const std::filesystem::path& folder) {
  const auto recorder = launch::find_recorder();
  if (const auto* failure = std::get_if<session::Failure>(&recorder)) return *failure;
  auto arena = launch::Arena::create();
  if (const auto* failure = std::get_if<session::Failure>(&arena)) return *failure;
  launch::RecordOptions record;
  record.python_stacks = session.manifest.python_stacks;
  record.native_stacks = session.manifest.native_stacks;
  record.races = spec.kind == RerunSpec::Kind::races;
  // The first one waits for nothing, and is to tell the line.
  if (spec.kind == RerunSpec::Kind::eager) record.markers = launch::Markers::dense;
  Start start{session.manifest.command, {}, std::move(std::get<launch::Arena>(arena))};
  start.variables =
      launch::recording_variables(std::get<std::filesystem::path>(recorder),
                                  {start.arena->path(), folder, name_of(spec.kind), spec.window, spec.values},
                                  launch::find_cupti(session.manifest.command), record);
  // Of older versions of PyTorch it is the latter.
  if (spec.kind == RerunSpec::Kind::eager) {
    for (const char* name : {"TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"}) start.variables.push_back({name, "1"});
  }
  return start;
}

session::Result<Start> start_of(const RerunSpec& spec, const session::Session& session,
                                const std::filesystem::path& folder) {
  if (spec.kind == RerunSpec::Kind::device) return dumping_start(spec, session, folder);
  if (spec.kind == RerunSpec::Kind::sanitize) return sanitized_start(spec, session, folder);
  return recorded_start(spec, session, folder);
}

// Folders of the rerun's own, and nothing else to be written.
session::Result<launch::PrivateFolders> isolate(const RerunSpec& spec, const std::filesystem::path& folder,
                                                Start& start, launch::SupervisedOptions& options) {
  auto made = launch::PrivateFolders::make(folder);
  auto* folders = std::get_if<launch::PrivateFolders>(&made);
  if (folders == nullptr) return made;
  start.variables.insert(start.variables.end(), folders->variables().begin(), folders->variables().end());
  launch::Isolation isolation = launch::usual_isolation();
  std::error_code error;
  isolation.folders = {std::filesystem::canonical(folder, error), folders->root()};
  isolation.shared_memory = std::filesystem::is_directory(launch::kSharedMemory, error);
  if (spec.kind == RerunSpec::Kind::sanitize) isolation.ports = supervise::sanitizer_ports();
  if (spec.kind == RerunSpec::Kind::device) {
    isolation.ports = supervise::core_dump_ports();
    isolation.any_interface = true;
  }
  options.isolation = std::move(isolation);
  options.remove = folders->root().string();
  return made;
}

}  // namespace

session::Result<RerunResult> rerun(const RerunSpec& spec, session::Session& session, session::SessionWriter& writer,
                                   launch::SignalRelay& relay) {
  std::error_code error;
  const std::filesystem::path directory = session.manifest.working_directory;
  if (!directory.empty() && !std::filesystem::is_directory(directory, error)) {
    return session::Failure{"the folder that it ran in no longer exists: " + directory.string(), ""};
  }
  const auto name = writer.begin_pass(name_of(spec.kind));
  if (const auto* failure = std::get_if<session::Failure>(&name)) return *failure;
  const std::filesystem::path folder = writer.pass_folder();
  auto prepared = start_of(spec, session, folder);
  if (const auto* failure = std::get_if<session::Failure>(&prepared)) return *failure;
  auto& start = std::get<Start>(prepared);
  start.variables.push_back({"WANDB_MODE", "disabled"});
  launch::Arena* arena = start.arena ? &*start.arena : nullptr;

  const session::FileDescriptor input = input_of(spec);
  const session::FileDescriptor output = output_of(spec, writer);
  if (!output.valid()) {
    return session::Failure{"cannot write " + (folder / session::kOutputFile).string(), "free some space"};
  }
  // Whose processes are the rerun's can be told by it, in a pass without the recorder too.
  const launch::Variable mark = {wire::environment::kSession, folder.string()};
  if (arena == nullptr) start.variables.push_back(mark);
  launch::SupervisedOptions options;
  options.input = input.get();
  options.output = output.get();
  options.directory = directory;
  options.arena = arena == nullptr ? -1 : arena->file();
  options.mark = mark.name + "=" + mark.value;
  std::optional<launch::PrivateFolders> folders;
  if (spec.isolated) {
    auto made = isolate(spec, folder, start, options);
    if (const auto* failure = std::get_if<session::Failure>(&made)) return *failure;
    folders.emplace(std::move(std::get<launch::PrivateFolders>(made)));
  }

  const std::vector<std::string> rewritten = symbolize::rewritten_files(session);
  const auto started = Clock::now();
  const auto started_at = std::chrono::system_clock::now().time_since_epoch();
  auto spawned = launch::Supervised::spawn(start.command, launch::environment_with(start.variables), options);
  if (const auto* failure = std::get_if<launch::SpawnFailure>(&spawned)) return failure->failure;
  auto& target = std::get<launch::Supervised>(spawned);
  std::optional<supervise::RaceWatch> races;
  if (spec.kind == RerunSpec::Kind::races)
    races.emplace(*arena, relay, folder, supervise::find_disassembler(start.command));

  RerunResult result;
  session::Pass& pass = result.pass;
  pass.name = name_of(spec.kind);
  pass.folder = std::get<std::string>(name);
  pass.waits = spec.waits;
  pass.values = !spec.values.empty();
  pass.kernels = spec.kernels;
  pass.rewritten = rewritten;
  pass.isolated = spec.isolated;
  RerunWatch watch(target, relay, arena, spec, folder);
  pass.cut_short = watch.wait();
  result.dump_asked = watch.dump_asked();
  pass.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  pass.end = target.end();
  pass.kept_from = target.kept_from();
  for (const pid_t left : target.left()) {
    say("process " + std::to_string(left) + " of the rerun could not be ended; end it yourself");
  }
  result.interrupted = relay.interrupted();
  if (races) {
    result.races = races->finish();
    const auto text = session::write_races(*result.races);
    if (const auto failure = writer.store_text(folder / session::kRaces, text)) say(*failure);
  }
  if (arena != nullptr) {
    result.processes = supervise::read_processes(arena, &writer, session);
    if (auto note = supervise::note_on_unrecorded(*arena, &writer)) session.manifest.notes.push_back(std::move(*note));
    session::attach_deliveries(folder, result.processes);
    pass.failed_after = supervise::first_freeze(result.processes, std::chrono::duration<double>(started_at).count());
    // What it showed is known and told, though it be lost to later reports.
    if (const auto failure = supervise::store_areas(*arena, writer)) say(*failure);
  } else if (spec.kind == RerunSpec::Kind::device) {
    const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(started_at).count();
    pass.dump = spec.isolated ? supervise::find_dump(folder)
                              : supervise::collect_dump(folder, session.manifest.working_directory, since);
  }
  return result;
}

}  // namespace cudadiag::command
