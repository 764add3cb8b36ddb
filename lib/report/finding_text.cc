#include "report/finding_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "diagnose/changed_sources.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/failure/finding_builder.h"
#include "diagnose/ranks.h"
#include "diagnose/words.h"
#include "session/session.h"
#include "symbolize/user_code.h"

namespace cudadiag::report {
namespace {

constexpr std::size_t kCandidatesNamed = 3;
constexpr std::size_t kTitleKernel = 24;  // columns for a kernel's name in a title

// Returns the place of a finding, such as "model.py:24, inside the compiled Model.forward (called at :41)".
std::string place_in(const diagnose::Location& location, const diagnose::Finding& finding,
                     const std::string& directory) {
  if (!finding.compiled || location.function.empty()) return diagnose::place(location, directory);
  const auto& [function, called, inside] = *finding.compiled;
  diagnose::Location line = location;
  if (!inside || line.function == function) line.function.clear();
  const std::string own = diagnose::place(line, directory) + ", ";
  if (!inside) return own + "in a call of the compiled " + base::printable(function);
  diagnose::Location call = called;
  call.function.clear();
  const bool same_file = called.file == finding.location.file;
  const std::string at = same_file ? fmt::format(":{}", call.line) : diagnose::place(call, directory);
  return own + "inside the compiled " + base::printable(function) +
         (call.known() ? fmt::format(" (called at {})", at) : "");
}

// Adds the error code in parentheses, or the time without progress.
std::string headline_at(const diagnose::Location& location, const diagnose::Finding& finding,
                        const std::string& directory) {
  std::string size = finding.code != 0 ? fmt::format(" ({})", finding.code) : "";
  if (finding.hang) {
    const auto& ended = finding.hang->ended_after;
    size = fmt::format(" ({}{})", diagnose::duration(ended.value_or(finding.hang->seconds)),
                       ended ? ", then it ended" : "");
  }
  if (finding.hang && finding.hang->interrupted) {
    diagnose::Location line = location.known() ? location : finding.location.nearest();
    if (!line.file.empty()) line.function.clear();
    return interruption(finding, diagnose::place(line, directory));
  }
  return fmt::format("{}{} in {}", base::printable(finding.title), size, place_in(location, finding, directory));
}

// The rows of a finding. write() is their list: the label, the lines, how many lines to keep, and the sacrifice.
class FindingText {
 public:
  FindingText(Page& page, const diagnose::Finding& finding, const Lines& ranks, const std::string& directory,
              bool verbose)
      : page_(page), finding_(finding), ranks_(ranks), directory_(directory), verbose_(verbose) {}

  void write() {
    if (finding_.race) return write_race(*finding_.race);
    title();
    add("File", file(), 1, 0);
    excerpt();
    add_lines_from(diagnose::Role::eager, "Eager", ": the program fails there without torch.compile");
    add_lines_from(diagnose::Role::source, "Inside", " from the names in the code that torch.compile generated");
    add_prose("Why", why(), 1, 3, Topic::cause);
    if (verbose_ && finding_.cause) {
      add_prose("Means", {finding_.text}, 1, 0);
      page_.add({.label = "See", .lines = unless_empty(finding_.cause->link), .wide = Wide::stays, .is_link = true});
    }
    if (finding_.origin) add("Origin", origin_lines(*finding_.origin, directory_), 1, 3);
    add("Access", access_lines(finding_, verbose_), 1, 4);
    if (verbose_) add("Grade", {grade_and_meaning()}, 1, 0, Topic::evidence);
    add_prose("Known", {finding_.evidence.text()}, 1, 3, Topic::evidence);
    add("Maybe", candidates(), kCandidatesNamed + 1, 1);
    add_prose("Ranks", ranks_, std::min<std::size_t>(ranks_.size(), 4), 0);
    add_uses();
    add_prose("Fix", finding_.fix, 1, 3, Topic::fix);
    add_blame();
    add("Time", noticed(), 1, 5);
    add_launch();
    add("Args", wrong_pointer_lines(finding_, directory_, verbose_), 2, 2);
    add("Watched", watched(), 2, 4);
    add("Inputs", inputs(), 2, 3);
    add("Alone", saved_launch(), 0, 3);
    if (finding_.memory_use) add("Held", memory_lines(*finding_.memory_use, directory_, verbose_), 4, 2);
    add("Device", device(), 1, 4);
    if (finding_.tools.memory) add_prose("Memory", {finding_.tools.memory->text}, 1, 6);
    add_prose("Witness", finding_.tools.witnesses, 0, 6);
    add_stack();
    if (verbose_) add("In", {process()}, 1, 0);
  }

