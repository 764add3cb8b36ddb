// Reads the text that cuda-gdb prints about a GPU core dump, and compares it with our reading of the dump.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "evidence/tool_text.h"

namespace cudadiag::evidence {
namespace {

// Returns the text after `mark`.
std::optional<std::string_view> after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + mark.size());
}

DebuggerLine place(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const auto line = base::whole_number<std::uint32_t>(base::trimmed(text.substr(colon + 1)));
  return line ? DebuggerLine{taken_part(text.substr(0, colon)), *line} : DebuggerLine{};
}

class DebuggerReader {
 public:
  DebuggerFacts read(std::string_view output) {
    while (!output.empty()) {
      const std::size_t end = std::min(output.find('\n'), output.size());
      const std::string_view line = output.substr(0, end);
      output.remove_prefix(std::min(output.size(), end + 1));
      if (line.size() > 4 * kLongestPart) continue;
      // Indented lines continue a frame.
      if (!frame_.empty() && line.starts_with(' ') && frame_.size() < 4 * kLongestPart) {
        frame_.append(line);
        continue;
      }
      end_frame();
      line.starts_with('#') ? void(frame_ = line) : read_line(line);
    }
    end_frame();
    return std::move(found_);
  }

 private:
  void read_line(std::string_view line) {
    if (const auto exception = after(line, "CUDA Exception: ")) return set_exception(*exception);
    if (line == "Assertion failed.") return set_exception("Warp Assert");
    if (const auto signal = after(line, "signal CUDA_EXCEPTION_")) {
      if (const auto name = after(*signal, ", ")) set_exception(name->substr(0, name->find('.')));
    } else if (auto error = after(line, "The exception was triggered at PC ")) {
      read_error(*error);
    } else if (line.find(" focus ") != std::string_view::npos && line.starts_with('[')) {
      read_focus(line);
    } else if (auto value = after(line, "$1 = "); value && !found_.error_pc) {
      found_.error_pc = take_address(*value);
    } else if (auto value2 = after(line, "$2 = "); value2 && !found_.pc) {
      found_.pc = take_address(*value2);
    }
  }

  void set_exception(std::string_view name) {
    if (found_.exception.empty()) found_.exception = taken_part(name);
  }

  // Reads "0x7fff20cd8fb0  kernel<64>(char const*)  (common.cuh:692)". The name and the line may be missing.
  void read_error(std::string_view text) {
    if (const auto pc = take_address(text)) found_.error_pc = pc;
    const std::size_t open = text.rfind('(');
    text = base::trimmed(text);
    if (open != std::string_view::npos && text.ends_with(')')) {
      text.remove_suffix(1);
      if (const std::size_t last = text.rfind('('); last != std::string_view::npos) {
        found_.error_line = place(text.substr(last + 1));
      }
    }
  }

  // Reads "[Current focus set to CUDA kernel 0, grid 3, cluster (0,0,0), block (0,0,0), thread (3,0,0), device 0, sm
  // 124, …]".
  void read_focus(std::string_view line) {
    if (found_.block) return;
    if (auto block = after(line, ", block ")) found_.block = take_dimensions(*block);
    if (auto thread = after(line, ", thread ")) found_.thread = take_dimensions(*thread);
  }

  // Reads "#0  0x00007f2e6fbff300 in far_load(int*)<<<(2,1,1),(32,1,1)>>> () at cases.cu:16".
  void end_frame() {
    const std::string whole = std::exchange(frame_, {});
    std::string_view frame = whole;
    const std::size_t name_at = frame.find_first_not_of("#0123456789");
    if (name_at == std::string_view::npos) return;
    const bool innermost = frame.starts_with("#0 ");
    frame = base::trimmed(frame.substr(name_at));
    const auto pc = take_address(frame);
    if (pc && innermost && !found_.pc) found_.pc = pc;
    if (const std::size_t at = frame.rfind(" at ");
        innermost && found_.line.line == 0 && at != std::string_view::npos) {
      found_.line = place(frame.substr(at + 4));
    }
    const std::size_t launch = frame.find("<<<(");
    if (launch == std::string_view::npos || !found_.kernel.empty()) return;
    const std::string_view name = base::trimmed(frame.substr(0, launch));
    found_.kernel = taken_part(name.starts_with("in ") ? name.substr(3) : name);
    frame.remove_prefix(launch + 3);
    found_.grid = take_dimensions(frame);
    // The size of the cluster may be printed between grid and block.
    while (frame.starts_with(',')) {
      frame.remove_prefix(1);
      found_.block_dim = take_dimensions(frame);
    }
  }

  DebuggerFacts found_;
  std::string frame_;
};

// Removes spaces. Unless `parameters` is true, also shortens "far_load(int*)" to "far_load".
std::string comparable(const std::string& name, bool parameters) {
  std::string text;
  int depth = 0;  // nesting depth of template arguments
  for (std::size_t i = 0; i < name.size(); ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    const bool anonymous = name.compare(i, 11, "(anonymous ") == 0;
    if (name[i] == '(' && !anonymous && depth <= 0 && !parameters) break;
    if (name[i] != ' ') text += name[i];
  }
  return text.starts_with("void") && name.starts_with("void ") ? text.substr(4) : text;
}

