#include "diagnose/status.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyse/analysis.h"
#include "analyse/process_ending.h"
#include "base/text.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/line_resolver.h"
#include "diagnose/words.h"
#include "session/process_record.h"

namespace cudadiag::diagnose {
namespace {

using analyse::StreamWait;
using session::Operation;
using session::Process;
using wire::operation::MemoryOperation;

// The maximum number of operations of a stream to resolve and show.
constexpr std::size_t kShown = 16;
constexpr std::size_t kUnfinishedColumns = 40;

class StatusBuilder {
 public:
  // `failed`: a failure whose operation is proven; null if there is none.
  StatusBuilder(const Process& process, const analyse::Failure* failed, symbolize::Symbolizer& symbolizer,
                const std::string& directory)
      : process_(process), record_(process.record), failed_(failed), symbolizer_(symbolizer), directory_(directory) {}

  ProcessStatus build() {
    ProcessStatus status;
    status.pid = process_.pid;
    status.rank = process_.rank;
    status.argv = process_.argv;
    status.state = record_.state;
    status.operations = record_.operations_issued;
    status.errors = record_.error_count;
    if (!record_.operations.empty()) status.idle = since(record_.operations.back().ticks);
    const analyse::UnfinishedWork work = analyse::unfinished_work(record_);
    for (analyse::UnfinishedStream stream : work.streams) {
      const auto& candidates = stream.candidates;
      const Operation* operation = failed_ == nullptr ? nullptr : failed_->candidates.front().operation;
      const bool proven = std::ranges::find(candidates, operation) != candidates.end();
      if (proven) {
        stream.candidates = {operation};
        stream.missing = 0;
        stream.waits.clear();
        stream.behind.clear();
      }
      status.streams.push_back(of(stream));
      if (proven) status.streams.back().known_by = failed_->evidence.basis();
    }
    for (const analyse::WaitingThread& thread : work.threads) status.calls.push_back(of(thread));
    return status;
  }

 private:
  std::optional<double> since(std::uint64_t ticks) const {
    if (record_.seconds_per_tick == 0 || record_.clock_last < ticks) return std::nullopt;
    return record_.seconds(record_.clock_last) - record_.seconds(ticks);
  }

  UnfinishedOperation of(const Operation& operation, const analyse::UnfinishedStream& stream) const {
    UnfinishedOperation open;
    open.operation = work_of(operation);
    const ResolvedSite site = resolve(symbolizer_, process_, operation.site);
    if (!site.mangled.empty()) open.kernel = base::demangle(site.mangled);
    open.location = located(site.line.location);
    open.ordinal = operation.ordinal;
    if (operation.site_ordinal != 0) open.site_ordinal = operation.site_ordinal;
    open.seconds = since(operation.ticks);
    open.candidate = std::ranges::find(stream.candidates, &operation) != stream.candidates.end();
    return open;
  }

  // Returns the last ordinal that the shown operations or the candidates cover. Later operations are only counted.
  static std::uint32_t last_told(const analyse::UnfinishedStream& stream,
                                 const std::vector<const session::Operation*>& shown) {
    if (shown.empty()) return stream.proven() ? stream.bound : stream.stream->issued;
    if (shown.size() > kShown) return shown[kShown - 1]->ordinal;
    return stream.candidates.empty() ? shown.back()->ordinal : std::max(shown.back()->ordinal, stream.bound);
  }

