#include "report/finding_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/argument_text.h"
#include "report/device_text.h"
#include "report/kernel_name.h"
#include "report/memory_text.h"
#include "report/place.h"
#include "report/printable.h"
#include "report/race_text.h"
#include "report/words.h"
#include "symbolize/pseudo_files.h"

namespace cudadiag::report {
namespace {

constexpr std::size_t kRightEdge = 100;
constexpr std::size_t kCandidatesNamed = 3;
constexpr std::size_t kFramesNamed = 4;
constexpr std::size_t kBlamedSource = 40;
// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD of cuda.h.
constexpr std::uint64_t kLegacyStream = 0x1;
constexpr std::uint64_t kPerThreadStream = 0x2;

class FindingText {
 public:
  FindingText(Page& page, const Finding& finding, const std::string& directory, bool verbose)
      : page_(page), finding_(finding), directory_(directory), verbose_(verbose) {}

  void write() {
    title();
    excerpt();
    why();
    if (verbose_) add("Grade", {fmt::format("{}: {}", word(finding_.grade), meaning(finding_.grade))}, 1, 0);
    add("Known", page_.wrap(printable(finding_.because)), 1, 4);
    maybe();
    fix();
    blamed();
    library();
    launch();
    add("Args", wrong_pointer_lines(page_, finding_, directory_, verbose_), 2, 2);
    watched();
    inputs();
    if (finding_.memory_use) add("Held", memory_lines(page_, *finding_.memory_use, directory_, verbose_), 4, 2);
    if ((async() && finding_.code != 0) || finding_.device) device();
    witnesses();
    verbose_ ? whole_stack() : stack();
    if (verbose_) process();
  }

 private:
  bool async() const { return analyse::is_asynchronous(finding_.kind); }

  void add(std::string label, std::vector<std::string> lines, std::size_t at_least, int sacrifice) {
    page_.sections.push_back({std::move(label), std::move(lines), at_least, sacrifice, Ink::plain, verbose_});
  }

  std::string path(const std::string& file) const { return relative_path(file, directory_); }
  std::string place(const Location& location) const { return report::place(location, directory_); }

  // Error and line are never cut; what does not fit is taken from the function's name.
  void title() {
    const std::string text = "cudadiag: " + headline(finding_, directory_);
    const std::string tag = fmt::format("[{}]", word(finding_.grade));
    Page edge = page_;
    Finding nameless = finding_;
    if (!nameless.location.file.empty()) nameless.location.function.clear();
    const std::size_t needed = width("cudadiag: " + headline(nameless, directory_)) + width("...  ") + width(tag);
    edge.columns = std::max(std::min(page_.columns, kRightEdge), needed);
    const std::string line = verbose_ ? text + "  " + tag : edge.justify(text, tag);
    page_.sections.push_back({"", {line}, 1, 0, Ink::headline, true});
  }

  // "call 1,847 of this line", where the one call is known.
  std::string which_call() const {
    if (finding_.launch && finding_.launch->graph_node) {
      const GraphNode& node = *finding_.launch->graph_node;
      if (node.nodes > 1) return fmt::format("one of {} nodes of this line", thousands(node.nodes));
      return fmt::format("node {}/{}", node.index, node.of);
    }
    if (!finding_.candidates.empty() && finding_.candidates.front().launches > 1 &&
        !finding_.candidates.front().launch.graph_node) {
      return fmt::format("one of {} calls of this line", thousands(finding_.candidates.front().launches));
    }
    if (!finding_.launch || !finding_.launch->site_ordinal) return "";
    if (finding_.backward && finding_.backward->leads) return "";
    return fmt::format("call {} of this line", thousands(*finding_.launch->site_ordinal));
  }

  void excerpt() {
    Page edge = page_;
    edge.columns = std::min(page_.columns, kRightEdge);
    std::size_t digits = 3;
    for (const symbolize::SourceLine& line : finding_.excerpt) {
      digits = std::max(digits, std::to_string(line.number).size());
    }
    for (const symbolize::SourceLine& line : finding_.excerpt) {
      const bool marked = line.number == finding_.location.line;
      const std::string text =
          fmt::format("  {} {:>{}} | {}", marked ? '>' : ' ', line.number, digits, printable(line.text));
      const std::string call = marked ? which_call() : "";
      page_.sections.push_back(
          {"", {call.empty() ? text : edge.justify(text, call)}, 1, 0, marked ? Ink::marked : Ink::plain, verbose_});
    }
    if (finding_.excerpt.empty() && !which_call().empty()) add("", {"        " + which_call()}, 1, 0);
    if (const std::string why = symbolize::why_no_source(finding_.location.file);
        finding_.excerpt.empty() && !why.empty())
      add("", {"        (" + printable(why) + ")"}, 1, 0);
    graph();
    backward();
    if (!finding_.caller) return;
    const std::string via = finding_.via.empty() ? "" : " (" + printable(finding_.via) + ")";
    add("", {fmt::format("        from {}{}", place(*finding_.caller), via)}, 1, 0);
  }

