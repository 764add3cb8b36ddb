#include "report/status.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "analyse/unfinished_work.h"
#include "base/text.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/line_resolver.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "report/json_schema.h"
#include "report/text_layout.h"
#include "session/process_record.h"
#include "session/session.h"

namespace cudadiag::report {
namespace {

constexpr std::size_t kFew = 4;  // how many lines of operations to show for each stream, unless verbose
constexpr std::size_t kStatusColumns = 30;
constexpr std::size_t kHang = 4;  // indentation of continued rows

std::string times(const std::optional<double>& seconds) { return seconds ? diagnose::duration(*seconds) : "?"; }

class StatusText {
 public:
  StatusText(const diagnose::Status& status, const TextOptions& options)
      : status_(status), verbose_(options.verbosity == Verbosity::verbose) {
    page_.columns = static_cast<std::size_t>(std::max(40, options.columns));
  }

  std::string write() {
    heading();
    for (const diagnose::ProcessStatus& process : status_.processes) add(process);
    if (verbose_ || !status_.whole) {
      for (const std::string& note : status_.notes) page_.add({.lines = {"note: " + note}, .wide = Wide::stays});
    }
    return page_.print();
  }

 private:
  void line(std::size_t indent, const std::string& text) {
    const std::string whole = std::string(indent, ' ') + text;
    if (verbose_) return page_.add({.lines = {whole}, .wide = Wide::stays});
    page_.add({.lines = {letters_.name(whole)}, .hang = kHang});
  }

  void heading() {
    std::string command;
    for (const std::string& word : status_.command) command += ' ' + word;
    line(0, fmt::format("cudadiag: {}:{}", state_text(status_.goes_on, status_.seconds, status_.since_cuda), command));
    if (!status_.processes.empty()) return;
    if (!status_.unrecorded.empty()) return line(0, "the program was not recorded: " + status_.unrecorded);
    line(0, status_.goes_on.value_or(false) ? "no process has initialised CUDA yet"
            : status_.whole                 ? "no process initialised CUDA, or its recording is lost"
                                            : "no recording of a process could be read");
  }

  // Returns the words that follow an age, such as "ago" or "before it ended".
  const char* since_when(const diagnose::ProcessStatus& process) const {
    if (process.state == wire::area::State::frozen) return "before its error was noticed";
    if (!status_.goes_on) return "before its last record";
    return *status_.goes_on ? "ago" : process.outlived ? "before the command ended" : "before it ended";
  }

  void add(const diagnose::ProcessStatus& process) {
    std::string text = fmt::format("pid {}", process.pid);
    if (process.rank) text += fmt::format(", rank {}", *process.rank);
    text += ": " + counted(process.operations, "operation") + " issued";
    if (process.idle) text += fmt::format(", the newest {} {}", diagnose::duration(*process.idle), since_when(process));
    if (process.errors > 0) text += "; " + counted(process.errors, "failed call");
    line(0, text);
    if (process.state == wire::area::State::frozen)
      line(2, "the process has a sticky error, and nothing after it is recorded: see cudadiag report");
    if (process.outlived) line(2, "it was still running when the command exited, so cudadiag stopped watching it");
    const bool unrecorded = process.state == wire::area::State::disabled;
    if (unrecorded) line(2, "its work was not recorded, because the recorder turned itself off: see cudadiag report");
    if (process.streams.empty() && !unrecorded) line(2, "no work is unfinished");
    for (const diagnose::OpenStream& stream : process.streams) add(stream);
    for (const diagnose::OpenCall& call : process.calls) add(call);
  }