 private:
  void write_race(const diagnose::ResolvedRace& race) {
    race_title();
    for (const symbolize::SourceLine& line : finding_.source.excerpt) {
      page_.add({.lines = {fmt::format("  {} {:>3} | {}", mark(line), line.number, line.text)},
                 .sacrifice = 2,
                 .wide = verbose_ ? Wide::stays : Wide::is_cut,
                 .topic = Topic::source});
    }
    add_prose("", changed_source(), 1, 0);
    add_prose("Why", {finding_.text}, 1, 0, Topic::cause);
    add_prose("Tensor", race_tensors(race), 1, 4);
    add_prose("Bytes", shared_bytes(race), 1, 5);
    const bool inside = finding_.kind == analyse::Kind::kernel_race;
    if (inside) add("Launch", {place(finding_.location)}, 1, 2);
    add(inside ? "One" : "First", racing_access_lines(race.accesses[0], directory_, verbose_), 2, 3);
    add(inside ? "Other" : "Then", racing_access_lines(race.accesses[1], directory_, verbose_), 2, 3);
    add_prose("Missing", {race.missing}, 1, 0);
    add_prose("Fix", finding_.fix, 1, 3, Topic::fix);
    add_prose("Memory", race_memory(race, directory_), 1, 6);
    if (race.times > 1) add_prose("Seen", {fmt::format("{} times", diagnose::thousands(race.times))}, 1, 7);
    add_prose("Known", {finding_.evidence.text()}, 1, 4, Topic::evidence);
  }

  bool async() const { return analyse::is_asynchronous(finding_.kind); }

  void add(std::string label, Lines lines, std::size_t at_least, int sacrifice, Topic topic = Topic::fact) {
    page_.add({.label = std::move(label),
               .lines = std::move(lines),
               .at_least = at_least,
               .sacrifice = sacrifice,
               .wide = verbose_ ? Wide::stays : Wide::wraps,
               .topic = topic});
  }

  // Adds sentences. They wrap at spaces even with -v, because users do not search the output for them.
  void add_prose(std::string label, Lines sentences, std::size_t at_least, int sacrifice, Topic topic = Topic::fact) {
    page_.add({.label = std::move(label),
               .lines = std::move(sentences),
               .at_least = at_least,
               .sacrifice = sacrifice,
               .topic = topic});
  }

  std::string place(const diagnose::Location& location) const { return diagnose::place(location, directory_); }

  void add_title(const std::string& text, const std::string& tag, std::size_t edge, bool fits) {
    page_.add({.lines = {fits ? justify(text, tag, edge) : text + "  " + tag},
               .ink = Ink::headline,
               .wide = verbose_ ? Wide::stays : Wide::wraps,
               .topic = Topic::headline});
  }

  // Never shortens the error or the line, and gives the file's name instead of its path. If the title is too long,
  // shortens the function's name, or drops it if only a few characters would remain.
  void title() {
    constexpr std::size_t kLeast = 8;
    diagnose::Location own = diagnose::with_file_name(finding_.location);
    own.called_from.clear();
    std::string text = "cudadiag: " + headline_at(own, finding_, directory_);
    const std::string tag = fmt::format("[{}]", diagnose::grade_text(finding_));
    diagnose::Location nameless = own;
    if (!nameless.file.empty()) nameless.function.clear();
    const std::string short_text = "cudadiag: " + headline_at(nameless, finding_, directory_);
    const std::size_t behind = base::width("  ") + base::width(tag);
    const std::size_t whole = base::width(text) + behind, least = base::width(short_text) + behind;
    const std::size_t edge = std::max(std::min(page_.columns, std::max(kRightEdge, whole)), least);
    if (whole > edge && edge < least + kLeast) text = short_text;
    const bool fits = !verbose_ && edge <= page_.columns;
    add_title(text, tag, edge, fits);
  }

  void race_title() {
    const std::size_t edge = std::min(page_.columns, kRightEdge);
    const std::string title = "cudadiag: " + race_headline(finding_, directory_, false),
                      tag = fmt::format("[{}]", diagnose::word(finding_.evidence.grade()));
    add_title(title, tag, edge, !verbose_ && base::width(title + "  " + tag) <= edge);
  }

