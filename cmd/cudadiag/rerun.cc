#include "rerun.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "areas.h"
#include "device_pass.h"
#include "dump_request.h"
#include "end_target.h"
#include "launch/arena.h"
#include "launch/watcher.h"
#include "progress.h"
#include "race_watch.h"
#include "session/area_progress.h"
#include "symbolize/file_time.h"
#include "terminal.h"
#include "wire/environment.h"
#include "witnesses.h"

namespace cudadiag::command {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// So long a rerun may still end by itself once it has failed, and once it has been asked to.
constexpr auto kCourtesy = milliseconds(1000);

std::uint64_t operations_of(const launch::Arena& arena) {
  std::uint64_t operations = 0;
  for (std::size_t area = 0; area < arena.claimed(); ++area) {
    operations += session::operations_so_far(launch::LiveArea(arena, area).bytes());
  }
  return operations;
}

const char* name_of(RerunSpec::Kind kind) {
  switch (kind) {
    case RerunSpec::Kind::device:
      return "device";
    case RerunSpec::Kind::eager:
      return "eager";
    case RerunSpec::Kind::sanitize:
      return "sanitize";
    case RerunSpec::Kind::memory:
      return "memory";
    case RerunSpec::Kind::races:
      return "races";
    case RerunSpec::Kind::confirm:
      break;
  }
  return "confirm";
}

// For the progress shown.
const char* doing(RerunSpec::Kind kind) {
  switch (kind) {
    case RerunSpec::Kind::device:
      return "getting a GPU core dump";
    case RerunSpec::Kind::eager:
      return "running without torch.compile";
    case RerunSpec::Kind::sanitize:
      return "running compute-sanitizer";
    case RerunSpec::Kind::memory:
      return "asking who holds the memory";
    case RerunSpec::Kind::races:
      return "looking for the racing tensors";
    case RerunSpec::Kind::confirm:
      break;
  }
  return "confirming";
}

// Waits for the end of a target, and sees to it that there is one.
class Supervision {
 public:
  // `arena`: where its processes record; null in a pass without the recorder.
  Supervision(launch::Target& target, launch::SignalRelay& relay, launch::Arena* arena, const RerunSpec& spec,
              const std::filesystem::path& folder)
      : target_(target), relay_(relay), arena_(arena), spec_(spec) {
    if (spec.dump_after) request_.emplace(folder, *spec.dump_after);
    if (arena != nullptr) watcher_.emplace(*arena, relay);
  }

  // Why it was ended; empty if it ended by itself or had failed.
  std::string wait() {
    Progress progress(doing(spec_.kind), arena_ == nullptr ? 0 : spec_.operations, spec_.expected_seconds);
    const auto limit = Clock::now() + milliseconds(static_cast<std::int64_t>(spec_.time_limit * 1000));
    std::optional<Clock::time_point> failed_by;
    std::string reason;
    while (!target_.reap()) {
      if (request_ && !failed_by && request_->proceed()) failed_by = Clock::now() + kCourtesy;
      if (watcher_ && watcher_->take_freeze() && !failed_by) failed_by = Clock::now() + kCourtesy;
      if (relay_.interrupted()) reason = "interrupted";
      if (Clock::now() > limit && !failed_by) reason = "time limit";
      if (!reason.empty() || (failed_by && Clock::now() > *failed_by)) {
        end_target(target_, relay_, kCourtesy);
        break;
      }
      progress.show(arena_ == nullptr ? 0 : operations_of(*arena_));
      relay_.wait(200);
      relay_.take_signals();
    }
    end_what_is_left();
    return reason;
  }

  bool dump_asked() const { return request_ && request_->was_taken(); }

 private:
  // What the target has started, and what that started meanwhile.
  void end_what_is_left() {
    const auto patience = Clock::now() + kCourtesy;
    while (target_.signal_all(SIGKILL) && Clock::now() < patience) {
      relay_.wait(10);
      relay_.take_signals();
      target_.reap();
    }
  }

  launch::Target& target_;
  launch::SignalRelay& relay_;
  launch::Arena* arena_;
  const RerunSpec& spec_;
  std::optional<launch::Watcher> watcher_;
  std::optional<DumpRequest> request_;
};

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
  std::vector<launch::Variable> variables = dump_variables(folder, cuda_of(session));
  if (spec.dump_after) {
    variables.push_back({"CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "1"});
    variables.push_back({"CUDA_COREDUMP_PIPE", DumpRequest::pipe_pattern(folder)});
  }
  variables.push_back({wire::environment::kPass, name_of(spec.kind)});
  return {session.manifest.command, std::move(variables), std::nullopt};
}

Start sanitized_start(const RerunSpec& spec, const session::Session& session, const std::filesystem::path& folder) {
  return {sanitizer_command(spec.sanitizer, folder / session::kSanitizerFile, spec.kernels, session.manifest.command),
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

}  // namespace

session::Result<RerunResult> rerun(const RerunSpec& spec, session::Session& session, session::SessionWriter& writer,
                                   launch::SignalRelay& relay) {
  std::error_code error;
  const std::filesystem::path directory = session.manifest.working_directory;
  if (!directory.empty() && !std::filesystem::is_directory(directory, error)) {
    return session::Failure{"the folder that it ran in is no more: " + directory.string(), ""};
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
  launch::SpawnOptions options;
  options.apart = true;
  options.input = input.get();
  options.output = output.get();
  options.directory = directory;

  const std::vector<std::string> rewritten = symbolize::rewritten_files(session);
  const auto started = Clock::now();
  const auto started_at = std::chrono::system_clock::now().time_since_epoch();
  auto spawned = launch::Target::spawn(start.command, launch::environment_with(start.variables), options);
  if (const auto* failure = std::get_if<launch::SpawnFailure>(&spawned)) return failure->failure;
  auto& target = std::get<launch::Target>(spawned);
  std::optional<RaceWatch> races;
  if (spec.kind == RerunSpec::Kind::races) races.emplace(*arena, relay, folder, find_disassembler(start.command));

  RerunResult result;
  session::Pass& pass = result.pass;
  pass.name = name_of(spec.kind);
  pass.folder = std::get<std::string>(name);
  pass.waits = spec.waits;
  pass.values = !spec.values.empty();
  pass.kernels = spec.kernels;
  pass.rewritten = rewritten;
  Supervision supervision(target, relay, arena, spec, folder);
  pass.cut_short = supervision.wait();
  result.dump_asked = supervision.dump_asked();
  pass.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  pass.end = target.end();
  result.interrupted = relay.interrupted();
  if (races) {
    result.races = races->finish();
    const auto text = session::write_races(*result.races);
    if (const auto failure = writer.store_text(folder / session::kRaces, text)) say(*failure);
  }
  if (arena != nullptr) {
    result.processes = read_processes(arena, &writer, session);
    if (auto note = note_on_unrecorded(*arena, &writer)) session.manifest.notes.push_back(std::move(*note));
    session::attach_deliveries(folder, result.processes);
    pass.failed_after = first_freeze(result.processes, std::chrono::duration<double>(started_at).count());
    // What it showed is known and told, though it be lost to later reports.
    if (const auto failure = store_areas(*arena, writer)) say(*failure);
  } else if (spec.kind == RerunSpec::Kind::device) {
    pass.dump = collect_dump(folder, session.manifest.working_directory,
                             std::chrono::duration_cast<std::chrono::nanoseconds>(started_at).count());
  }
  return result;
}

}  // namespace cudadiag::command