  void add(const diagnose::OpenStream& stream) {
    const std::uint32_t open = stream.issued - stream.completed;
    std::string text = stream.name;
    if (stream.device.value_or(0) != 0) text += fmt::format(" on device {}", *stream.device);
    const bool can_stand = stream.candidates + stream.missing > 0;
    if (!stream.proven) {
      text += open == 1 ? ": 1 operation may be unfinished (no marker follows it)"
                        : fmt::format(": {} operations may be unfinished (no marker follows them)", open);
    } else if (stream.candidates == 1 && stream.missing == 0) {
      text += fmt::format(": at operation {} of {} issued", stream.operations.front().ordinal, stream.issued);
    } else if (!can_stand) {
      text += fmt::format(": after operation {} of {} issued", stream.completed, stream.issued);
    } else {
      text += fmt::format(": after operation {} of {} issued, at one of {} operations", stream.completed, stream.issued,
                          stream.candidates > 0 ? stream.candidates : stream.missing);
      if (stream.missing > 0) {
        text += stream.candidates > 0 ? fmt::format(" or one of {} more whose records are lost", stream.missing)
                                      : " whose records are lost";
      }
    }
    if (stream.proven && !stream.may_wait_for.empty()) {
      text += (can_stand ? ", or waits for " : ", waits for ") + stream.may_wait_for.front();
      const std::size_t others = stream.may_wait_for.size() - 1;
      if (others > 0) text += " or " + counted(others, "other");
    }
    line(2, text + fmt::format("  [{}]", diagnose::word(grade(stream.known_by))));
    std::size_t written = 0;
    for (std::size_t lines = 0; written < stream.operations.size() && (verbose_ || lines < kFew); ++lines) {
      written += add(stream, written);
    }
    const std::size_t more = stream.more + stream.operations.size() - written;
    if (more > 0) line(4, fmt::format("and {} more after it", diagnose::thousands(more)));
  }

  // Writes one line for an operation and those that follow it at the same location. Returns how many operations the
  // line covers.
  std::size_t add(const diagnose::OpenStream& stream, std::size_t first) {
    const diagnose::UnfinishedOperation& operation = stream.operations[first];
    std::size_t same = 1;
    while (!verbose_ && first + same < stream.operations.size() && alike(operation, stream.operations[first + same]))
      ++same;
    std::string what(word(operation.operation));
    if (!operation.kernel.empty()) {
      what = verbose_ ? operation.kernel : diagnose::short_kernel_name(operation.kernel, kStatusColumns);
    }
    std::string text = fmt::format("{:>6}  {}", times(operation.seconds), what);
    if (operation.location.nearest().line > 0 || !operation.location.function.empty()) {
      text += "  " + diagnose::place(operation.location, status_.working_directory);
    }
    if (same > 1) text += fmt::format(" ({} operations)", same);
    line(4, text);
    for (const diagnose::OpenWait& wait : stream.waits) {
      if (wait.ordinal == operation.ordinal) line(12, "waits " + wait.text);
    }
    return same;
  }

  static bool alike(const diagnose::UnfinishedOperation& a, const diagnose::UnfinishedOperation& b) {
    return a.operation == b.operation && a.kernel == b.kernel && diagnose::same_line(a.location, b.location) &&
           a.operation != session::Work::wait;
  }

  void add(const diagnose::OpenCall& call) {
    std::string text = fmt::format("thread {}", call.tid);
    if (!call.thread.empty()) text += " " + call.thread;
    text += fmt::format(": for {} in {}", times(call.seconds), call.call);
    if (!call.waits_for.empty()) text += ", waits for " + call.waits_for;
    line(2, text);
    line(12, "at " + diagnose::place(call.location, status_.working_directory));
    if (!verbose_) return;
    const std::string& directory = status_.working_directory;
    for (const std::string& frame : python_stack_lines(call.stack.python, directory)) line(12, frame);
    for (const std::string& frame : native_stack_lines(call.stack, directory)) line(12, frame);
  }

