#include "analyse/process_ending.h"

#include <fmt/core.h>

#include <algorithm>

namespace cudadiag::analyse {

bool Ending::killed() const {
  constexpr int kFromOutside[] = {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2};
  return std::ranges::find(kFromOutside, signal) != std::end(kFromOutside);
}

Ending ending(const session::ProcessEnd& end) {
  Ending result;
  if (end.signal) {
    result.known = result.bad = true;
    result.signal = *end.signal;
    result.text = fmt::format("signal {}", *end.signal);
  } else if (end.code) {
    result.known = true;
    result.status = *end.code;
    result.bad = result.status != 0;
    result.text = fmt::format("status {}", *end.code);
  }
  return result;
}

Ending own_ending(const session::Process& process) {
  if (process.end) return ending(*process.end);
  return process.record.exit_status ? ending({process.record.exit_status, std::nullopt}) : Ending{};
}

Ending ending_of(const session::Session& session, const session::Process& process) {
  const auto& passes = session.manifest.passes;
  const Ending command = passes.empty() ? Ending{} : ending(passes.front().end);
  Ending result = own_ending(process);
  if (!result.known && !session.manifest.outlived_by.contains(process.pid)) {
    result = command;
    result.of_process = passes.empty();
  }
  result.command_succeeded = command.known && !command.bad;
  return result;
}

// A shell exits with 128 plus the signal that killed its command.
bool may_have_crashed_at_dump(const session::Session& session, const session::Process& process) {
  const Ending end = ending_of(session, process);
  const bool crashed = end.signal == SIGSEGV || (!end.of_process && end.status == 128 + SIGSEGV);
  return crashed && process.record.state == wire::area::State::recording && session::awaited_core_dump(process.record);
}

}  // namespace cudadiag::analyse