  // Where the node of a backward kernel was made, and where the backward pass was begun.
  void backward() {
    if (!finding_.backward) return;
    const std::string node = printable(finding_.backward->node);
    std::string run = node.empty() ? "" : "made " + node;
    std::vector<std::string> lines;
    for (const Related& related : finding_.related) {
      if (related.role == "forward")
        lines = {
            fmt::format("{} ({})", place(related.location), word(related.grade.value_or(analyse::Grade::inferred)))};
      if (related.role == "backward") {
        run = fmt::format("{}backward() called at {}", node.empty() ? "" : node + ", ", place(related.location));
      }
    }
    if (lines.empty() && !node.empty()) {
      lines = page_.wrap(fmt::format("not known: of {}, {}", node, printable(finding_.backward->because)));
    }
    if (!run.empty()) lines.push_back(std::move(run));
    add("Forward", std::move(lines), 2, 0);
  }

  // The two lines that a failure inside a graph has.
  void graph() {
    if (!finding_.launch || (!finding_.launch->replay && !finding_.launch->graph_node)) return;
    const std::string replay =
        finding_.launch->replay ? fmt::format("replay {}", thousands(*finding_.launch->replay)) : "replay not known";
    std::vector<std::string> lines;
    for (const Related& related : finding_.related) {
      if (related.role == "capture") lines.push_back(fmt::format("captured at {}", place(related.location)));
      if (related.role == "replay") lines.push_back(fmt::format("replayed at {}, {}", place(related.location), replay));
    }
    if (lines.empty()) lines.push_back(replay + " of this executable graph");
    add("Graph", std::move(lines), 2, 0);
  }

  void maybe() {
    std::vector<std::string> lines;
    const auto& candidates = finding_.candidates;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!verbose_ && i == kCandidatesNamed && candidates.size() > i + 1) {
        lines.push_back(fmt::format("{} more: see -v", candidates.size() - i));
        break;
      }
      lines.push_back(fmt::format("{}{}: {}", place(candidates[i].location), of(candidates[i].launch),
                                  printable(candidates[i].because)));
    }
    // One line with several launches is already said by the lines above.
    if (candidates.size() > 1) add("Maybe", std::move(lines), kCandidatesNamed + 1, 1);
  }

  std::string of(const Launch& launch) const {
    if (launch.kernel.empty()) return " (" + launch.operation + ")";
    return " (" + printable(short_kernel_name(launch.kernel, verbose_ ? launch.kernel.size() : 30)) + ")";
  }

  // The cause, where one is known; what the error means in general goes to -v then.
  void why() {
    std::vector<std::string> lines = page_.wrap(printable(finding_.cause ? finding_.cause->text : finding_.text));
    for (std::string& line : argument_lines(finding_, directory_, verbose_)) lines.push_back(std::move(line));
    add("Why", std::move(lines), 1, 3);
    if (!verbose_ || !finding_.cause) return;
    add("Means", page_.wrap(printable(finding_.text)), 1, 0);
    if (!finding_.cause->link.empty()) add("See", {printable(finding_.cause->link)}, 1, 0);
  }

  void fix() {
    std::vector<std::string> lines;
    for (const std::string& step : finding_.fix) {
      for (std::string& line : page_.wrap(printable(step))) lines.push_back(std::move(line));
    }
    add("Fix", std::move(lines), 1, 8);
  }

