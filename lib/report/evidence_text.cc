// Writes what is known about a failure: the access, the device line, values, pointers, and the memory in use.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/words.h"
#include "report/finding_text.h"

namespace cudadiag::report {
namespace {

using causes::size_text;
using diagnose::Relation;

std::string threads_of(const diagnose::Access& access) {
  if (access.threads == 0) return "";
  std::string text = "; " + counted(access.threads, "thread");
  if (access.threads > 1) {
    if (access.relation == Relation::past_end) text += ", all past the end of the same memory";
    if (access.relation == Relation::before) text += ", all before the beginning of the same memory";
    if (access.farthest && access.distance && *access.farthest > *access.distance) {
      text += fmt::format(", the farthest by {}", size_text(*access.farthest));
    }
  }
  return text;
}

// Describes an access that was inferred from the code. Its thread is unknown.
std::string line_by_code(const diagnose::Access& access, const std::string& what) {
  std::string text = what;
  const bool loaded = !access.loaded.empty();
  if (access.parameter)
    text += loaded ? " through " + diagnose::through_words(access)
                   : fmt::format(" through parameter {}", *access.parameter);
  if (access.space == sass::Space::shared) text += " to shared memory";
  if (access.from_memory) text += " through a pointer from " + (access.table.empty() ? "memory" : access.table);
  if (access.allocation) text += fmt::format(" ({})", size_text(access.allocation->bytes));
  return text + "; inferred from the kernel's code, its grid and its parameters" +
         (loaded ? ", and from recorded copies into its memory" : "");
}

}  // namespace

Lines access_lines(const diagnose::Finding& finding, bool verbose) {
  if (!finding.access) return {};
  const diagnose::Access& access = *finding.access;
  constexpr const char* kKinds[] = {"load", "store", "atomic operation", "copy"};
  constexpr const char* kSpaces[] = {"", " of shared memory", " of local memory", ""};
  std::string text = kKinds[static_cast<int>(access.kind)];
  if (access.bytes != 0) text += " of " + counted(access.bytes, "byte");
  if (access.by_code) return {line_by_code(access, text)};
  if (access.address) text += fmt::format(" at {:#x}{}", *access.address, kSpaces[static_cast<int>(access.space)]);
  if (!access.address) {
    if (access.parameter) text += fmt::format(" through parameter {}", *access.parameter);
    if (!access.variable.empty()) text += " through " + access.variable;
    if (access.allocation) text += fmt::format(" ({})", size_text(access.allocation->bytes));
    text += "; its address is unknown";
  }
  if (access.block && access.thread) {
    text += fmt::format(" by block {} thread {}", diagnose::dimensions(*access.block),
                        diagnose::dimensions(*access.thread));
  }
  if (access.by_replay) text += ", in a replay under compute-sanitizer";
  Lines lines = {text + threads_of(access)};
  if (!verbose) return lines;
  if (access.others != 0) {
    lines.push_back(counted(access.others, "other thread") +
                    " in the same warps, with an address that is inside the memory or unknown");
  }
  if (access.allocation && access.variable.empty()) {
    lines.push_back(
        fmt::format("{} gives the address relative to a parameter; the memory is what that parameter "
                    "pointed to in the recorded launch: {} at {:#x}",
                    access.by_replay ? "the replay" : "the core dump", size_text(access.allocation->bytes),
                    access.allocation->address));
  }
  return lines;
}

namespace {

constexpr std::size_t kProvingNamed = 3;

// Returns text such as "3 too large" or "1 negative". If some bad values may be too large and others negative, returns
// "4 not in 0..9".
std::string outside_text(const diagnose::Argument& argument) {
  const std::string count = diagnose::thousands(*argument.outside);
  if (!argument.bound) return count + " out of range";
  if (argument.min && causes::real(*argument.min) >= 0) return count + " too large";
  if (argument.max && causes::real(*argument.max) < static_cast<double>(*argument.bound)) return count + " negative";
  return fmt::format("{} not in 0..{}", count, *argument.bound - 1);
}

std::string memory_text(const diagnose::PointedMemory& allocation, const std::string& directory) {
  std::string text = fmt::format("{} bytes into {} bytes", diagnose::thousands(allocation.offset),
                                 diagnose::thousands(allocation.bytes));
  if (allocation.offset > allocation.bytes) {
    text = fmt::format("{} bytes past {} bytes", diagnose::thousands(allocation.offset - allocation.bytes),
                       diagnose::thousands(allocation.bytes));
  }
  if (allocation.out_of_reach && allocation.device) text += fmt::format(" on device {}", *allocation.device);
  if (!allocation.is_freed) return text;
  return text + (allocation.freed ? " freed at " + diagnose::place(*allocation.freed, directory) : " that were freed");
}

}  // namespace

std::string argument_line(const diagnose::Argument& argument, const std::string& directory) {
  std::string line = argument.name.empty() ? "argument" : argument.name;
  const auto word = [&](const std::string& text) {
    if (!text.empty()) line += ' ' + text;
  };
  const auto clause = [&](const std::string& text) { line += ", " + text; };
  word(argument.dtype);
  word(causes::subscript(argument.shape));
  word(argument.device);
  if (!argument.value.empty()) word("= " + argument.value);
  if (argument.min) clause("min " + causes::text_of(*argument.min));
  if (argument.max) clause("max " + causes::text_of(*argument.max));
  if (argument.outside.value_or(0) > 0) clause(outside_text(argument));
  if (argument.nan.value_or(0) > 0) clause(diagnose::thousands(*argument.nan) + " NaN");
  if (argument.inf.value_or(0) > 0) clause(diagnose::thousands(*argument.inf) + " infinite");
  if (argument.pointer) {
    const std::string address = fmt::format("{:#x}", *argument.pointer);
    if (argument.value != address) clause(*argument.pointer == 0 ? "null" : "at " + address);
  }
  if (argument.allocation) clause(memory_text(*argument.allocation, directory));
  return line;
}

Lines argument_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose) {
  std::vector<std::size_t> order;
  if (finding.cause) order = finding.cause->proof;
  if (!verbose && order.size() > kProvingNamed) order.resize(kProvingNamed);
  for (std::size_t i = 0; verbose && i < finding.arguments.size(); ++i) {
    if (std::ranges::find(order, i) == order.end()) order.push_back(i);
  }
  Lines lines;
  for (const std::size_t i : order) {
    if (i < finding.arguments.size()) lines.push_back(argument_line(finding.arguments[i], directory));
  }
  return lines;
}