  // Counts the operations that may have failed.
  std::size_t operations() const {
    std::size_t count = finding_.unlisted;
    for (const diagnose::CandidateLine& candidate : finding_.candidates) count += candidate.launches;
    return count;
  }

  // Returns text such as "call 1,847 of this line"; empty if the call is unknown.
  std::string which_call() const {
    if (finding_.launch && finding_.launch->graph_node) {
      const diagnose::NodeNumber& node = *finding_.launch->graph_node;
      if (node.nodes > 1) return fmt::format("one of {} nodes of this line", diagnose::thousands(node.nodes));
      return fmt::format("node {}/{}", node.index, node.of);
    }
    if (!finding_.location.called_from.empty()) return "";  // code called from that line may launch in a loop
    const std::size_t calls = diagnose::calls_of_line(finding_);
    if (calls > 1 && !finding_.candidates.front().launch.graph_node) {
      // We do not know the lines of operations that are not listed.
      if (finding_.unlisted == 0 && !finding_.candidates_lost) {
        return fmt::format("one of {} possible calls", diagnose::thousands(calls));
      }
      if (finding_.evidence.proves() || finding_.candidates_lost) return "";
      return fmt::format("one of {} operations", diagnose::thousands(operations()));
    }
    if (!finding_.launch || !finding_.launch->site_ordinal || finding_.launch->counted.empty()) return "";
    if ((finding_.backward && finding_.backward->leads) || finding_.thread_start || finding_.compiled) return "";
    return fmt::format("call {} {}", diagnose::thousands(*finding_.launch->site_ordinal), finding_.launch->counted);
  }

  // The title gives only the file's name.
  Lines file() {
    const std::string path = diagnose::relative_path(finding_.location.file, directory_);
    if (path.find('/') == std::string::npos) return {};
    if (!verbose_ && stack_lines().find(path) != std::string::npos) {
      path_in_stack_ = fmt::format("{}:{}", path, finding_.location.line);
      return {};
    }
    const auto has_path = [&](const auto& frame) { return frame.file == finding_.location.file; };
    const bool listed =
        std::ranges::any_of(finding_.stack.python, has_path) || std::ranges::any_of(finding_.stack.native, has_path);
    return verbose_ && listed ? Lines() : Lines{path};
  }

  void excerpt() {
    if (!finding_.location.called_from.empty()) {
      const std::string why = finding_.no_line.why.empty() ? "" : " (" + finding_.no_line.why + ")";
      add("", {fmt::format("        called from {}{}", place(finding_.location.nearest()), why)}, 1, 0);
    }
    source();
    if (finding_.source.excerpt.empty()) {
      if (const std::string call = which_call(); !call.empty()) add("", {"        " + call}, 1, 0);
      const std::string why = symbolize::why_no_source(finding_.location.nearest().file);
      if (!why.empty()) add("", {"        (" + why + ")"}, 1, 0);
      if (!finding_.no_line.why.empty() && finding_.location.called_from.empty()) {
        add("", {"        (" + finding_.no_line.why + ")"}, 1, 0);
      }
    }
    add("", changed_source(), 1, 0);
    if (!finding_.source.newer_than.empty()) {
      add("",
          {fmt::format("        (the file was modified after {}: the line may have been different)",
                       finding_.source.newer_than)},
          1, 0);
    }
    graph();
    backward();
    thread_start();
    const auto& around = finding_.location.called_from;
    if (!finding_.caller || (!around.empty() && diagnose::same_line(around.front(), *finding_.caller))) return;
    const std::string via = finding_.via.empty() ? "" : " (" + finding_.via + ")";
    add("", {fmt::format("        from {}{}", place(*finding_.caller), via)}, 1, 0);
  }

  Lines changed_source() const {
    const std::string changed = diagnose::changed_source_text(finding_);
    return changed.empty() ? Lines() : Lines{"        " + changed};
  }

  char mark(const symbolize::SourceLine& line) const {
    return line.number == finding_.location.nearest().line ? '>' : ' ';
  }