  void blamed() {
    const std::string api = finding_.reported_api.empty() ? "a call" : printable(finding_.reported_api);
    if (finding_.standstill) {
      const bool waits = finding_.reported_at.has_value();
      add("Blamed",
          {waits ? fmt::format("{} ({}): it only waits", place(*finding_.reported_at), api)
                 : "nothing: no thread waits inside a call into CUDA"},
          1, 0);
      return;
    }
    capture();
    if (!async() && !noticed_elsewhere()) {
      if (!finding_.reported_api.empty()) add("Call", {api}, 1, 0);
    } else if (finding_.code == 0) {
      add("Blamed", {"nothing: no call has failed"}, 1, 0);
    } else if (finding_.found_by_wait) {
      add("Blamed", {"nothing: it was found by waiting for this operation, before any call could return it"}, 1, 0);
    } else if (finding_.found_at_exit) {
      add("Blamed", {"nothing: no call that was watched returned it; found when the program ended"}, 1, 0);
    } else if (!finding_.reported_at) {
      add("Blamed", {"not known: the record of the reporting call was lost"}, 1, 0);
    } else if (same_line(*finding_.reported_at, finding_.location)) {
      add("Blamed", {fmt::format("the same line ({})", api)}, 1, 0);
    } else {
      const Location& at = *finding_.reported_at;
      if (at.line == 0) {
        add("Blamed", {fmt::format("library code, no line of yours ({}): innocent", api)}, 1, 0);
        return;
      }
      const bool quoted = !at.source.empty() && width(at.source) <= kBlamedSource && !at.file.empty();
      const std::string where =
          quoted ? fmt::format("{}:{} {}", path(at.file), at.line, printable(at.source)) : place(at);
      add("Blamed", {fmt::format("{} ({}): innocent", where, api)}, 1, 0);
    }
  }

  // "CUBLAS_STATUS_ALLOC_FAILED" is what the program shows then.
  void library() {
    if (!async() || finding_.reported_library.empty()) return;
    page_.sections.back().lines.push_back(
        fmt::format("{} made that call: its own error hides this one", printable(finding_.reported_library)));
  }

  // A broken capture is noticed by the calls after the one that broke it.
  bool noticed_elsewhere() const {
    return finding_.kind == analyse::Kind::capture_violation && finding_.reported_at &&
           !same_line(*finding_.reported_at, finding_.location);
  }

  void capture() {
    if (finding_.kind != analyse::Kind::capture_violation) return;
    for (const Related& related : finding_.related) {
      if (related.role == "capture") add("Capture", {"begun at " + place(related.location)}, 1, 0);
    }
  }

  // The latest ones, newest first.
  void watched() {
    constexpr std::size_t kMost = 3;
    if (finding_.watched.empty()) return;
    std::vector<std::string> lines;
    for (auto at = finding_.watched.rbegin(); at != finding_.watched.rend(); ++at) {
      if (!verbose_ && static_cast<std::size_t>(at - finding_.watched.rbegin()) == kMost) break;
      std::string line = fmt::format("{} visit {}:", place(at->location), thousands(at->visit));
      for (const Argument& argument : at->arguments) line += " " + argument_line(argument, directory_) + ";";
      line.pop_back();
      lines.push_back(std::move(line));
    }
    lines.push_back(fmt::format("reading this took {} ms of the run", thousands(finding_.watched_milliseconds)));
    add("Watched", std::move(lines), 2, 4);
  }

  void inputs() {
    if (!finding_.inputs) return;
    const Inputs& inputs = *finding_.inputs;
    std::vector<std::string> lines = {
        fmt::format("{}, {} tensor{}, {}: {}", printable(inputs.op), inputs.tensors, inputs.tensors == 1 ? "" : "s",
                    size_text(inputs.bytes), printable(inputs.folder)),
        "replay.py there makes the call again: " + inputs.outcome};
    for (const std::string& missing : inputs.missing) lines.push_back("not as it was: " + printable(missing));
    add("Inputs", std::move(lines), 2, 3);
  }

  static bool same_line(const Location& a, const Location& b) {
    return a.line > 0 && a.line == b.line && a.file == b.file;
  }

  static std::string stream(std::uint64_t handle) {
    if (handle == kLegacyStream) return "default stream";
    if (handle == kPerThreadStream) return "per-thread default stream";
    return fmt::format("stream {:#x}", handle);
  }

  void launch() {
    if (!finding_.launch || finding_.launch->operation == "call") return;
    const Launch& launch = *finding_.launch;
    std::string facts;
    if (launch.operation == "kernel") {
      facts = fmt::format("  grid {}  block {}", dimensions(launch.grid), dimensions(launch.block));
    }
    if (launch.shared_bytes != 0) facts += fmt::format("  shared {} B", launch.shared_bytes);
    if (launch.stream != 0) facts += "  " + stream(launch.stream);
    if (launch.device.value_or(0) != 0) facts += fmt::format("  device {}", *launch.device);
    if (launch.operation != "kernel") {
      add("What", {launch.operation + facts}, 1, 0);
      return;
    }
    const std::size_t room = page_.columns - kLabelWidth;
    const std::size_t columns = std::max<std::size_t>(room > width(facts) ? room - width(facts) : 0, 16);
    const std::string kernel = printable(verbose_ ? launch.kernel : short_kernel_name(launch.kernel, columns));
    add("Kernel", {(kernel.empty() ? "name not known" : kernel) + facts}, 1, 0);
  }