namespace {

constexpr std::size_t kFunctionColumns = 40;

// Without -v, omits the folders of files outside `directory`, because the folder in which a library was built means
// nothing to users.
std::string file_of(const std::string& file, const std::string& directory, bool verbose) {
  const std::string relative = diagnose::relative_path(file, directory);
  if (verbose || !relative.starts_with('/')) return relative;
  return base::file_name(file);
}

std::string device_place(const diagnose::Device& device, const std::string& directory, bool verbose) {
  if (device.line > 0) return fmt::format("{}:{}", file_of(device.file, directory, verbose), device.line);
  if (device.function.empty()) return "line: unknown (the code is not in the core dump)";
  const std::size_t columns = verbose ? device.function.size() : kFunctionColumns;
  return fmt::format("{}+{:#x} (no line information)", diagnose::short_kernel_name(device.function, columns),
                     device.offset);
}

std::string threads_of(const diagnose::Device& device, bool verbose) {
  if (!device.block || !device.thread) return "block, thread: unknown (the warp had exited)";
  std::string text =
      fmt::format("block {} thread {}", diagnose::dimensions(*device.block), diagnose::dimensions(*device.thread));
  if (device.threads_by_sanitizer && !device.line_by_sanitizer) text += " (compute-sanitizer)";
  if (device.threads) {
    text += "; " + counted(*device.threads, "thread");
  }
  if (verbose && device.blocks) text += " of " + counted(*device.blocks, "block");
  if (device.assertions == 1) text += ", one assertion";
  if (device.assertions > 1) text += fmt::format(", one of {} assertions", device.assertions);
  return text;
}

}  // namespace