  void source() {
    std::size_t digits = 3;
    for (const symbolize::SourceLine& line : finding_.source.excerpt) {
      digits = std::max(digits, std::to_string(line.number).size());
    }
    for (const symbolize::SourceLine& line : finding_.source.excerpt) {
      const bool marked = mark(line) == '>';
      const std::string text =
          fmt::format("  {} {:>{}} | {}", mark(line), line.number, digits, base::printable(line.text));
      const std::string call = marked ? which_call() : "";
      const std::size_t whole = base::width(text) + base::width("  ") + base::width(call);
      const std::size_t edge =
          verbose_ ? std::max(kRightEdge, whole) : std::min(page_.columns, std::max(kRightEdge, whole));
      page_.add({.lines = {call.empty() ? text : justify(text, call, edge)},
                 .ink = marked ? Ink::marked : Ink::plain,
                 .wide = verbose_ ? Wide::stays : Wide::is_cut,
                 .topic = Topic::source});
    }
  }

  // Adds the line that created the node of a backward kernel, and the line that called backward().
  void backward() {
    if (!finding_.backward) return;
    const std::string node = finding_.backward->node;
    std::string run = node.empty() ? "" : "created " + node;
    Lines lines;
    for (const diagnose::Related& related : finding_.related) {
      if (related.role == diagnose::Role::forward)
        lines = {fmt::format("{} ({})", place(related.location),
                             diagnose::word(grade(related.known_by.value_or(analyse::Fact::matched))))};
      if (related.role == diagnose::Role::backward) {
        run = fmt::format("{}backward() called at {}", node.empty() ? "" : node + ", ", place(related.location));
      }
    }
    if (lines.empty() && !node.empty()) {
      lines = {fmt::format("unknown for {}: {}", node, finding_.backward->because)};
    }
    if (!run.empty()) lines.push_back(std::move(run));
    add("Forward", std::move(lines), 2, 0);
  }

  // If the finding's line only started the thread, adds the line of the library that issued the operation.
  void thread_start() {
    if (!finding_.thread_start) return;
    const char* how = finding_.thread_start->pool ? "as work that this line submitted to a thread pool"
                                                  : "on a thread that this line started";
    add("Issued", {fmt::format("by {}, {}", place(finding_.thread_start->issued), how)}, 1, 0);
  }

  // Adds a line of a compiled function that the finding's own line does not show, and how it was inferred.
  void add_lines_from(diagnose::Role role, const char* label, const char* how) {
    for (const diagnose::Related& related : finding_.related) {
      if (related.role != role) continue;
      const auto grade = analyse::grade(related.known_by.value_or(analyse::Fact::matched));
      Lines lines = {fmt::format("{} ({}{})", place(related.location), diagnose::word(grade), how)};
      if (!related.location.source.empty()) lines.push_back(related.location.source);
      add(label, std::move(lines), 2, 0);
    }
  }

  // Adds the lines for a failure inside a graph: capture, update and replay.
  void graph() {
    if (!finding_.launch || (!finding_.launch->replay && !finding_.launch->graph_node)) return;
    const std::string replay = finding_.launch->replay
                                   ? fmt::format("replay {}", diagnose::thousands(*finding_.launch->replay))
                                   : "unknown replay";
    Lines lines;
    for (const diagnose::Related& related : finding_.related) {
      if (related.role == diagnose::Role::capture)
        lines.push_back(fmt::format("captured at {}", place(related.location)));
      if (related.role == diagnose::Role::update)
        lines.push_back(fmt::format("changed at {}", place(related.location)));
      if (related.role == diagnose::Role::replay)
        lines.push_back(fmt::format("replayed at {}, {}", place(related.location), replay));
    }
    if (lines.empty()) lines.push_back(replay + " of this executable graph");
    const std::size_t kept = lines.size();
    add("Graph", std::move(lines), kept, 0);
  }

  // If all launches are on one line, the rows above already show that line, but not which of its calls they are.
  Lines candidates() const {
    Lines lines;
    const auto& candidates = finding_.candidates;
    if (candidates.size() < 2 && (!verbose_ || operations() < 2)) return lines;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!verbose_ && i == kCandidatesNamed && candidates.size() > i + 1) {
        lines.push_back(fmt::format("{} more: see -v", candidates.size() - i));
        break;
      }
      lines.push_back(
          fmt::format("{}{}: {}", place(candidates[i].location), of(candidates[i].launch), candidates[i].because));
    }
    return lines;
  }

  // Adds the line that used a value that is not finite.
  void add_uses() {
    for (const diagnose::Related& related : finding_.related) {
      if (related.role == diagnose::Role::used && !related.location.source.empty()) {
        add("Used", {fmt::format("{} {}", place(related.location), related.location.source)}, 1, 3);
      }
    }
  }