  void device() {
    std::vector<std::string> lines = device_lines(finding_, directory_, verbose_);
    add("Device", finding_.device ? std::move(lines) : page_.wrap(lines.front()), 1, 5);
  }

  void witnesses() {
    if (finding_.memory) add("Memory", page_.wrap(printable(finding_.memory->text)), 1, 6);
    std::vector<std::string> lines;
    for (const std::string& sentence : finding_.witnesses) {
      for (std::string& line : page_.wrap(printable(sentence))) lines.push_back(std::move(line));
    }
    if (!lines.empty()) add("Witness", std::move(lines), 0, 6);
  }

  // "train.py:112 main > :88 step > :41 forward (+6 library frames)", outermost first.
  void stack() {
    struct Step {
      std::string file, function;
      int line;
    };
    std::vector<Step> steps;
    std::size_t folded = 0;
    for (auto frame = finding_.stack.python.rbegin(); frame != finding_.stack.python.rend(); ++frame) {
      frame->user ? steps.push_back({frame->file, frame->function, frame->line}) : void(++folded);
    }
    for (auto frame = finding_.stack.native.rbegin(); frame != finding_.stack.native.rend(); ++frame) {
      frame->user && !frame->file.empty() ? steps.push_back({frame->file, frame->function, frame->line})
                                          : void(++folded);
    }
    if (steps.empty()) return;
    const std::size_t skipped = steps.size() > kFramesNamed ? steps.size() - kFramesNamed : 0;
    std::string text = skipped > 0 ? fmt::format("({} outer) > ", skipped) : "";
    for (std::size_t i = skipped; i < steps.size(); ++i) {
      const bool repeated = i > skipped && steps[i].file == steps[i - 1].file;
      text += fmt::format("{}{}:{} {}", i > skipped ? " > " : "", repeated ? "" : path(steps[i].file), steps[i].line,
                          printable(without_parameters(steps[i].function)));
    }
    if (folded > 0) text += fmt::format(" (+{} library frame{})", folded, folded == 1 ? "" : "s");
    std::vector<std::string> lines = page_.wrap(text);
    if (lines.size() > 2) lines = {clip(text, page_.columns - kLabelWidth)};
    add("Stack", std::move(lines), 1, 6);
  }

  void whole_stack() {
    std::vector<std::string> python, native;
    for (const symbolize::PythonFrame& frame : finding_.stack.python) {
      python.push_back(
          fmt::format("{} {}:{} {}", frame.user ? '*' : ' ', path(frame.file), frame.line, printable(frame.function)));
    }
    for (const symbolize::NativeFrame& frame : finding_.stack.native) {
      const std::string function = frame.function.empty() ? "function not known" : printable(frame.function);
      const std::string where =
          frame.file.empty() ? printable(frame.module) : fmt::format("{}:{}", path(frame.file), frame.line);
      native.push_back(fmt::format("{} {} {}", frame.user ? '*' : ' ', where, function));
    }
    add("Python", std::move(python), 0, 0);
    add("Native", std::move(native), 0, 0);
  }

  void process() {
    std::string line = fmt::format("pid {}", finding_.pid);
    if (finding_.rank) line += fmt::format(", rank {}", *finding_.rank);
    if (!finding_.host.empty()) line += ", host " + printable(finding_.host);
    if (finding_.launch && finding_.launch->thread != 0) line += fmt::format(", thread {}", finding_.launch->thread);
    add("In", {line}, 1, 0);
  }

  Page& page_;
  const Finding& finding_;
  const std::string& directory_;
  const bool verbose_;
};

}  // namespace

std::string headline(const Finding& finding, const std::string& directory) {
  if (finding.race) return race_headline(finding, directory);
  if (finding.standstill) {
    return fmt::format("{} ({}) in {}", printable(finding.title), duration(*finding.standstill),
                       place(finding.location, directory));
  }
  const std::string code = finding.code == 0 ? "" : fmt::format(" ({})", finding.code);
  return fmt::format("{}{} in {}", printable(finding.title), code, place(finding.location, directory));
}

void add_finding(Page& page, const Finding& finding, const std::string& directory, bool verbose) {
  finding.race ? add_race(page, finding, directory, verbose) : FindingText(page, finding, directory, verbose).write();
}

}  // namespace cudadiag::report