  OpenStream of(const analyse::UnfinishedStream& stream) const {
    OpenStream open;
    open.name = analyse::stream_phrase(*stream.stream);
    open.handle = stream.stream->handle;
    open.device = session::device_of(record_, stream.stream->context);
    open.issued = stream.stream->issued;
    open.completed = stream.completed;
    open.proven = stream.proven();
    open.known_by = known_by(stream);
    open.candidates = static_cast<std::uint32_t>(stream.candidates.size());
    open.missing = stream.missing;
    for (const std::uint32_t other : stream.behind) {
      open.may_wait_for.push_back(analyse::stream_phrase(record_.streams[other]));
    }
    // If the stream has candidates, shows only those.
    const auto& shown = stream.candidates.empty() ? stream.operations : stream.candidates;
    for (std::size_t i = 0; i < std::min(shown.size(), kShown); ++i) open.operations.push_back(of(*shown[i], stream));
    const std::uint32_t told = last_told(stream, shown);
    const auto refused = std::ranges::count_if(stream.refused, [&](std::uint32_t ordinal) { return ordinal > told; });
    // In a damaged recording, more operations may seem refused than were issued.
    const std::uint32_t behind = open.issued > told ? open.issued - told : 0;
    open.more = behind - std::min(behind, static_cast<std::uint32_t>(refused));
    for (const StreamWait& wait : stream.waits) {
      if (open.waits.size() == kShown) break;
      open.waits.push_back({wait.what, wait.operation->ordinal, wait_text(process_, wait, symbolizer_, directory_)});
    }
    return open;
  }

  OpenCall of(const analyse::WaitingThread& waiting) const {
    OpenCall open;
    const session::Thread::Blocked& blocked = waiting.thread->blocked;
    open.tid = waiting.thread->tid;
    open.thread = waiting.thread->name;
    open.call = session::visible_call(blocked);
    if (open.call.empty() && waiting.operation != nullptr) {
      open.call = "a call that issues " + with_article(word(work_of(*waiting.operation)));
    }
    if (waiting.stream) {
      open.waits_for = analyse::stream_phrase(record_.streams[*waiting.stream]);
    } else if (blocked.wait == wire::thread::Wait::context) {
      open.waits_for = "all streams of its context";
    }
    open.seconds = since(waiting.since);
    ResolvedSite site = resolve(symbolizer_, process_, waiting.site);
    open.location = located(site.line.location);
    open.stack = std::move(site.stack);
    return open;
  }