  std::string of(const diagnose::Launch& launch) const {
    if (launch.kernel.empty()) return fmt::format(" ({})", word(launch.operation));
    return " (" + diagnose::short_kernel_name(launch.kernel, verbose_ ? launch.kernel.size() : 30) + ")";
  }

  // Gives the cause or, if it is unknown, the general meaning of the error. With -v, `Means` always gives the meaning.
  Lines why() const {
    Lines lines = {finding_.cause ? finding_.cause->text : finding_.text};
    for (std::string& line : argument_lines(finding_, directory_, verbose_)) lines.push_back(std::move(line));
    return lines;
  }

  std::string grade_and_meaning() const {
    const analyse::Grade grade = finding_.evidence.grade();
    return fmt::format("{}: {}", diagnose::word(grade), diagnose::meaning(grade));
  }

  // In a short run, the time adds nothing to the report.
  Lines noticed() const {
    constexpr double kLong = 60;
    const auto& noticed = finding_.noticed.when;
    if (!noticed || (!verbose_ && noticed->since_cuda < kLong)) return {};
    return {fmt::format("{}, {} after the process initialised CUDA",
                        session::iso_time(static_cast<std::time_t>(noticed->unix_seconds)),
                        diagnose::duration(noticed->since_cuda))};
  }

  void add_blame() {
    if (finding_.kind == analyse::Kind::capture_violation) {
      for (const diagnose::Related& related : finding_.related) {
        if (related.role == diagnose::Role::capture) add("Capture", {"begun at " + place(related.location)}, 1, 0);
      }
    }
    Lines lines = unless_empty(blamed_text(finding_, directory_));
    if (lines.empty()) return add("Call", unless_empty(finding_.noticed.api), 1, 0);
    // The program sees only the status that this library returns, such as CUBLAS_STATUS_ALLOC_FAILED.
    if (async() && !finding_.noticed.library.empty()) {
      lines.push_back(fmt::format("{} issued that call; its own status hides this error", finding_.noticed.library));
    }
    add("Blamed", std::move(lines), 2, 0, Topic::blame);
  }

  // Adds the values that were captured at watched lines, newest first.
  Lines watched() const {
    constexpr std::size_t kMost = 3;
    Lines lines;
    if (finding_.watched.empty()) return lines;
    for (auto at = finding_.watched.rbegin(); at != finding_.watched.rend(); ++at) {
      if (!verbose_ && static_cast<std::size_t>(at - finding_.watched.rbegin()) == kMost) break;
      std::string line = fmt::format("{} visit {}:", place(at->location), diagnose::thousands(at->visit));
      for (const diagnose::Argument& argument : at->arguments) line += " " + argument_line(argument, directory_) + ";";
      line.pop_back();
      lines.push_back(std::move(line));
    }
    lines.push_back(
        fmt::format("reading these values added {} ms to the run", diagnose::thousands(finding_.watched_milliseconds)));
    return lines;
  }

  Lines inputs() const {
    if (!finding_.inputs) return {};
    const diagnose::Inputs& inputs = *finding_.inputs;
    Lines lines = {fmt::format("{}, {}, {}: {}", inputs.op, counted(inputs.tensors, "tensor"), size_text(inputs.bytes),
                               inputs.folder),
                   "replay.py in that folder repeats the call: " + inputs.outcome};
    for (const std::string& missing : inputs.missing) lines.push_back("not saved exactly: " + missing);
    return lines;
  }

  Lines saved_launch() const {
    if (!finding_.saved_launch) return {};
    const diagnose::SavedLaunch& saved = *finding_.saved_launch;
    return {session::sentence(saved.tally, saved.failed_alone),
            "cudadiag replay " + diagnose::shell_word(saved.folder)};
  }

