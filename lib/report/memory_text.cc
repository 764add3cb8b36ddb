#include "report/memory_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/printable.h"
#include "diagnose/facts/place.h"
#include "diagnose/words.h"

namespace cudadiag::report {
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
  const char* verb = allocation.offset > allocation.bytes ? "points" : "reaches";
  return fmt::format("{} {} {} past the end of {}{}", argument.name, verb, size_text(argument.past_end()),
                     size_text(allocation.bytes), made);
}

void add_line(std::vector<std::string>& lines, const std::string& text) { lines.push_back(base::printable(text)); }

}  // namespace

std::vector<std::string> wrong_pointer_lines(const diagnose::Finding& finding, const std::string& directory,
                                             bool verbose) {
  std::vector<std::string> lines;
  if (finding.cause && !finding.cause->proof.empty() && !verbose) return lines;
  std::size_t wrong = 0;
  bool exact = false;
  for (const diagnose::Argument& argument : finding.arguments) {
    if (!argument.points_amiss()) continue;
    exact |= argument.bytes.has_value();
    if (++wrong <= kPointersNamed || verbose) add_line(lines, what_is_wrong(argument, directory));
  }
  if (wrong > kPointersNamed && !verbose) lines.push_back(fmt::format("{} more: see -v", wrong - kPointersNamed));
  // A kernel need not use all its arguments, so a bad pointer among them is only a hint. A copy always accesses all the
  // bytes that its arguments describe.
  if (wrong > 0 && !exact) lines.push_back("it is unknown whether the failing access used that address");
  return lines;
}

std::vector<std::string> tensor_lines(const diagnose::MemoryUse& memory, const std::string& directory, bool verbose) {
  std::vector<std::string> lines;
  if (!memory.tensors) return lines;
  const diagnose::TensorMemory& tensors = *memory.tensors;
  add_line(lines,
           fmt::format("PyTorch had reserved {} and allocated {} of it; the largest free block was {}{}",
                       size_text(tensors.reserved), size_text(tensors.allocated), size_text(tensors.largest_free),
                       tensors.times > 1 ? fmt::format("; memory ran out {} times", tensors.times) : ""));
  const std::uint64_t unused = tensors.reserved - std::min(tensors.reserved, tensors.allocated);
  if (memory.asked > 0 && unused >= memory.asked && tensors.largest_free < memory.asked) {
    add_line(lines, "enough memory was free, but only in smaller blocks: the memory is fragmented");
  }
  for (std::size_t i = 0; i < tensors.holders.size() && (verbose || i < kHoldersNamed); ++i) {
    const diagnose::MemoryHolder& holder = tensors.holders[i];
    add_line(lines, fmt::format("{} in {} tensor{} from {}", size_text(holder.bytes), diagnose::thousands(holder.count),
                                holder.count == 1 ? "" : "s",
                                holder.location.line == 0 ? "none of your lines"
                                                          : diagnose::place(holder.location, directory)));
  }
  for (const diagnose::TensorMemory::Exception& exception : tensors.exceptions) {
    add_line(lines, fmt::format("{} kept alive by the {} raised at {}: leave its except block before retrying",
                                size_text(exception.bytes), base::printable(exception.type),
                                diagnose::place(exception.location, directory)));
  }
  return lines;
}

std::vector<std::string> memory_lines(const diagnose::MemoryUse& memory, const std::string& directory, bool verbose) {
  std::vector<std::string> lines;
  std::string text;
  if (memory.asked > 0) text = fmt::format("{} requested, ", size_text(memory.asked));
  if (memory.total) {
    text += fmt::format("{} of {} free; ", size_text(memory.free.value_or(0)), size_text(*memory.total));
  }
  text += fmt::format("this process held {}{}", memory.whole ? "" : "at least ", size_text(memory.held));
  if (memory.peak > memory.held) text += fmt::format(", at its peak {}", size_text(memory.peak));
  add_line(lines, text);
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
    add_line(lines, fmt::format("{}{} from {}{}", size_text(holder.bytes), pieces, where, whose(holder.owner)));
  }
  for (std::string& line : tensor_lines(memory, directory, verbose)) lines.push_back(std::move(line));
  for (const diagnose::OtherProcess& other : memory.others) {
    lines.push_back(fmt::format("{} held by process {}{} after this one had ended", size_text(other.bytes), other.pid,
                                other.name.empty() ? "" : " (" + base::printable(other.name) + ")"));
  }
  return lines;
}

}  // namespace cudadiag::report
