#include "supervise/recorded_processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/files.h"
#include "base/processes.h"
#include "session/area_reader.h"
#include "session/process_record.h"
#include "session/session_reader.h"
#include "symbolize/symbolizer.h"
#include "wire/area.h"
#include "wire/intern.h"
#include "wire/python_layout.h"

namespace cudadiag::supervise {

std::vector<session::Process> read_processes(const launch::Arena* arena, const session::SessionWriter* writer,
                                             session::Session& session) {
  std::vector<session::Process> processes;
  if (writer != nullptr) session::read_areas(writer->foreign_areas(), session, processes);
  for (std::size_t area = 0; arena != nullptr && area < arena->claimed(); ++area) {
    const launch::LiveArea live(*arena, area);
    session::AreaContents contents = session::read_area(live.bytes(), wire::ClockReading::now());
    // The process died before it could write even the magic number.
    if (!contents.error.empty()) continue;
    processes.push_back(session::describe_process(std::move(contents.record), session.manifest));
  }
  session::sort_processes(processes);
  return processes;
}

std::optional<std::string> note_on_unrecorded(const launch::Arena& arena, const session::SessionWriter* writer) {
  const std::size_t files = writer == nullptr ? 0 : writer->foreign_areas().size();
  const std::size_t missing = arena.forgotten() + arena.turned_away() - std::min(arena.turned_away(), files);
  if (missing == 0) return std::nullopt;
  return std::to_string(missing) + (missing == 1 ? " process was" : " processes were") +
         " not recorded: a recording has room for " + std::to_string(arena.places()) +
         ", including processes that failed; start cudadiag closer to the part that fails";
}

std::optional<std::string> left_unrecorded(const launch::Arena* arena, const session::SessionWriter* writer) {
  session::Unrecorded left;
  if (writer != nullptr) left = session::unrecorded_in(writer->pass_folder());
  if (arena != nullptr && arena->unrecorded().processes > 0) {
    const std::size_t beside = left.processes;
    left = arena->unrecorded();
    left.processes += beside;
  }
  if (left.processes == 0) return std::nullopt;
  const base::Error failure = session::nothing_recorded_of(left);
  return failure.what + "; " + failure.hint;
}

std::vector<std::uint32_t> recording_processes(const launch::Arena& arena) {
  std::vector<std::uint32_t> found;
  const session::LivePlace place = arena.place();
  for (std::size_t area = 0; area < arena.claimed(); ++area) {
    const launch::LiveArea live(arena, area);
    const auto bytes = live.bytes();
    const auto recording = static_cast<std::uint32_t>(wire::area::State::recording);
    if (bytes.empty() || wire::load_acquire(bytes.data(), wire::area::kState) != recording) continue;
    const std::uint32_t pid = wire::load(bytes.data(), wire::area::kPid);
    const bool known = std::ranges::find(found, pid) != found.end();
    if (!known && session::is_held_by(place, pid)) found.push_back(pid);
  }
  return found;
}

std::optional<base::Error> store_areas(const launch::Arena& arena, session::SessionWriter& writer) {
  for (std::size_t area = 0; area < arena.claimed(); ++area) {
    const launch::LiveArea live(arena, area);
    const auto header = live.bytes().first(std::min(live.bytes().size(), wire::area::kHeaderSize));
    const auto contents = session::read_area(header);
    if (!contents.error.empty()) continue;
    arena.stamp_clock(area);
    auto failure = writer.store_area(area, contents.record.pid, arena.file(), arena.begin(area), arena.end(area));
    if (failure) return failure;
  }
  return std::nullopt;
}

std::optional<double> first_freeze(const std::vector<session::Process>& processes, double start) {
  std::optional<double> first;
  for (const session::Process& process : processes) {
    const session::ProcessRecord& record = process.record;
    if (record.state != wire::area::State::frozen) continue;
    const double at = record.unix_seconds(record.frozen_ticks) - start;
    if (!first || at < *first) first = at;
  }
  return first;
}

namespace {

namespace fs = std::filesystem;

bool is_incomplete(const fs::path& folder) { return folder.filename().string().ends_with(session::kIncomplete); }

// Returns whether any process is still alive; nullopt if unknown. Relies on the records of the processes, because the
// launcher may have been killed before it noted their end.
std::optional<bool> any_lives(const session::Session& session) {
  bool known = !session.processes.empty();
  for (const session::Process& process : session.processes) {
    const auto alive = session::lives(session.folder, process.record);
    if (alive.value_or(false)) return true;
    known = known && alive.has_value();
  }
  return known ? std::optional(false) : std::nullopt;
}

}  // namespace

std::variant<LiveRun, KilledRun, base::Error> LiveRun::open(const fs::path& folder) {
  LiveRun run(folder);
  if (!is_incomplete(folder)) return run;
  const auto place = session::live_place(folder);
  if (!place) return run;
  auto arena = launch::Arena::attach(*place);
  if (auto* failure = std::get_if<base::Error>(&arena)) {
    if (!session::is_being_written(folder)) return KilledRun{folder, *place};
    return base::Error{"cannot inspect the run recorded in " + folder.string() + ": " + failure->what,
                       failure->hint.empty() ? "run this command in the program's container" : failure->hint};
  }
  run.arena_.emplace(std::move(std::get<launch::Arena>(arena)));
  return run;
}

base::Result<session::Session> LiveRun::read() {
  std::error_code error;
  if (is_incomplete(folder_) && !fs::exists(folder_, error)) {
    folder_ = session::finished_name(folder_);
    arena_.reset();
    if (!fs::exists(folder_, error)) {
      return base::Error{"the run is over, and no session was kept because nothing failed",
                         "cudadiag run -o FOLDER keeps sessions of clean runs too"};
    }
  }
  goes_on_ = session::run_goes_on(folder_);
  if (!arena_) return read_session();
  session::Session session;
  session.folder = folder_;
  session.manifest = session::open_running_manifest(folder_);
  session.processes = read_processes(&*arena_, nullptr, session);
  if (arena_->turned_away() > 0) {
    const bool one = arena_->turned_away() == 1;
    session.manifest.notes.push_back(std::to_string(arena_->turned_away()) + (one ? " process" : " processes") +
                                     " cannot be seen while the run is in progress: the memory for the recording has "
                                     "no room for " +
                                     (one ? "it" : "them"));
  }
  return session;
}

bool LiveRun::lives(const session::Process& process) const {
  return arena_ ? !base::has_ended(process.pid) : session::lives(folder_, process.record).value_or(false);
}

void LiveRun::add_host_stacks(session::Session& session) const {
  if (!goes_on_.value_or(false)) return;
  for (const session::Process& process : session.processes) {
    if (!lives(process)) continue;
    std::ranges::move(host_stacks(process), std::back_inserter(session.manifest.host_stacks));
  }
}

base::Result<session::Session> LiveRun::read_session() {
  auto opened = session::open_session(folder_);
  const auto* session = std::get_if<session::Session>(&opened);
  if (session == nullptr || goes_on_.value_or(true) || !session->manifest.passes.empty()) return opened;
  goes_on_ = any_lives(*session);
  if (goes_on_.value_or(false)) return session::open_session(folder_, wire::ClockReading::now());
  return opened;
}

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
  const auto found = std::ranges::find(wire::python::kPythonLayouts, minor, &PythonLayout::minor);
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