Lines device_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose) {
  if (!finding.device) {
    const std::string why = finding.device_unknown.empty() ? "no rerun" : finding.device_unknown;
    return {"line, block, thread: unknown (" + why + ")"};
  }
  const diagnose::Device& device = *finding.device;
  std::string place = device_place(device, directory, verbose);
  if (verbose && device.line > 0 && !device.function.empty()) place += " in " + device.function;
  if (!device.inlined.empty()) {
    const std::filesystem::path header(device.inlined.front().file);
    place += fmt::format(" (in {}, inlined)", header.filename().string());
  }
  if (device.line_by_sanitizer && device.threads_by_sanitizer) {
    place = "compute-sanitizer: " + place;
  } else if (device.line_by_sanitizer) {
    place += " (compute-sanitizer)";
  }
  Lines lines = {place + "  " + threads_of(device, verbose)};
  if (verbose) {
    for (const diagnose::Location& inner : device.inlined) {
      lines.push_back(fmt::format("in {}:{}", file_of(inner.file, directory, verbose), inner.line));
    }
    for (const diagnose::Location& caller : device.callers) {
      lines.push_back(fmt::format("inlined at {}:{} in {}", file_of(caller.file, directory, verbose), caller.line,
                                  caller.function.empty() ? "an unknown function" : caller.function));
    }
  }
  if (device.assertions > 0) {
    lines.push_back(device.message.empty() ? "an assertion without text failed"
                                           : "assertion `" + device.message + "` failed");
  } else if (!device.message.empty()) {
    lines.push_back(device.message);
  } else if (device.asserted) {
    lines.emplace_back(device.of_first_run ? "only the program's own output can contain the text of the assertion"
                                           : "the text of the assertion is not in the rerun's output");
  }
  const std::string exception =
      device.exception.empty() ? "" : device.exception + (device.of_first_run ? " in this run; " : " in a rerun; ");
  lines.push_back(exception + device.join);
  return lines;
}

namespace {

using diagnose::OriginStep;
using Role = session::DeliveredOrigin::Role;

std::string how(Role role, bool is_seen) {
  switch (role) {
    case Role::made:
      return "was produced at";
    case Role::passed:
      return "was passed as a number at";
    case Role::loaded:
      return "was loaded at";
    case Role::copied:
      return is_seen ? "came from data outside PyTorch at" : "was first seen at";
  }
  return "came from";
}

std::string value_of(const OriginStep& step) {
  if (!step.value) return "the bad value";
  return causes::text_of(*step.value);
}

// Gives the operator only if it produced the value; otherwise the line is enough.
std::string first_line(const diagnose::ValueOrigin& origin, const std::string& directory) {
  const OriginStep& first = origin.steps.front();
  const bool is_seen = origin.known_by == analyse::Fact::measured;
  std::string text =
      fmt::format("{} {} {}", value_of(first), how(first.role, is_seen), diagnose::place(first.location, directory));
  if (!first.location.source.empty()) text += ": " + first.location.source;
  if (first.batch && first.sample) {
    text += fmt::format("; sample {} of the data set, in batch {}", *first.sample, *first.batch);
  } else if (first.batch) {
    text += fmt::format("; batch {}", *first.batch);
  } else if (first.role == Role::made) {
    text += fmt::format(" ({})", first.op);
  }
  return text + fmt::format(" [{}]", diagnose::word(grade(origin.known_by)));
}

}  // namespace

Lines origin_lines(const diagnose::ValueOrigin& origin, const std::string& directory) {
  Lines lines = {first_line(origin, directory)};
  for (std::size_t i = 1; i < origin.steps.size(); ++i) {
    const OriginStep& step = origin.steps[i];
    const std::string source = step.location.source.empty() ? step.op : step.location.source;
    lines.push_back(fmt::format("it passed through {}: {}", diagnose::place(step.location, directory), source));
  }
  return lines;
}

namespace {

constexpr std::size_t kPointersNamed = 2;
constexpr std::size_t kHoldersNamed = 3;

std::string whose(const std::string& owner) { return owner.empty() ? "" : fmt::format(" ({})", owner); }

std::string made_in(const diagnose::PointedMemory& allocation, const std::string& directory) {
  if (!allocation.allocated) return "";
  return " allocated at " + diagnose::place(*allocation.allocated, directory) + whose(allocation.owner);
}

// Describes a bad pointer: "parameter 1 points into 4.0 KiB that had been freed at a.cc:14, main, allocated at a.cc:9,
// main".
std::string what_is_wrong(const diagnose::Argument& argument, const std::string& directory) {
  const diagnose::PointedMemory& allocation = *argument.allocation;
  const std::string made = made_in(allocation, directory);
  if (allocation.is_freed) {
    const std::string freed = allocation.freed ? " at " + diagnose::place(*allocation.freed, directory) : "";
    return fmt::format("{} points into {} that had been freed{}{}", argument.name, size_text(allocation.bytes), freed,
                       made.empty() ? "" : "," + made);
  }
  const std::string past = size_text(argument.past_end()), size = size_text(allocation.bytes);
  return allocation.offset > allocation.bytes
             ? fmt::format("{} points {} past the end of {}{}", argument.name, past, size, made)
             : fmt::format("{} reaches {} past the end of {}{}", argument.name, past, size, made);
}

}  // namespace

