// Writes the lines of a race.
#include <fmt/core.h>

#include <algorithm>

#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/words.h"
#include "report/finding_text.h"

namespace cudadiag::report {
namespace {

using diagnose::TensorRole;
using session::RaceMode;
using session::Work;

constexpr std::size_t kKernelColumns = 40;

std::string bytes(const diagnose::ResolvedAccess& access) {
  const std::string bytes = fmt::format("({} B)", diagnose::thousands(access.end - access.begin));
  if (access.array != 0) {
    return access.somewhere
               ? fmt::format("somewhere in array {:#x}", access.array)
               : fmt::format("bytes {}..{} {} of array {:#x}", access.begin, access.end, bytes, access.array);
  }
  if (access.somewhere) return fmt::format("somewhere in {:#x}..{:#x} {}", access.begin, access.end, bytes);
  if (!access.exact) return fmt::format("at {:#x}", access.begin);
  return fmt::format("{:#x}..{:#x} {}", access.begin, access.end, bytes);
}

std::string what(const diagnose::ResolvedAccess& access, bool verbose) {
  std::string text(!access.on_host ? word(access.operation) : access.op.empty() ? "code on the CPU" : "operator");
  if (!access.kernel.empty()) {
    text += " " + (verbose ? access.kernel : diagnose::short_kernel_name(access.kernel, kKernelColumns));
  }
  if (access.graph_node > 0) text += fmt::format(" (node {} of a graph)", access.graph_node);
  const bool says = access.on_host || access.operation == Work::kernel || access.operation == Work::copy ||
                    access.operation == Work::memset;
  if (says)
    text += access.mode == RaceMode::unknown ? ", may write" : access.mode == RaceMode::read ? ", reads" : ", writes";
  return text;
}

// Describes what a thread of a kernel does.
const char* inside(const diagnose::ResolvedAccess& access) {
  return access.mode == RaceMode::read ? "reads" : access.mode == RaceMode::atomic ? "updates" : "writes";
}

// cudadiag detects a write by the CPU only by the changed memory, so the line may be unknown.
bool has_line(const diagnose::ResolvedAccess& access) { return !access.on_host || access.location.known(); }

}  // namespace

Lines racing_access_lines(const diagnose::ResolvedAccess& access, const std::string& directory, bool verbose) {
  Lines lines;
  if (has_line(access)) lines.push_back(diagnose::place(access.location, directory));
  if (access.block && access.thread) {
    lines.push_back(fmt::format("block {} thread {}  {}  {}", diagnose::dimensions(*access.block),
                                diagnose::dimensions(*access.thread), inside(access), bytes(access)));
    return lines;
  }
  lines.push_back(what(access, verbose) + "  " + bytes(access) + "  " +
                  (access.on_host ? "the host" : diagnose::stream_name(access.stream)));
  if (verbose && !access.schema.empty()) lines.push_back(access.schema);
  if (!verbose) {
    std::string callers;
    std::size_t named = 0;
    for (const symbolize::PythonFrame& frame : access.stack.python) {
      if (!frame.user || (frame.file == access.location.file && frame.line == access.location.line)) continue;
      if (++named > 2) break;
      callers += fmt::format("{}{}:{} {}", callers.empty() ? "called by " : " < ",
                             diagnose::relative_path(frame.file, directory), frame.line, frame.function);
    }
    if (!callers.empty()) lines.push_back(callers);
    return lines;
  }
  for (std::string& line : python_stack_lines(access.stack.python, directory)) lines.push_back(std::move(line));
  for (std::string& line : native_stack_lines(access.stack, directory)) lines.push_back(std::move(line));
  return lines;
}

namespace {

// Returns a tensor's name, type and shape, such as "x float32[1048576]".
std::string tensor_name(const diagnose::RaceTensor& tensor, const std::string& otherwise) {
  std::string text = tensor.name.empty() ? otherwise : (tensor.view ? "view of " : "") + tensor.name;
  if (text.empty()) text = "a tensor";
  if (!tensor.dtype.empty()) text += " " + tensor.dtype;
  return text + (tensor.shape.empty() ? "[]" : causes::subscript(tensor.shape));
}

// Describes how an operator uses the tensor: "argument self of aten::add_ (written)".
std::string use(const diagnose::ResolvedAccess& access) {
  const std::string op = access.op.substr(0, access.op.find('.'));
  if (!access.tensor) return op + ", in its own memory";
  const diagnose::RaceTensor& tensor = *access.tensor;
  std::string text = "used by the " + std::string(word(access.operation));
  if (tensor.role != TensorRole::variable) {
    text = fmt::format("{}{} of {}", tensor.role == TensorRole::argument ? "argument " : "", tensor.argument, op);
  }
  const bool written = tensor.written.value_or(session::alters(access.mode));
  const bool known = tensor.written || access.mode != RaceMode::unknown;
  return text + (!known ? "" : written ? " (written)" : " (read)");
}

}  // namespace

Lines race_tensors(const diagnose::ResolvedRace& race) {
  const diagnose::ResolvedAccess &first = race.accesses[0], &second = race.accesses[1];
  const auto known = [](const diagnose::ResolvedAccess& access) { return access.tensor || !access.op.empty(); };
  if (!known(first) && !known(second)) return {};
  const auto same_kind = [&] {
    const diagnose::RaceTensor &a = *first.tensor, &b = *second.tensor;
    return a.dtype == b.dtype && a.shape == b.shape && a.begin == b.begin;
  };
  const auto name = [&](const diagnose::ResolvedAccess& access, const diagnose::ResolvedAccess& other) {
    if (!access.tensor) return std::string();
    // If the source line of one access does not name the tensor, the line of the other access may.
    const bool other_names = other.tensor && same_kind() && !other.tensor->view;
    return tensor_name(*access.tensor, other_names ? other.tensor->name : "") + ": ";
  };
  const std::string a = name(first, second), b = name(second, first);
  if (known(first) && known(second) && a == b) return {fmt::format("{}{}; {}", a, use(first), use(second))};
  Lines lines;
  for (const diagnose::ResolvedAccess* access : {&first, &second}) {
    if (known(*access)) lines.push_back((access == &first ? a : b) + use(*access));
  }
  return lines;
}

std::string race_headline(const diagnose::Finding& finding, const std::string& directory, bool paths) {
  const auto place = [&](const diagnose::ResolvedAccess& access) {
    return diagnose::place(paths ? access.location : diagnose::with_file_name(access.location), directory);
  };
  const auto& accesses = finding.race->accesses;
  if (finding.kind == analyse::Kind::kernel_race) {
    const std::string one = place(accesses[0]), other = place(accesses[1]);
    return fmt::format("{}: {}", finding.title, one == other ? one : one + " and " + other);
  }
  if (!has_line(accesses[1])) return fmt::format("{}: {}", finding.title, place(accesses[0]));
  return fmt::format("{}: {}, after {}", finding.title, place(accesses[1]), place(accesses[0]));
}

Lines shared_bytes(const diagnose::ResolvedRace& race) {
  if (!race.overlap || race.overlap->bytes == 0) return {};
  const diagnose::RaceOverlap& overlap = *race.overlap;
  const std::uint64_t range = overlap.end - overlap.begin;
  std::string text =
      fmt::format("both use {} B at {:#x}..{:#x}", diagnose::thousands(overlap.bytes), overlap.begin, overlap.end);
  if (range > overlap.bytes) text += fmt::format(", out of {} B there", diagnose::thousands(range));
  return {text};
}

Lines race_memory(const diagnose::ResolvedRace& race, const std::string& directory) {
  if (!race.allocation) return {};
  const diagnose::PointedMemory& memory = *race.allocation;
  std::string text = fmt::format("{:#x}, {} B", memory.address, diagnose::thousands(memory.bytes));
  if (!memory.owner.empty()) text += ", of " + memory.owner;
  if (memory.allocated) text += ", allocated at " + diagnose::place(*memory.allocated, directory);
  return {text};
}

}  // namespace cudadiag::report
