#include "supervise/reruns/replay.h"

#include <algorithm>
#include <string_view>

#include "session/notes/saved_call.h"
#include "session/processes.h"
#include "supervise/tools/toolkit.h"

namespace cudadiag::supervise {
namespace {

constexpr std::size_t kOutputKept = 64u << 10;

}  // namespace

std::optional<RerunProblem> replay(session::Session& session, session::SessionWriter& writer,
                                   const analyse::Analysis& analysis, std::chrono::milliseconds patience,
                                   launch::SignalRelay& relay) {
  using Kind = RerunProblem::Kind;
  const auto confirmed = std::find_if(analysis.failures.begin(), analysis.failures.end(),
                                      [](const analyse::Failure& failure) { return failure.again_process != nullptr; });
  if (confirmed == analysis.failures.end()) return RerunProblem{Kind::nothing_confirmed};
  session::Pass* pass = session::rerun_of(session, confirmed->again_process);
  if (pass == nullptr) return std::nullopt;
  const auto folder = session::saved_call_folder(session.folder / pass->folder, confirmed->again_process->pid);
  const auto call = session::read_saved_call(folder);
  if (!call) return RerunProblem{Kind::nothing_saved};
  const auto place = session::saved_call_folder(writer.folder() / pass->folder, confirmed->again_process->pid);
  if (const auto failure = writer.store_text(place / session::kReplayScriptFile, kReplayScript)) {
    return RerunProblem{Kind::not_stored, *failure};
  }
  const ToolRun run = run_tool({call->python, (folder / session::kReplayScriptFile).string()}, patience, relay);
  if (!run.obstacle.empty()) return RerunProblem{Kind::replay_not_started, {run.obstacle, ""}};
  writer.store_text(place / session::kOutputFile, std::string_view(run.output).substr(0, kOutputKept));
  pass->replay = session::Witness{run.end, run.cut_short, run.seconds};
  if (const auto failure = writer.store_manifest(session.manifest)) return RerunProblem{Kind::not_stored, *failure};
  return std::nullopt;
}

}  // namespace cudadiag::supervise