Lines wrong_pointer_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose) {
  Lines lines;
  if (finding.cause && !finding.cause->proof.empty() && !verbose) return lines;
  std::size_t wrong = 0;
  bool exact = false;
  for (const diagnose::Argument& argument : finding.arguments) {
    if (!argument.points_amiss()) continue;
    exact |= argument.bytes.has_value();
    if (++wrong <= kPointersNamed || verbose) lines.push_back(what_is_wrong(argument, directory));
  }
  if (wrong > kPointersNamed && !verbose) lines.push_back(fmt::format("{} more: see -v", wrong - kPointersNamed));
  // A kernel need not use all its arguments, so a bad pointer among them is only a hint. A copy always accesses all the
  // bytes that its arguments describe.
  if (wrong > 0 && !exact) lines.push_back("it is unknown whether the failing access used that address");
  return lines;
}

Lines tensor_lines(const diagnose::MemoryUse& memory, const std::string& directory, bool verbose) {
  Lines lines;
  if (!memory.tensors) return lines;
  const diagnose::TensorMemory& tensors = *memory.tensors;
  lines.push_back(fmt::format("PyTorch had reserved {} and allocated {} of it; the largest free block was {}{}",
                              size_text(tensors.reserved), size_text(tensors.allocated),
                              size_text(tensors.largest_free),
                              tensors.times > 1 ? fmt::format("; memory ran out {} times", tensors.times) : ""));
  const std::uint64_t unused = tensors.reserved - std::min(tensors.reserved, tensors.allocated);
  if (memory.asked > 0 && unused >= memory.asked && tensors.largest_free < memory.asked) {
    lines.push_back("enough memory was free, but only in smaller blocks: the memory is fragmented");
  }
  for (std::size_t i = 0; i < tensors.holders.size() && (verbose || i < kHoldersNamed); ++i) {
    const diagnose::MemoryHolder& holder = tensors.holders[i];
    lines.push_back(
        fmt::format("{} in {} from {}", size_text(holder.bytes), counted(holder.count, "tensor"),
                    holder.location.line == 0 ? "none of your lines" : diagnose::place(holder.location, directory)));
  }
  for (const diagnose::TensorMemory::Exception& exception : tensors.exceptions) {
    lines.push_back(fmt::format("{} kept alive by the {} raised at {}: leave its except block before retrying",
                                size_text(exception.bytes), exception.type,
                                diagnose::place(exception.location, directory)));
  }
  return lines;
}

Lines memory_lines(const diagnose::MemoryUse& memory, const std::string& directory, bool verbose) {
  Lines lines;
  std::string text;
  if (memory.asked > 0) text = fmt::format("{} requested, ", size_text(memory.asked));
  if (memory.total) {
    text += fmt::format("{} of {} free; ", size_text(memory.free.value_or(0)), size_text(*memory.total));
  }
  text += fmt::format("this process held {}{}", memory.whole ? "" : "at least ", size_text(memory.held));
  if (memory.peak > memory.held) text += fmt::format(", at its peak {}", size_text(memory.peak));
  lines.push_back(text);
  for (std::size_t i = 0; i < memory.holders.size(); ++i) {
    if (!verbose && i == kHoldersNamed) {
      lines.push_back(fmt::format("{} more: see -v", memory.holders.size() - i));
      break;
    }
    const diagnose::MemoryHolder& holder = memory.holders[i];
    const std::string where = holder.location.file.empty() && holder.location.function.empty()
                                  ? "an unknown line"
                                  : diagnose::place(holder.location, directory);
    const std::string pieces =
        holder.count == 1 ? "" : fmt::format(" in {} allocations", diagnose::thousands(holder.count));
    lines.push_back(fmt::format("{}{} from {}{}", size_text(holder.bytes), pieces, where, whose(holder.owner)));
  }
  for (std::string& line : tensor_lines(memory, directory, verbose)) lines.push_back(std::move(line));
  for (const diagnose::OtherProcess& other : memory.others) {
    lines.push_back(fmt::format("{} held by process {}{} after this one had ended", size_text(other.bytes), other.pid,
                                other.name.empty() ? "" : " (" + other.name + ")"));
  }
  return lines;
}

}  // namespace cudadiag::report