  void add_launch() {
    if (!finding_.launch || finding_.launch->operation == session::Work::call) return;
    const diagnose::Launch& launch = *finding_.launch;
    std::string facts;
    if (launch.operation == session::Work::kernel && launch.shape_known()) {
      facts = fmt::format("  grid {}  block {}", diagnose::dimensions(launch.grid), diagnose::dimensions(launch.block));
    }
    if (launch.shared_bytes != 0) facts += fmt::format("  shared {} B", launch.shared_bytes);
    if (launch.stream != 0) facts += "  " + diagnose::stream_name(launch.stream);
    if (const diagnose::PossibleKernels kernels = diagnose::possible_kernels(finding_);
        kernels.several() && launch.operation == session::Work::kernel) {
      facts += kernels.known <= 1
                   ? "  the likeliest"
                   : fmt::format("  the likeliest of {}{} kernels", kernels.known, kernels.more ? " or more" : "");
    }
    if (launch.device.value_or(0) != 0) facts += fmt::format("  device {}", *launch.device);
    if (launch.operation != session::Work::kernel) {
      add("What", {std::string(word(launch.operation)) + facts}, 1, 0);
      return;
    }
    const std::size_t room = page_.columns - kLabelWidth;
    const std::size_t columns = std::max<std::size_t>(room > base::width(facts) ? room - base::width(facts) : 0, 16);
    const std::string kernel = verbose_ ? launch.kernel : diagnose::short_kernel_name(launch.kernel, columns);
    add("Kernel", {(kernel.empty() ? "name unknown" : kernel) + facts}, 1, kDroppable);
  }

  Lines device() const {
    const bool wanted = (async() && finding_.code != 0) || finding_.device;
    return wanted && (verbose_ || finding_.device) ? device_lines(finding_, directory_, verbose_) : Lines();
  }

  void add_stack() {
    if (verbose_) {
      add("Python", python_stack_lines(finding_.stack.python, directory_), 0, 0, Topic::stack);
      if (finding_.thread_start)
        add("Started", python_stack_lines(finding_.thread_start->stack, directory_), 0, 0, Topic::stack);
      add("Native", native_stack_lines(finding_.stack, directory_), 0, 0, Topic::stack);
      return;
    }
    page_.add({.label = "Stack", .lines = unless_empty(stack_lines()), .sacrifice = 6, .in_short = path_in_stack_});
  }

  // Names as many frames as fit into two rows, and at least the innermost one.
  std::string stack_lines() const {
    constexpr std::size_t kMost = 4, kRows = 2;
    std::string text;
    for (std::size_t frames = kMost; frames > 0; --frames) {
      text = stack_text(finding_.stack, directory_, frames);
      if (page_.rows({.label = "Stack"}, text).size() <= kRows) break;
    }
    return text;
  }

  std::string process() const {
    std::string line = fmt::format("pid {}", finding_.pid);
    if (finding_.rank) line += fmt::format(", rank {}", *finding_.rank);
    if (!finding_.host.empty()) line += ", host " + finding_.host;
    if (finding_.launch && finding_.launch->thread != 0) line += fmt::format(", thread {}", finding_.launch->thread);
    return line;
  }

  Page& page_;
  const diagnose::Finding& finding_;
  const Lines& ranks_;
  const std::string& directory_;
  const bool verbose_;
  std::string path_in_stack_;  // the file and the line, if only the stack has the path
};

}  // namespace

std::string command_text(const diagnose::Diagnosis& report) {
  if (!report.command.empty() || report.processes.empty()) return diagnose::shell_line(report.command);
  const auto failed = std::ranges::find_if(report.processes, [&](const diagnose::ProcessLine& process) {
    return !report.findings.empty() && process.pid == report.findings.front().pid;
  });
  return diagnose::shell_line((failed == report.processes.end() ? report.processes.begin() : failed)->argv);
}

std::string interruption(const diagnose::Finding& finding, const std::string& place) {
  const session::Work work = finding.launch ? finding.launch->operation : session::Work::call;
  std::string what = diagnose::with_article(word(work));
  if (work == session::Work::kernel && !finding.launch->kernel.empty()) {
    what = base::printable(diagnose::short_kernel_name(finding.launch->kernel, kTitleKernel));
  }
  const bool runs = work != session::Work::call;
  const std::string time = diagnose::duration(finding.hang->seconds);
  return runs ? fmt::format("interrupted while {} ({}) had been running for {}", what, place, time)
              : fmt::format("interrupted while {} ({}) had been unfinished for {}", what, place, time);
}

std::string headline(const diagnose::Finding& finding, const std::string& directory) {
  return finding.race ? race_headline(finding, directory) : headline_at(finding.location, finding, directory);
}

void add_finding(Page& page, const diagnose::Finding& finding, const Lines& ranks, const std::string& directory,
                 bool verbose) {
  FindingText(page, finding, ranks, directory, verbose).write();
}

}  // namespace cudadiag::report
