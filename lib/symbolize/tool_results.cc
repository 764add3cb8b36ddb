#include "symbolize/tool_results.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "evidence/core_facts.h"
#include "evidence/tool_text.h"
#include "session/process_record.h"
#include "session/session_folders.h"
#include "wire/pass_files.h"

namespace cudadiag::symbolize {
namespace {

constexpr std::uint64_t kMostText = 4u << 20;  // of a rerun's output, or of the log of compute-sanitizer

// The manifest is untrusted: a name must not lead out of the session's folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

// Describes each running kernel by the instruction at which most of its threads are.
std::vector<evidence::DumpedFailure> most_threads_of(const std::vector<evidence::RunningKernel>& kernels) {
  std::vector<evidence::DumpedFailure> all;
  for (const evidence::RunningKernel& from : kernels) {
    evidence::DumpedFailure& running = all.emplace_back();
    static_cast<evidence::DumpedKernel&>(running) = from;
    running.blocks = from.blocks;
    if (from.places.empty()) continue;
    const evidence::RunningPlace& most = from.places.front();
    running.place = most.place;
    running.block = most.block;
    running.thread = most.thread;
    running.threads = most.threads;
  }
  return all;
}

// Until the run has been reported, the name of the session's folder ends in ".incomplete".
std::filesystem::path folder_of(const session::Session& session, const session::Pass& pass) {
  return session::present_folder(session.folder) / pass.folder;
}

ToolWords debugger_words(const session::Session& session, const session::Pass& pass, const evidence::CoreFacts& core) {
  const auto file = folder_of(session, pass) / session::kDebuggerFile;
  const auto witness = evidence::debugger_check(core.failure, base::read_start(file, kDebuggerTextKept),
                                                how_it_failed(pass.debugger->end, pass.debugger->cut_short));
  return {evidence::outcome(witness), evidence::sentences(witness),
          !witness.failed.empty() || !witness.check.different.empty()};
}

void read_sanitizer(const session::Session& session, const session::Pass& pass, ToolResults& results) {
  if (!is_plain_name(pass.folder)) return;
  SanitizerResult& sanitizer = results.sanitizer.emplace();
  sanitizer.kernels = pass.kernels;
  sanitizer.log =
      evidence::sanitizer_log(base::read_start(folder_of(session, pass) / session::kSanitizerFile, kMostText));
  // compute-sanitizer exits with an error if the program fails. Its exit status matters only if its log has no error
  // count.
  if (sanitizer.log.errors) return;
  sanitizer.failed = how_it_failed(pass.end, std::string(word(pass.cut_short)));
  if (sanitizer.failed.empty()) sanitizer.failed = "it did not finish its log";
}

// Returns whether the driver printed that it began a dump (CUDA_COREDUMP_SHOW_PROGRESS), but not that it finished.
bool left_a_dump_unfinished(const std::filesystem::path& output) {
  const std::string text = base::read_start(output, kMostText);
  return text.find("coredump: Starting GPU coredump generation") != std::string::npos &&
         text.find("coredump: All done") == std::string::npos;
}

void read_dump(const session::Session& session, const session::Pass& pass, ToolResults& results) {
  results.cut_short = word(pass.cut_short);
  if (!is_plain_name(pass.folder)) return;
  if (pass.dump.empty()) {
    results.unfinished = left_a_dump_unfinished(folder_of(session, pass) / session::kOutputFile);
  }
  if (!is_plain_name(pass.dump)) return;
  const std::filesystem::path path = folder_of(session, pass) / pass.dump;
  // Reports name the path that the dump has after the run.
  results.dump = (session.folder / pass.folder / pass.dump).string();
  const auto read = evidence::read_core(path);
  if (const auto* unreadable = std::get_if<evidence::Unreadable>(&read)) {
    results.unreadable = results.dump + unreadable->what.substr(path.string().size());
    return;
  }
  const auto& core = std::get<evidence::CoreFacts>(read);
  if (pass.debugger) results.debugger = debugger_words(session, pass, core);
  if (core.failure) {
    results.failure = core.failure;
    constexpr std::size_t kMostCode = 16u << 20;
    results.code = base::read_start(folder_of(session, pass) / session::kCodeFile, kMostCode);
  } else if (!core.running.empty()) {
    results.running = most_threads_of(core.running);
  } else {
    results.unreadable = "the core dump contains no exception";
  }
}

// Each process that the driver killed, or that was asked for a dump, left its own core dump. Reads the first dump that
// has a failure completely, and only the failure from each of the others.
void read_own_dumps(const session::Session& session, ToolResults& results) {
  constexpr std::size_t kMostRead = 256;
  session::Pass pass;
  pass.kind = session::PassKind::record;
  pass.folder = session::word(pass.kind);
  std::string with_code;  // the only dump whose kernel's code the launcher stored
  if (!session.manifest.passes.empty()) {
    pass.folder = session.manifest.passes.front().folder;
    with_code = session.manifest.passes.front().dump;
  }
  if (!is_plain_name(pass.folder)) return;
  for (const session::Process& process : session.processes) {
    const bool requested = session::left_requested_dump(process.record);
    if (!requested && !session::left_core_dump(process.record)) continue;
    if (results.of_first_run.size() + results.running_in_first_run.size() == kMostRead) continue;
    pass.dump = wire::core_dump::file_name(static_cast<std::uint32_t>(process.pid), process.record.start_realtime).text;
    if (requested) {
      const auto read = evidence::read_core(folder_of(session, pass) / pass.dump);
      const auto* core = std::get_if<evidence::CoreFacts>(&read);
      if (core != nullptr) results.running_in_first_run.emplace(&process, most_threads_of(core->running));
    } else if (!results.failure) {
      results.device_pass = true;
      read_dump(session, pass, results);
      if (!results.failure) continue;
      if (pass.dump != with_code) results.code.clear();
      results.of_first_run.emplace(&process, *results.failure);
    } else {
      const auto read = evidence::read_core(folder_of(session, pass) / pass.dump);
      const auto* core = std::get_if<evidence::CoreFacts>(&read);
      if (core != nullptr && core->failure) results.of_first_run.emplace(&process, *core->failure);
    }
  }
}

}  // namespace

ToolResults tool_results(const session::Session& session) {
  ToolResults results;
  const auto& passes = session.manifest.passes;
  std::vector<const session::Pass*> reruns;
  for (std::size_t i = passes.size(); i-- > 1;) reruns.push_back(&passes[i]);
  const auto is_for_dump = [](const session::Pass* pass) {
    return pass->kind == session::PassKind::device || !pass->dump.empty();
  };
  const auto last = std::ranges::find_if(reruns, is_for_dump);
  if (last != reruns.end()) std::rotate(reruns.begin(), last, last + 1);
  read_own_dumps(session, results);
  if (last != reruns.end() && results.of_first_run.empty()) {
    auto running = std::move(results.running_in_first_run);
    results = {};
    results.running_in_first_run = std::move(running);
    results.device_pass = true;
    read_dump(session, *reruns.front(), results);
  }
  for (const session::Pass* pass : reruns) {
    if (pass->kind == session::PassKind::sanitize && !results.sanitizer) read_sanitizer(session, *pass, results);
    // An eager pass runs without torch.compile and so with different kernels. Ignore its assertions.
    if (!is_plain_name(pass->folder) || pass->kind == session::PassKind::eager) continue;
    auto assertions = evidence::read_assertions(folder_of(session, *pass) / session::kOutputFile);
    if (!assertions.empty()) results.printed.push_back({pass->folder, std::move(assertions)});
  }
  return results;
}

std::string how_it_failed(const session::ProcessEnd& end, const std::string& cut_short) {
  if (!cut_short.empty()) return cut_short;
  if (end.signal) return "signal " + std::to_string(*end.signal);
  if (!end.code) return "its end is unknown";
  return *end.code == 0 ? "" : "status " + std::to_string(*end.code);
}

}  // namespace cudadiag::symbolize
