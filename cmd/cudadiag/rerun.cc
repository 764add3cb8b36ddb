#include "rerun.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "areas.h"
#include "launch/arena.h"
#include "launch/watcher.h"
#include "progress.h"
#include "session/area_reader.h"

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

// Waits for the end of a target, and sees to it that there is one.
class Supervision {
 public:
  Supervision(launch::Target& target, launch::SignalRelay& relay, launch::Arena& arena, const RerunSpec& spec)
      : target_(target), relay_(relay), arena_(arena), spec_(spec), watcher_(arena, relay) {}

  // Why it was ended; empty if it ended by itself or had failed.
  std::string wait() {
    Progress progress(spec_.name, spec_.operations);
    const auto limit = Clock::now() + milliseconds(static_cast<std::int64_t>(spec_.time_limit * 1000));
    std::optional<Clock::time_point> failed_by;
    std::string reason;
    while (!target_.reap()) {
      if (watcher_.take_freeze() && !failed_by) failed_by = Clock::now() + kCourtesy;
      if (relay_.interrupted()) reason = "interrupted";
      if (Clock::now() > limit && !failed_by) reason = "time limit";
      if (!reason.empty() || (failed_by && Clock::now() > *failed_by)) {
        end();
        break;
      }
      progress.show(operations_of(arena_));
      relay_.wait(200);
      relay_.take_signals();
    }
    target_.signal_all(SIGKILL);
    target_.reap();
    return reason;
  }

 private:
  void end() {
    target_.signal_all(SIGTERM);
    const auto patience = Clock::now() + kCourtesy;
    while (!target_.reap() && Clock::now() < patience) {
      relay_.wait(50);
      relay_.take_signals();
    }
    while (!target_.reap()) {
      target_.signal_all(SIGKILL);
      relay_.wait(50);
      relay_.take_signals();
    }
  }

  launch::Target& target_;
  launch::SignalRelay& relay_;
  launch::Arena& arena_;
  const RerunSpec& spec_;
  launch::Watcher watcher_;
};

}  // namespace

std::variant<RerunResult, session::Failure> rerun(const RerunSpec& spec, session::Session& session,
                                                  session::SessionWriter& writer, launch::SignalRelay& relay) {
  const auto recorder = launch::find_recorder();
  if (const auto* failure = std::get_if<session::Failure>(&recorder)) return *failure;
  auto created = launch::Arena::create();
  if (auto* failure = std::get_if<session::Failure>(&created)) return *failure;
  auto& arena = std::get<launch::Arena>(created);
  auto folder = writer.begin_pass(spec.name);
  if (auto* failure = std::get_if<session::Failure>(&folder)) return *failure;

  const session::FileDescriptor input =
      spec.input != nullptr ? spec.input->again() : session::FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string output_path = (writer.pass_folder() / session::kOutputFile).string();
  const session::FileDescriptor output(
      spec.show ? ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
                : ::open(output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!output.valid()) return session::Failure{"cannot write " + output_path, "free some space"};

  auto variables = launch::recording_variables(std::get<std::filesystem::path>(recorder),
                                               {arena.path(), writer.pass_folder(), spec.name, spec.window},
                                               launch::find_cupti(session.manifest.command), {});
  variables.push_back({"WANDB_MODE", "disabled"});
  launch::SpawnOptions options;
  options.apart = true;
  options.input = input.get();
  options.output = output.get();
  options.directory = session.manifest.working_directory;

  const auto started = Clock::now();
  const double started_at = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  auto spawned = launch::Target::spawn(session.manifest.command, launch::environment_with(variables), options);
  if (const auto* failure = std::get_if<launch::SpawnFailure>(&spawned)) return failure->failure;
  auto& target = std::get<launch::Target>(spawned);

  RerunResult result;
  result.pass.name = spec.name;
  result.pass.folder = std::get<std::string>(folder);
  result.pass.waits = spec.waits;
  result.pass.cut_short = Supervision(target, relay, arena, spec).wait();
  result.pass.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  result.pass.end = target.end();
  result.interrupted = relay.interrupted();
  result.processes = read_processes(&arena, &writer, session);
  result.pass.failed_after = first_freeze(result.processes, started_at);
  if (const auto failure = store_areas(arena, writer)) return *failure;
  return result;
}

}  // namespace cudadiag::command