  const diagnose::Status& status_;
  const bool verbose_;
  diagnose::StreamLetters letters_;
  Page page_;
};

}  // namespace

std::string state_text(std::optional<bool> goes_on, std::optional<double> seconds, bool since_cuda) {
  const char* state = !goes_on ? "may still be running" : *goes_on ? "running" : "has ended";
  if (!seconds) return state;
  const std::string time = diagnose::duration(*seconds);
  if (!since_cuda) return fmt::format("{}, ran for {}", state, time);
  return goes_on.value_or(false) ? fmt::format("{}, initialised CUDA {} ago", state, time)
                                 : fmt::format("{}, last recorded {} after it initialised CUDA", state, time);
}

std::string write_status_text(const diagnose::Status& status, const TextOptions& options) {
  return StatusText(status, options).write();
}

static void add_frame(Members& to, const diagnose::Location& at) {
  to.text("file", at.file);
  to.line("line", at.line);
  to.text("function", at.function);
}

static void add_place(Members& to, const diagnose::Location& at) {
  to.object("location", "place", [&](Members& place) {
    add_frame(place, at);
    const bool called = !at.called_from.empty();
    place.object_or_null("called_from", "frame", called, [&](Members& caller) {
      add_frame(caller, called ? at.called_from.front() : diagnose::Location{});
    });
  });
}

static void list(Members& to, const diagnose::UnfinishedOperation& open) {
  to.type("operation");
  to.add("operation", word(open.operation));
  to.text("kernel", open.kernel);
  to.add("ordinal", open.ordinal);
  to.add("site_ordinal", open.site_ordinal);
  to.add("seconds", open.seconds);
  to.add("candidate", open.candidate);
  add_place(to, open.location);
}

static void list(Members& to, const diagnose::OpenWait& open) {
  to.type("wait");
  to.add("for", diagnose::word(open.kind));
  to.add("ordinal", open.ordinal);
  to.add("text", open.text);
}

static void list(Members& to, const diagnose::OpenStream& open) {
  to.type("stream");
  to.address("stream", open.handle);
  to.add("name", open.name);
  to.add("device", open.device);
  to.add("issued", open.issued);
  to.add("completed", open.completed);
  to.add("proven_unfinished", open.proven);
  to.add("grade", diagnose::word(grade(open.known_by)));
  to.add("candidates", open.candidates);
  to.add("lost", open.missing);
  to.add("operations", open.operations);
  to.add("waits", open.waits);
  to.add("may_wait_for", open.may_wait_for);
}

static void list(Members& to, const diagnose::OpenCall& open) {
  to.type("call");
  to.add("thread", open.tid);
  to.text("name", open.thread);
  to.text("call", open.call);
  to.text("waits_for", open.waits_for);
  to.add("seconds", open.seconds);
  add_place(to, open.location);
}

static void list(Members& to, const diagnose::ProcessStatus& process) {
  to.type("process");
  to.add("pid", process.pid);
  to.add("rank", process.rank);
  to.add("argv", process.argv);
  to.add("state", diagnose::word(process.state));
  to.add("operations", process.operations);
  to.add("idle_seconds", process.idle);
  to.add("failed_calls", process.errors);
  to.add("streams", process.streams);
  to.add("calls", process.calls);
}

static void list(Members& to, const diagnose::Status& status) {
  to.type("status");
  to.add("schema", std::string_view("cudadiag.status/1"));
  to.add("running", status.goes_on);
  to.add("session", status.session);
  to.add("seconds", status.seconds);
  to.add("command", status.command);
  to.add("processes", status.processes);
  to.add("notes", status.notes);
}

std::string write_status_json(const diagnose::Status& status) { return Members::document(status); }

namespace {

// How many sites to name in each display. Resolving all symbols of a large program would take too long.
constexpr std::size_t kNamed = 32;
constexpr std::size_t kNameColumns = 60;

// Limits the rate, because a damaged record may contain any number.
std::string rate(double per_second) {
  constexpr double kMost = 1e18;
  return per_second >= 10 ? diagnose::thousands(static_cast<std::uint64_t>(std::min(per_second, kMost)))
                          : fmt::format("{:.1f}", per_second);
}

std::vector<Busy> busiest(const std::map<std::string, double>& rates) {
  std::vector<Busy> busy;
  for (const auto& [name, per_second] : rates) busy.push_back({name, per_second});
  std::ranges::stable_sort(busy, std::greater<>(), &Busy::per_second);
  return busy;
}

void add_streams(const session::Process& process, std::vector<StreamQueue>& streams) {
  const session::ProcessRecord& record = process.record;
  for (const analyse::UnfinishedStream& stream : analyse::unfinished_work(record).streams) {
    StreamQueue queue;
    queue.pid = process.pid;
    queue.name = analyse::stream_phrase(*stream.stream);
    const auto device = session::device_of(record, stream.stream->context);
    if (device.value_or(0) != 0) queue.name += fmt::format(" on device {}", *device);
    queue.unfinished = stream.stream->issued - stream.completed;
    queue.proven = stream.proven();
    if (!stream.operations.empty() && record.clock_last > stream.operations.front()->ticks) {
      queue.seconds = record.seconds(record.clock_last) - record.seconds(stream.operations.front()->ticks);
    }
    streams.push_back(std::move(queue));
  }
}

}  // namespace

void ActivityWatch::name(const session::Session& session, const std::vector<SiteKey>& wanted) {
  const bool known = std::ranges::all_of(wanted, [&](const SiteKey& key) { return names_.contains(key); });
  if (known) return;
  symbolize::Symbolizer symbolizer(session);
  for (const SiteKey& key : wanted) {
    const session::Process* process = session::process_of(session.processes, key.first);
    if (process == nullptr || names_.contains(key)) continue;
    const diagnose::ResolvedSite site = diagnose::resolve(symbolizer, *process, key.second);
    Named& named = names_[key];
    if (!site.mangled.empty()) named.kernel = diagnose::short_kernel_name(base::demangle(site.mangled), kNameColumns);
    named.line = diagnose::place(diagnose::located(site.line.location),
                                 session::value_of(process->record, session::Property::cwd));
  }
}

Activity ActivityWatch::look(const session::Session& session) {
  Activity activity;
  std::vector<std::pair<double, SiteKey>> rates;
  for (const session::Process& process : session.processes) {
    const session::ProcessRecord& record = process.record;
    Counted now{record.seconds(record.clock_last), 0, {}};
    for (const session::Thread& thread : record.threads) now.operations += thread.operations;
    for (const session::Site& site : record.sites) now.sites.push_back(site.operations);
    Counted& last = last_[process.pid];
    const double passed = now.at - last.at;
    activity.operations += now.operations;
    activity.errors += record.error_count;
    activity.seconds = std::max(activity.seconds, passed);
    ++activity.processes;
    // If the count has decreased, the pid belongs to a new process.
    if (passed > 0 && now.operations >= last.operations) {
      activity.per_second += static_cast<double>(now.operations - last.operations) / passed;
      for (std::size_t i = 0; i < now.sites.size(); ++i) {
        const std::uint64_t before = i < last.sites.size() ? last.sites[i] : 0;
        if (now.sites[i] <= before) continue;
        rates.push_back(
            {static_cast<double>(now.sites[i] - before) / passed, {process.pid, static_cast<std::uint32_t>(i + 1)}});
      }
    }
    last = std::move(now);
    add_streams(process, activity.streams);
  }
  std::ranges::stable_sort(rates, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (rates.size() > kNamed) rates.resize(kNamed);
  std::vector<SiteKey> wanted;
  for (const auto& [per_second, key] : rates) wanted.push_back(key);
  name(session, wanted);
  std::map<std::string, double> kernels, lines;
  for (const auto& [per_second, key] : rates) {
    const Named& named = names_[key];
    if (!named.kernel.empty()) kernels[named.kernel] += per_second;
    lines[named.line] += per_second;
  }
  activity.kernels = busiest(kernels);
  activity.lines = busiest(lines);
  std::ranges::stable_sort(activity.streams, [](const StreamQueue& a, const StreamQueue& b) {
    return std::pair(a.proven, a.unfinished) > std::pair(b.proven, b.unfinished);
  });
  return activity;
}

std::string write_activity(const std::string& heading, const Activity& activity, std::size_t rows,
                           std::size_t columns) {
  std::vector<std::string> text = {
      heading, fmt::format("{} operations/s, {} in all; {} process{}; {}", rate(activity.per_second),
                           diagnose::thousands(activity.operations), activity.processes,
                           activity.processes == 1 ? "" : "es", counted(activity.errors, "failed call"))};
  const std::size_t share = std::max<std::size_t>(rows > 6 ? (rows - 6) / 3 : 1, 1);
  const auto add = [&](const char* label, const std::vector<Busy>& busy) {
    if (!busy.empty()) text.emplace_back(label);
    for (std::size_t i = 0; i < std::min(share, busy.size()); ++i) {
      text.push_back(fmt::format("{:>10}/s  {}", rate(busy[i].per_second), busy[i].name));
    }
  };
  add("busiest kernels", activity.kernels);
  add("busiest lines", activity.lines);
  text.emplace_back(activity.streams.empty() ? "no work is unfinished" : "unfinished work");
  for (std::size_t i = 0; i < std::min(share, activity.streams.size()); ++i) {
    const StreamQueue& queue = activity.streams[i];
    const std::string whose = activity.processes > 1 ? fmt::format("pid {}, ", queue.pid) : "";
    const std::string age = queue.proven ? fmt::format(", the oldest for {}", diagnose::duration(queue.seconds)) : "";
    text.push_back(fmt::format("{:>10}    {}{}{}", diagnose::thousands(queue.unfinished), whose, queue.name,
                               queue.proven ? age : " (at most this many: no marker follows them)"));
  }
  if (activity.per_second == 0 && !activity.streams.empty()) {
    text.emplace_back("nothing has been issued since the last update: cudadiag status shows what waits for what");
  }
  std::string page;
  for (const std::string& line : text) {
    for (const std::string& row : wrapped(base::printable(line), columns, kHang)) {
      if (rows == 0) return page;
      page += base::clip(row, columns) + '\n';
      --rows;
    }
  }
  return page;
}

}  // namespace cudadiag::report