  const Process& process_;
  const session::ProcessRecord& record_;
  const analyse::Failure* failed_;
  symbolize::Symbolizer& symbolizer_;
  const std::string& directory_;
};

std::string issued_at(const Process& process, const Operation& operation, symbolize::Symbolizer& symbolizer,
                      const std::string& directory) {
  if (operation.site == 0) return "";
  return place(located(resolve(symbolizer, process, operation.site).line.location), directory);
}

// Returns the working directory that the launcher recorded or, without a launcher, the directory of the first process.
std::string directory_of(const session::Session& session) {
  if (!session.manifest.working_directory.empty() || session.processes.empty()) {
    return session.manifest.working_directory;
  }
  return session::value_of(session.processes.front().record, session::Property::cwd);
}

// Returns the failure whose operation is proven; null if there is none, or if it is unknown which call on the line
// failed.
const analyse::Failure* proven_of(const analyse::Analysis& analysis, const Process& process) {
  for (const analyse::Failure& failure : analysis.failures) {
    const bool failed = analyse::is_asynchronous(failure.kind) && failure.code != 0 && failure.process == &process;
    const bool proven = failed && failure.evidence.proves() && !failure.call_not_known;
    if (proven && failure.candidates.size() == 1) return &failure;
  }
  return nullptr;
}

}  // namespace

analyse::Fact known_by(const analyse::UnfinishedStream& stream) {
  if (!stream.proven()) return analyse::Fact::rule;
  const bool one = stream.candidates.size() == 1 && stream.missing == 0 && stream.behind.empty();
  return one ? analyse::Fact::one_running : analyse::Fact::several_running;
}

std::string wait_text(const Process& process, const StreamWait& wait, symbolize::Symbolizer& symbolizer,
                      const std::string& directory) {
  const Operation& operation = *wait.operation;
  const auto stream = [&](const Operation& of) { return analyse::stream_phrase(process.record.streams[of.stream]); };
  if (wait.what == StreamWait::For::semaphore) {
    return fmt::format("for the external semaphore {:#x}", operation.argument);
  }
  if (wait.what == StreamWait::For::stream) {
    return fmt::format("for the event that operation {} of {} records", wait.recorded->ordinal, stream(*wait.recorded));
  }
  constexpr base::Words<MemoryOperation, 4> kComparisons = {{
      {MemoryOperation::wait_equal, "equals"},
      {MemoryOperation::wait_at_least, "is at least"},
      {MemoryOperation::wait_and, "has a bit in common with"},
      {MemoryOperation::wait_nor, "has a zero bit in common with"},
  }};
  const std::string_view compared = base::word_of(kComparisons, operation.memory_operation, "has the value");
  const std::string text = fmt::format("until the word at {:#x} {} {}", operation.argument, compared, operation.value);
  if (wait.write == nullptr) return text + "; no stream has queued a write to it";
  return fmt::format("{}; {} has queued a write to it ({})", text, stream(*wait.write),
                     issued_at(process, *wait.write, symbolizer, directory));
}

Status build_status(const session::Session& session, const analyse::Analysis& analysis, std::optional<bool> goes_on,
                    symbolize::Symbolizer& symbolizer) {
  Status status;
  status.goes_on = goes_on;
  status.session = session.folder.string();
  status.working_directory = directory_of(session);
  status.command = session.manifest.command;
  status.notes = session.manifest.notes;
  status.unrecorded = session.manifest.unrecorded;
  if (!status.unrecorded.empty()) status.notes.push_back("the program was not recorded: " + status.unrecorded);
  for (const analyse::Note& note : analysis.notes) {
    if (note.code == analyse::NoteCode::outlived) status.notes.push_back(note.text);
  }
  for (const Process& process : session.processes) {
    const analyse::Failure* proven = proven_of(analysis, process);
    status.processes.push_back(StatusBuilder(process, proven, symbolizer, status.working_directory).build());
    status.processes.back().outlived = session.manifest.outlived_by.contains(process.pid);
    const session::ProcessRecord& record = process.record;
    status.crashed_at_dump = status.crashed_at_dump || analyse::may_have_crashed_at_dump(session, process);
    // The recording ends at the freeze, so it does not show how long the process continued.
    if (record.clock_last == 0 || (goes_on.value_or(false) && record.state == wire::area::State::frozen)) continue;
    const double seconds = record.seconds(record.clock_last);
    if (!status.seconds || seconds > *status.seconds) status.seconds = seconds;
    status.since_cuda = true;
  }
  if (!goes_on.value_or(false)) {
    const auto& passes = session.manifest.passes;
    if (!passes.empty()) {
      status.seconds = passes.front().seconds;
      status.since_cuda = false;
    }
    // A session recorded without a launcher is never marked as complete.
    status.whole = session.whole || (passes.empty() && !status.processes.empty());
  }
  if (status.command.empty() && !status.processes.empty()) status.command = status.processes.front().argv;
  return status;
}

std::optional<OldestWork> oldest_work(const Status& status, std::optional<std::uint32_t> pid) {
  const OpenStream* longest = nullptr;
  double seconds = 0;
  for (const ProcessStatus& process : status.processes) {
    if (pid && *pid != process.pid) continue;
    for (const OpenStream& stream : process.streams) {
      if (process.outlived || !stream.proven || stream.operations.empty()) continue;
      const double open = stream.operations.front().seconds.value_or(0);
      if (longest != nullptr && open <= seconds) continue;
      longest = &stream;
      seconds = open;
    }
  }
  if (longest == nullptr) return std::nullopt;
  const UnfinishedOperation& oldest = longest->operations.front();
  const std::string what = oldest.kernel.empty() ? with_article(word(oldest.operation))
                                                 : short_kernel_name(oldest.kernel, kUnfinishedColumns);
  const std::string others =
      longest->candidates > 1 ? fmt::format(" (or one of {} after it)", longest->candidates - 1) : "";
  return OldestWork{
      fmt::format("{} at {}{}", base::printable(what), place(oldest.location, status.working_directory), others),
      seconds};
}

std::string unfinished_text(const Status& status) {
  constexpr double kLong = 1;
  const auto work = oldest_work(status);
  if (!work || (work->seconds < kLong && !status.crashed_at_dump)) return "";
  return fmt::format("{} had not finished when the program ended, {} after it was issued", work->text,
                     duration(work->seconds));
}

}  // namespace cudadiag::diagnose
