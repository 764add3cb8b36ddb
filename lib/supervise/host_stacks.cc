#include "supervise/host_stacks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/file_descriptor.h"
#include "session/process_record.h"
#include "symbolize/python_line_table.h"
#include "wire/intern.h"
#include "wire/python_layout.h"

namespace cudadiag::supervise {
namespace {

using session::HostStack;
using wire::python::PythonLayout;

constexpr std::size_t kMostFrames = 64;
constexpr std::uint64_t kLongestName = 4096;

// Reads the memory of another process. Every read may fail.
class RemoteMemory {
 public:
  explicit RemoteMemory(std::uint32_t pid)
      : file_(::open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY | O_CLOEXEC)) {}

  bool valid() const { return file_.valid(); }

  template <typename T>
  std::optional<T> read(std::uint64_t address) const {
    T value;
    const ssize_t size = ::pread(file_.get(), &value, sizeof value, static_cast<off_t>(address));
    return size == static_cast<ssize_t>(sizeof value) ? std::optional(value) : std::nullopt;
  }
  std::optional<std::uint64_t> pointer(std::uint64_t address) const { return read<std::uint64_t>(address); }
  std::optional<std::string> bytes(std::uint64_t address, std::uint64_t size) const {
    std::string text(size, '\0');
    const ssize_t got = ::pread(file_.get(), text.data(), size, static_cast<off_t>(address));
    return got == static_cast<ssize_t>(size) ? std::optional(std::move(text)) : std::nullopt;
  }

 private:
  base::FileDescriptor file_;
};

struct RemoteFrame {
  std::uint64_t code = 0, instruction = 0;
  bool operator==(const RemoteFrame&) const = default;
};

class PythonReader {
 public:
  PythonReader(const RemoteMemory& memory, const PythonLayout& layout) : memory_(memory), layout_(layout) {}

  std::optional<std::vector<RemoteFrame>> frames(std::uint64_t thread) const {
    std::vector<RemoteFrame> found;
    auto frame = memory_.pointer(thread + layout_.thread_frame);
    if (frame && *frame != 0 && layout_.cframe_frame >= 0)
      frame = memory_.pointer(*frame + static_cast<std::uint64_t>(layout_.cframe_frame));
    for (std::size_t steps = 0; frame && *frame != 0 && steps < 2 * kMostFrames; ++steps) {
      if (found.size() == kMostFrames) break;
      const auto owner = layout_.frame_owner < 0
                             ? std::optional<unsigned char>(0)
                             : memory_.read<unsigned char>(*frame + static_cast<std::uint64_t>(layout_.frame_owner));
      if (!owner || *owner > wire::python::kLastOwner) return std::nullopt;
      if (*owner < wire::python::kFirstShimOwner) {
        const auto read = frame_at(*frame);
        if (!read) return std::nullopt;
        found.push_back(*read);
      }
      frame = memory_.pointer(*frame + layout_.frame_previous);
    }
    return frame ? std::optional(std::move(found)) : std::nullopt;
  }

  // Returns nullopt if the frame changed while it was being read. Its code object then has a different type from those
  // of earlier frames.
  std::optional<session::DeliveredFrame> resolve(const RemoteFrame& frame) {
    const auto type = memory_.pointer(frame.code + wire::python::kObjectType);
    if (!type || (code_type_ != 0 && *type != code_type_)) return std::nullopt;
    code_type_ = *type;
    const auto file = string_at(frame.code + layout_.code_file), name = string_at(frame.code + layout_.code_name);
    const auto table = memory_.pointer(frame.code + layout_.code_line_table);
    const auto size = table ? memory_.pointer(*table + wire::python::kBytesSize) : std::nullopt;
    const auto first_line = memory_.read<std::uint32_t>(frame.code + layout_.code_first_line);
    if (!file || !name || !size || !first_line) return std::nullopt;
    const auto lines = memory_.bytes(*table + wire::python::kBytesData,
                                     std::min<std::uint64_t>(*size, wire::intern::kLongestLineTable));
    if (!lines) return std::nullopt;
    std::uint64_t offset = frame.instruction;
    if (!layout_.instruction_is_index) {
      const std::uint64_t start = frame.code + layout_.code_bytecode;
      offset = offset < start ? 0 : offset - start;
    }
    const session::Code code{*file, *name, *first_line, static_cast<std::uint32_t>(layout_.minor), *lines};
    return session::DeliveredFrame{*file, *name, symbolize::python_line(code, static_cast<std::uint32_t>(offset))};
  }

