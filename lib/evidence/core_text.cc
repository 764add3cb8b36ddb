#include "evidence/core_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/demangle.h"

namespace cudadiag::evidence {
namespace {

std::string text_of(const Dim3& d) { return fmt::format("{},{},{}", d[0], d[1], d[2]); }

std::string text_of(const SourceLine& line) {
  return fmt::format("{}:{}", line.file.empty() ? "an unnamed file" : line.file, line.line);
}

std::string name_of(const SourceLine& line) {
  return line.function.empty() ? "a function with an unknown name" : base::demangle(line.function);
}

std::string counted(std::uint64_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string function_and_offset(const CodePlace& place) {
  if (place.function.empty()) return "code that is not in the dump";
  return fmt::format("{}+{:#x}", base::demangle(place.function), place.offset);
}

std::string place_and_line(const CodePlace& place) {
  std::string text = function_and_offset(place);
  if (!place.lines.empty()) text += ", " + text_of(place.lines.front());
  return text;
}

class Description {
 public:
  std::vector<std::string> of_failure(const DumpedFailure& failure, const std::string& instruction,
                                      const std::vector<std::string>& access) {
    lines_.push_back(headline(failure));
    if (!failure.message.empty()) add("Message", failure.message);
    add_lines(failure);
    add_kernel(failure);
    add_threads(failure);
    add_pc(failure);
    if (!instruction.empty()) add("Code", instruction);
    for (const std::string& line : access) add("Access", line);
    add_stand(failure);
    add_callers(failure.callers);
    add_registers(failure.registers);
    return std::move(lines_);
  }

  static std::string labelled(const char* label, const std::string& text) {
    return fmt::format("{:<8}{}", label, text);
  }

 private:
  void add(const char* label, const std::string& text) { lines_.push_back(labelled(label, text)); }

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
    for (const SourceLine& line : place.lines) {
      const bool own = place.lines.size() == 1;
      add(&line == &place.lines.front() ? "Line" : "inlined",
          own ? text_of(line) : text_of(line) + " in " + name_of(line));
    }
    if (failure.trap && failure.trap->line != place.lines.front().line) {
      add("Trap", text_of(*failure.trap) + ", the preceding instruction");
    }
  }

  void add_kernel(const DumpedFailure& failure) {
    std::string text = failure.kernel.empty() ? "unknown" : base::demangle(failure.kernel);
    if (failure.grid) {
      text += fmt::format("  grid {}  block {}", text_of(*failure.grid), text_of(*failure.block_dim));
    } else {
      text += "; its grid is not in the dump";
    }
    if (failure.grid_id) text += fmt::format("  grid id {}", *failure.grid_id);
    if (failure.host_thread) text += fmt::format("  launched by host thread {}", *failure.host_thread);
    add("Kernel", text);
  }

  void add_threads(const DumpedFailure& failure) {
    if (!failure.block || !failure.thread) {
      return add("Failed", fmt::format("unknown threads: their warp had exited (SM {})", failure.sm));
    }
    add("Failed",
        fmt::format("{} of {}; first: block {}, thread {} (SM {}, warp {}, lane {})",
                    counted(*failure.threads, "thread"), counted(*failure.blocks, "block"), text_of(*failure.block),
                    text_of(*failure.thread), failure.sm, *failure.warp, *failure.lane));
  }

  void add_pc(const DumpedFailure& failure) {
    if (!failure.witness) return add("PC", "unknown");
    constexpr const char* kBy[] = {"", ", reported by the SM", ", after the instruction that failed"};
    const CodePlace& place = failure.place;
    add("PC",
        fmt::format("{:#x}, {}{}", place.pc, function_and_offset(place), kBy[static_cast<int>(*failure.witness)]));
  }

  void add_stand(const DumpedFailure& failure) {
    const CodePlace& place = failure.place;
    if (failure.witness && failure.stands && failure.stands->pc != place.pc) {
      add("Stopped", fmt::format("{:#x}, {}", failure.stands->pc, place_and_line(*failure.stands)));
    }
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
      add(fmt::format("R{}", i).c_str(), values);
    }
  }

  std::vector<std::string> lines_;
};

void describe_running(const RunningKernel& kernel, std::vector<std::string>& lines) {
  std::string text = kernel.kernel.empty() ? "unknown" : base::demangle(kernel.kernel);
  if (kernel.grid) text += fmt::format("  grid {}  block {}", text_of(*kernel.grid), text_of(*kernel.block_dim));
  text += fmt::format("  grid id {}", kernel.grid_id.value_or(0));
  if (kernel.host_thread) text += fmt::format("  launched by host thread {}", *kernel.host_thread);
  lines.push_back(Description::labelled("Kernel", text));
  lines.push_back(
      Description::labelled("Running", counted(kernel.threads, "thread") + " of " + counted(kernel.blocks, "block")));
  for (const RunningPlace& place : kernel.places) {
    lines.push_back(Description::labelled(
        "Stopped", fmt::format("{}: {}; first: block {}, thread {}", place_and_line(place.place),
                               counted(place.threads, "thread"), text_of(place.block), text_of(place.thread))));
  }
}

}  // namespace