bool same_name(const std::string& here, const std::string& there) {
  const bool parameters = here.ends_with(')') && there.ends_with(')');
  return comparable(here, parameters) == comparable(there, parameters);
}

bool same_file(const std::string& a, const std::string& b) {
  const auto ends = [](const std::string& whole, const std::string& end) {
    return whole == end || whole.ends_with("/" + end);
  };
  return ends(a, b) || ends(b, a);
}

std::string position(const Dim3& d) { return fmt::format("{},{},{}", d[0], d[1], d[2]); }
std::string position(std::uint64_t pc) { return fmt::format("{:#x}", pc); }

class Comparison {
 public:
  CrossCheck run(const DumpedFailure& failure, const DebuggerFacts& debugger) {
    if (failure.exception != 0 && !debugger.exception.empty()) {
      tell("exception", failure.exception_name, debugger.exception, failure.exception_name == debugger.exception);
    }
    const std::string kernel = base::demangle(failure.kernel);
    if (!kernel.empty() && !debugger.kernel.empty()) {
      tell("kernel", kernel, debugger.kernel, same_name(kernel, debugger.kernel));
    }
    compare("grid", failure.grid, debugger.grid);
    compare("block size", failure.block_dim, debugger.block_dim);
    compare("block", failure.block, debugger.block);
    compare("thread", failure.thread, debugger.thread);
    compare_places(failure, debugger);
    return std::move(check_);
  }

 private:
  void tell(const char* field, const std::string& here, const std::string& there, bool same) {
    same ? void(check_.same.emplace_back(field)) : check_.different.push_back({field, here, there});
  }

  template <typename T>
  void compare(const char* field, const std::optional<T>& here, const std::optional<T>& there) {
    if (here && there) tell(field, position(*here), position(*there), *here == *there);
  }

  // Compares the failing instruction in the dump with the one that the debugger reports. If the failing instruction is
  // unknown, compares the instructions at which the thread stopped.
  void compare_places(const DumpedFailure& failure, const DebuggerFacts& debugger) {
    if (!failure.witness) return;
    const bool failed = *failure.witness != PcWitness::thread;
    const CodePlace* stands = !failed ? &failure.place : failure.stands ? &*failure.stands : nullptr;
    if (failed && debugger.error_line.line != 0) {
      compare_lines(failure.place, debugger.error_line);
    } else if (stands != nullptr) {
      compare_lines(*stands, debugger.line);
    }
    if (failed && debugger.error_pc) {
      compare<std::uint64_t>("PC", failure.place.pc, debugger.error_pc);
    } else if (stands != nullptr) {
      compare<std::uint64_t>("PC", stands->pc, debugger.pc);
    }
  }

  void compare_lines(const CodePlace& place, const DebuggerLine& there) {
    if (place.lines.empty() || there.line == 0) return;
    const auto is_there = [&](const SourceLine& line) {
      return line.line == there.line && same_file(line.file, there.file);
    };
    const auto found = std::ranges::find_if(place.lines, is_there);
    std::string told = fmt::format("{}:{}", there.file, there.line);
    if (found != place.lines.end() && found != place.lines.begin()) told += " (into which it was inlined)";
    tell("line", fmt::format("{}:{}", place.lines.front().file, place.lines.front().line), told,
         found == place.lines.begin());
  }

  CrossCheck check_;
};

// Joins words: "kernel, grid, exception".
std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

DebuggerFacts debugger_facts(std::string_view output) { return DebuggerReader().read(output); }

CrossCheck cross_check(const DumpedFailure& failure, const DebuggerFacts& debugger) {
  return Comparison().run(failure, debugger);
}

DebuggerCheck debugger_check(const std::optional<DumpedFailure>& failure, std::string_view output,
                             const std::string& ended) {
  DebuggerCheck witness;
  if (!ended.empty()) {
    witness.failed = "cuda-gdb failed on this dump (" + ended + ")";
  } else if (failure) {
    witness.check = cross_check(*failure, debugger_facts(output));
  }
  return witness;
}

std::vector<std::string> sentences(const DebuggerCheck& witness) {
  if (!witness.failed.empty()) return {witness.failed};
  std::vector<std::string> told;
  for (const Difference& difference : witness.check.different) {
    told.push_back(
        fmt::format("cuda-gdb differs: {} {} instead of {}", difference.field, difference.there, difference.here));
  }
  if (!witness.check.same.empty()) {
    told.push_back("cuda-gdb agrees: " + listed(witness.check.same));
  }
  if (told.empty()) told.emplace_back("cuda-gdb reported nothing that can be compared");
  return told;
}

std::string outcome(const DebuggerCheck& witness) {
  if (!witness.failed.empty()) return "cuda-gdb failed";
  if (witness.check.different.empty()) return witness.check.same.empty() ? "cuda-gdb silent" : "cuda-gdb agrees";
  std::vector<std::string> fields;
  for (const Difference& difference : witness.check.different) fields.push_back(difference.field);
  return "cuda-gdb differs: " + listed(fields);
}

}  // namespace cudadiag::evidence