 private:
  std::optional<RemoteFrame> frame_at(std::uint64_t frame) const {
    const auto code = memory_.pointer(frame + layout_.frame_code);
    if (!code || *code == 0) return std::nullopt;
    RemoteFrame found{*code & ~std::uint64_t{wire::python::kReferenceMarks}, 0};
    if (layout_.instruction_is_index) {
      const auto index = memory_.read<std::int32_t>(frame + layout_.frame_instruction);
      if (!index) return std::nullopt;
      found.instruction = static_cast<std::uint64_t>(std::int64_t{*index} * layout_.index_scale);
    } else {
      const auto instruction = memory_.pointer(frame + layout_.frame_instruction);
      if (!instruction) return std::nullopt;
      found.instruction = *instruction;
    }
    return found;
  }

  // Reads a compact ASCII string. Nearly all paths and function names have this form. Returns "?" for other compact
  // strings.
  std::optional<std::string> string_at(std::uint64_t address) {
    const auto string = memory_.pointer(address);
    const auto type = string ? memory_.pointer(*string + wire::python::kObjectType) : std::nullopt;
    if (!type || (string_type_ != 0 && *type != string_type_)) return std::nullopt;
    string_type_ = *type;
    const auto length = memory_.pointer(*string + wire::python::kStringLength);
    const auto state = memory_.read<std::uint32_t>(*string + wire::python::kStringState);
    if (!length || !state || *length > kLongestName) return std::nullopt;
    // The bits, from the lowest one: interned (2 bits), kind (3), compact (1), ascii (1).
    const bool is_compact = (*state >> 5 & 1) != 0, is_ascii = (*state >> 6 & 1) != 0;
    if (!is_compact) return std::nullopt;
    if (!is_ascii) return "?";
    return memory_.bytes(*string + layout_.ascii_header, *length);
  }

  const RemoteMemory& memory_;
  const PythonLayout& layout_;
  std::uint64_t code_type_ = 0, string_type_ = 0;  // of the first code object and the first string
};

// Returns null unless the process runs a version of Python whose frame layout we know.
const PythonLayout* layout_of(const session::ProcessRecord& record) {
  const std::string& version = value_of(record, session::Property::python);
  int minor = 0;
  if (!version.starts_with("3.")) return nullptr;
  std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  const auto found = std::find_if(std::begin(wire::python::kPythonLayouts), std::end(wire::python::kPythonLayouts),
                                  [&](const PythonLayout& layout) { return layout.minor == minor; });
  return found == std::end(wire::python::kPythonLayouts) ? nullptr : &*found;
}

std::optional<HostStack> stack_of(const RemoteMemory& memory, const PythonLayout& layout, std::uint64_t thread) {
  PythonReader reader(memory, layout);
  const auto frames = reader.frames(thread);
  if (!frames || frames->empty()) return std::nullopt;
  HostStack stack;
  for (const RemoteFrame& frame : *frames) {
    auto resolved = reader.resolve(frame);
    if (!resolved) return std::nullopt;
    stack.frames.push_back(std::move(*resolved));
  }
  return reader.frames(thread) == frames ? std::optional(std::move(stack)) : std::nullopt;
}

}  // namespace

std::vector<HostStack> host_stacks(const session::Process& process) {
  std::vector<HostStack> stacks;
  const PythonLayout* layout = layout_of(process.record);
  const RemoteMemory memory(process.pid);
  if (layout == nullptr || !memory.valid()) return stacks;
  for (const session::Thread& thread : process.record.threads) {
    if (thread.python_state == 0) continue;
    auto stack = stack_of(memory, *layout, thread.python_state);
    if (!stack) continue;
    stack->pid = process.pid;
    stack->tid = thread.tid;
    stacks.push_back(std::move(*stack));
  }
  return stacks;
}

}  // namespace cudadiag::supervise