std::vector<std::string> describe(const CoreFacts& facts, const std::string& instruction,
                                  const std::vector<std::string>& access) {
  std::vector<std::string> lines;
  if (facts.failure) {
    lines = Description().of_failure(*facts.failure, instruction, access);
  } else if (facts.damaged > 0) {
    lines = {"No exception in the parts that could be read"};
  } else {
    lines = {"No exception: this dump was requested, not caused by a failure"};
  }
  for (const RunningKernel& kernel : facts.running) describe_running(kernel, lines);
  if (!facts.failure && facts.running.empty() && facts.damaged == 0 && !facts.devices.empty()) {
    lines.push_back(Description::labelled("Kernel", "none was running"));
  }
  if (facts.failed_sms.size() > 1) {
    std::string sms;
    for (const std::uint32_t sm : facts.failed_sms) sms += (sms.empty() ? "" : ", ") + std::to_string(sm);
    lines.push_back(Description::labelled("SMs", sms + " report an exception"));
  }
  for (const std::string& device : facts.devices) lines.push_back(Description::labelled("Device", device));
  if (!facts.versions.empty()) lines.push_back(Description::labelled("Made by", facts.versions));
  if (facts.damaged > 0) {
    lines.push_back(
        Description::labelled("Damaged", counted(facts.damaged, "part") + " of the dump could not be read"));
  }
  return lines;
}

namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json name_or_null(const std::string& mangled) { return text_or_null(base::demangle(mangled)); }

template <typename T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json of(const SourceLine& line) {
  return {{"function", name_or_null(line.function)}, {"file", text_or_null(line.file)}, {"line", line.line}};
}

Json inline_chain(const CodePlace& place) {
  Json chain = Json::array();
  if (place.lines.size() < 2) return chain;
  for (const SourceLine& line : place.lines) chain.push_back(of(line));
  return chain;
}

Json of(const DebuggerCheck* debugger) {
  if (debugger == nullptr) return nullptr;
  Json different = Json::array();
  for (const Difference& difference : debugger->check.different) {
    different.push_back({{"field", difference.field}, {"here", difference.here}, {"there", difference.there}});
  }
  return {{"failed", text_or_null(debugger->failed)}, {"same", debugger->check.same}, {"different", different}};
}

Json of(const AccessSummary* access) {
  if (access == nullptr) return nullptr;
  const auto address = [](const std::optional<std::uint64_t>& value) {
    return value ? Json(fmt::format("{:#x}", *value)) : Json(nullptr);
  };
  return {{"kind", access->kind},
          {"bytes", access->bytes != 0 ? Json(access->bytes) : Json(nullptr)},
          {"address", address(access->address)},
          {"space", access->space},
          {"parameter", value_or_null(access->parameter)},
          {"parameter_byte", access->parameter ? Json(access->parameter_byte) : Json(nullptr)},
          {"value", address(access->value)}};
}

Json running(const CoreFacts& facts) {
  Json kernels = Json::array();
  for (const RunningKernel& kernel : facts.running) {
    Json places = Json::array();
    for (const RunningPlace& place : kernel.places) {
      const SourceLine* line = place.place.lines.empty() ? nullptr : &place.place.lines.front();
      places.push_back({{"pc", fmt::format("{:#x}", place.place.pc)},
                        {"function", name_or_null(line != nullptr ? line->function : place.place.function)},
                        {"file", line != nullptr ? text_or_null(line->file) : Json(nullptr)},
                        {"line", line != nullptr ? Json(line->line) : Json(nullptr)},
                        {"threads", place.threads},
                        {"block", place.block},
                        {"thread", place.thread}});
    }
    kernels.push_back({{"kernel", name_or_null(kernel.kernel)},
                       {"grid", value_or_null(kernel.grid)},
                       {"block_dim", value_or_null(kernel.block_dim)},
                       {"grid_id", kernel.grid_id.value_or(0)},
                       {"blocks", kernel.blocks},
                       {"threads", kernel.threads},
                       {"places", std::move(places)}});
  }
  return kernels;
}

}  // namespace

std::string write_json(const CoreFacts& facts, const std::string& instruction, const DebuggerCheck* debugger,
                       const AccessSummary* access) {
  const DumpedFailure failure = facts.failure.value_or(DumpedFailure{});
  const CodePlace& place = failure.place;
  const SourceLine* line = place.lines.empty() ? nullptr : &place.lines.front();
  const Json json = {
      {"exception", text_or_null(failure.exception_name)},
      {"function", name_or_null(line != nullptr ? line->function : place.function)},
      {"file", line != nullptr ? text_or_null(line->file) : Json(nullptr)},
      {"line", line != nullptr ? Json(line->line) : Json(nullptr)},
      {"block", value_or_null(failure.block)},
      {"thread", value_or_null(failure.thread)},
      {"message", text_or_null(failure.message)},
      {"kernel", name_or_null(failure.kernel)},
      {"grid", value_or_null(failure.grid)},
      {"block_dim", value_or_null(failure.block_dim)},
      {"pc", failure.witness ? Json(fmt::format("{:#x}", place.pc)) : Json(nullptr)},
      {"instruction", text_or_null(instruction)},
      {"access", of(access)},
      {"inline", inline_chain(place)},
      {"grid_id", value_or_null(failure.grid_id)},
      {"threads", value_or_null(failure.threads)},
      {"running", running(facts)},
      {"cuda_gdb", of(debugger)},
  };
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace cudadiag::evidence
