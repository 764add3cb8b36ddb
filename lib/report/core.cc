#include "report/core.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "diagnose/words.h"
#include "report/json_schema.h"

namespace cudadiag::report {
namespace {

using evidence::CodePlace;
using evidence::DumpedFailure;
using evidence::RunningKernel;
using evidence::RunningPlace;
using evidence::SourceLine;

std::string numbers(const evidence::Dim3& d) { return fmt::format("{},{},{}", d[0], d[1], d[2]); }

std::string file_and_line(const SourceLine& line) {
  return fmt::format("{}:{}", line.file.empty() ? "an unnamed file" : line.file, line.line);
}

std::string function_and_offset(const CodePlace& place) {
  if (place.function.empty()) return "code that is not in the dump";
  return fmt::format("{}+{:#x}", base::demangle(place.function), place.offset);
}

std::string place_and_line(const CodePlace& place) {
  std::string text = function_and_offset(place);
  if (!place.lines.empty()) text += ", " + file_and_line(place.lines.front());
  return text;
}

std::string kernel_words(const evidence::DumpedKernel& kernel, const char* without_grid = "") {
  std::string text = kernel.kernel.empty() ? "unknown" : base::demangle(kernel.kernel);
  text += kernel.grid ? fmt::format("  grid {}  block {}", numbers(*kernel.grid), numbers(*kernel.block_dim))
                      : without_grid;
  if (kernel.grid_id) text += fmt::format("  grid id {}", *kernel.grid_id);
  if (kernel.host_thread) text += fmt::format("  launched by host thread {}", *kernel.host_thread);
  return text;
}

std::string plain_counted(std::uint64_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

class CorePage {
 public:
  Page of(const Core& core) {
    const evidence::CoreFacts& facts = core.facts;
    if (facts.failure) {
      add_failure(*facts.failure, core);
    } else {
      add("", facts.damaged > 0 ? "No exception in the parts that could be read"
                                : "No exception: this dump was requested, not caused by a failure");
    }
    for (const RunningKernel& kernel : facts.running) add_running(kernel);
    if (!facts.failure && facts.running.empty() && facts.damaged == 0 && !facts.devices.empty()) {
      add("Kernel", "none was running");
    }
    if (facts.failed_sms.size() > 1) {
      std::string sms;
      for (const std::uint32_t sm : facts.failed_sms) sms += (sms.empty() ? "" : ", ") + std::to_string(sm);
      add("SMs", sms + " report an exception");
    }
    for (const std::string& device : facts.devices) add("Device", device);
    if (!facts.versions.empty()) add("Made by", facts.versions);
    if (facts.damaged > 0) add("Damaged", plain_counted(facts.damaged, "part") + " of the dump could not be read");
    if (core.debugger) {
      page_.add({.label = "Witness", .lines = evidence::sentences(*core.debugger), .wide = Wide::stays});
    }
    return std::move(page_);
  }

 private:
  void add(const std::string& label, const std::string& text) {
    page_.add({.label = label, .lines = {text}, .wide = Wide::stays});
  }

  void add_failure(const DumpedFailure& failure, const Core& core) {
    add("", headline(failure));
    if (!failure.message.empty()) add("Message", failure.message);
    add_lines(failure);
    add("Kernel", kernel_words(failure, "; its grid is not in the dump"));
    add_threads(failure);
    add_pc(failure);
    if (!core.instruction.empty()) add("Code", core.instruction);
    if (core.access) {
      for (const std::string& line : diagnose::access_lines(*core.access)) add("Access", line);
    }
    if (failure.witness && failure.stands && failure.stands->pc != failure.place.pc) {
      add("Stopped", fmt::format("{:#x}, {}", failure.stands->pc, place_and_line(*failure.stands)));
    }
    add_callers(failure.callers);
    add_registers(failure.registers);
  }

  static std::string headline(const DumpedFailure& failure) {
    std::string text = failure.exception_name;
    if (failure.exception != 0) text += fmt::format(" ({})", failure.exception);
    if (!failure.place.function.empty()) text += " in " + base::demangle(failure.place.function);
    return text;
  }

  void add_lines(const DumpedFailure& failure) {
    const CodePlace& place = failure.place;
    if (!failure.witness) return;
    if (place.function.empty()) return add("Line", "unknown: the code around the PC is not in the dump");
    if (place.lines.empty()) return add("Line", "unknown: the code has no line information (nvcc -lineinfo)");
    const char* label = "Line";
    for (const SourceLine& line : place.lines) {
      std::string text = file_and_line(line);
      if (place.lines.size() > 1) {
        text += " in " + (line.function.empty() ? "a function with an unknown name" : base::demangle(line.function));
      }
      add(std::exchange(label, "inlined"), text);
    }
    if (failure.trap && failure.trap->line != place.lines.front().line) {
      add("Trap", file_and_line(*failure.trap) + ", the preceding instruction");
    }
  }

  void add_threads(const DumpedFailure& failure) {
    if (!failure.block || !failure.thread) {
      return add("Failed", fmt::format("unknown threads: their warp had exited (SM {})", failure.sm));
    }
    add("Failed",
        fmt::format("{} of {}; first: block {}, thread {} (SM {}, warp {}, lane {})",
                    plain_counted(*failure.threads, "thread"), plain_counted(*failure.blocks, "block"),
                    numbers(*failure.block), numbers(*failure.thread), failure.sm, *failure.warp, *failure.lane));
  }

  void add_pc(const DumpedFailure& failure) {
    if (!failure.witness) return add("PC", "unknown");
    constexpr const char* kBy[] = {"", ", reported by the SM", ", after the instruction that failed"};
    const CodePlace& place = failure.place;
    add("PC",
        fmt::format("{:#x}, {}{}", place.pc, function_and_offset(place), kBy[static_cast<int>(*failure.witness)]));
  }

  // Prints a recursive caller only once, with the number of its calls.
  void add_callers(const std::vector<CodePlace>& callers) {
    for (std::size_t i = 0; i < callers.size();) {
      std::size_t end = i + 1;
      while (end < callers.size() && callers[end].pc == callers[i].pc) ++end;
      const std::string times = end - i > 1 ? fmt::format(" ({} times)", end - i) : "";
      add("from", place_and_line(callers[i]) + times);
      i = end;
    }
  }

  void add_registers(const std::vector<std::uint32_t>& registers) {
    constexpr std::size_t kInLine = 8;
    for (std::size_t i = 0; i < registers.size(); i += kInLine) {
      std::string values;
      for (std::size_t at = i; at < std::min(registers.size(), i + kInLine); ++at) {
        values += fmt::format("{}{:08x}", at == i ? "" : " ", registers[at]);
      }
      add(fmt::format("R{}", i), values);
    }
  }

  void add_running(const RunningKernel& kernel) {
    add("Kernel", kernel_words(kernel));
    add("Running", plain_counted(kernel.threads, "thread") + " of " + plain_counted(kernel.blocks, "block"));
    for (const RunningPlace& place : kernel.places) {
      add("Stopped", fmt::format("{}: {}; first: block {}, thread {}", place_and_line(place.place),
                                 plain_counted(place.threads, "thread"), numbers(place.block), numbers(place.thread)));
    }
  }

  Page page_;
};

}  // namespace

Page core_page(const Core& core) { return CorePage().of(core); }

static void list(Members& to, const SourceLine& line) {
  to.type("line");
  to.text("function", base::demangle(line.function));
  to.text("file", line.file);
  to.add("line", line.line);
}

// Adds the members `function`, `file` and `line` of the innermost line.
static void add_innermost(Members& to, const CodePlace& place) {
  const SourceLine* line = place.lines.empty() ? nullptr : &place.lines.front();
  to.text("function", base::demangle(line != nullptr ? line->function : place.function));
  to.text("file", line != nullptr ? line->file : "");
  to.add("line", line != nullptr ? std::optional(line->line) : std::nullopt);
}

static void list(Members& to, const diagnose::DumpAccess& access) {
  const diagnose::BaseParameter* parameter = diagnose::only_parameter(access);
  to.type("access");
  to.add("kind", diagnose::word(access.kind));
  to.unless_zero("bytes", access.bytes);
  to.address("address", access.lanes.empty() ? std::nullopt : std::optional(access.lanes.front().address));
  to.add("space", diagnose::word(access.space));
  to.add("parameter", parameter != nullptr ? parameter->number : std::nullopt);
  to.add("parameter_byte", parameter != nullptr && parameter->number ? std::optional(parameter->byte) : std::nullopt);
  to.address("value", parameter != nullptr ? parameter->value : std::nullopt);
}

static void list(Members& to, const RunningPlace& place) {
  to.type("running_place");
  to.address("pc", place.place.pc);
  add_innermost(to, place.place);
  to.add("threads", place.threads);
  to.add("block", place.block);
  to.add("thread", place.thread);
}

static void list(Members& to, const RunningKernel& kernel) {
  to.type("running_kernel");
  to.text("kernel", base::demangle(kernel.kernel));
  to.add("grid", kernel.grid);
  to.add("block_dim", kernel.block_dim);
  to.add("grid_id", kernel.grid_id.value_or(0));
  to.add("blocks", kernel.blocks);
  to.add("threads", kernel.threads);
  to.add("places", kernel.places);
}

static void list(Members& to, const evidence::Difference& difference) {
  to.type("difference");
  to.add("field", difference.field);
  to.add("here", difference.here);
  to.add("there", difference.there);
}

static void list(Members& to, const evidence::DebuggerCheck& debugger) {
  to.type("cuda_gdb");
  to.text("failed", debugger.failed);
  to.add("same", debugger.check.same);
  to.add("different", debugger.check.different);
}

static void list(Members& to, const Core& core) {
  const DumpedFailure failure = core.facts.failure.value_or(DumpedFailure{});
  const CodePlace& place = failure.place;
  to.type("core");
  to.text("exception", failure.exception_name);
  add_innermost(to, place);
  to.add("block", failure.block);
  to.add("thread", failure.thread);
  to.text("message", failure.message);
  to.text("kernel", base::demangle(failure.kernel));
  to.add("grid", failure.grid);
  to.add("block_dim", failure.block_dim);
  to.address("pc", failure.witness ? std::optional(place.pc) : std::nullopt);
  to.text("instruction", core.instruction);
  to.add("access", core.access);
  to.add("inline", place.lines.size() < 2 ? std::vector<SourceLine>() : place.lines);
  to.add("grid_id", failure.grid_id);
  to.add("threads", failure.threads);
  to.add("running", core.facts.running);
  to.add("cuda_gdb", core.debugger);
}

std::string write_core_json(const Core& core) { return Members::document(core); }

}  // namespace cudadiag::report
