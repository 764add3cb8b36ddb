#include "supervise/kernel_code.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "analyse/operation_arguments.h"
#include "base/files.h"
#include "base/text.h"
#include "evidence/core_facts.h"
#include "evidence/device_code.h"
#include "session/session_files.h"
#include "session/session_folders.h"
#include "supervise/toolkit_programs.h"
#include "wire/cuda_codes.h"
#include "wire/fat_binary.h"

namespace cudadiag::supervise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kKernelPatience{10};  // for one kernel
constexpr int kToDie = 1000;                         // milliseconds
constexpr std::size_t kLongestInstruction = 200;
constexpr std::size_t kInstruction = 16;  // bytes, from sm_70 on
constexpr std::size_t kMostOutput = 64u << 20;

constexpr std::size_t kMostKept = 16, kMostTextKept = 1u << 20;  // disassembled code, and bytes of each

// Returns "SM90" for "sm_90", and "" for any other form. The check is strict, because the text comes from the dump and
// becomes an argument of a command.
std::string tool_s_name(const std::string& architecture) {
  if (!architecture.starts_with("sm_") || architecture.size() > 8) return "";
  const std::string rest = architecture.substr(3);
  const bool plain = std::ranges::all_of(rest, [](char c) { return (c >= '0' && c <= '9') || c == 'a' || c == 'f'; });
  return rest.empty() || !plain ? "" : "SM" + rest;
}

std::string mark_of(std::uint64_t offset) { return fmt::format("/*{:04x}*/", offset); }

// Finds the line for the offset in the tool's output: "/*0070*/   LDG.E R5, desc[UR4][R4.64] ;".
std::string instruction_at(const std::string& output, std::uint64_t offset) {
  const std::string mark = mark_of(offset);
  const std::size_t at = output.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = output.find_first_not_of(" \t", at + mark.size());
  const std::size_t end = output.find_first_of(";\n", begin);
  if (begin == std::string::npos || end == std::string::npos || output[end] != ';') return "";
  const std::string text = output.substr(begin, std::min(end - begin, kLongestInstruction));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

std::string read_to_end(int pipe, Clock::time_point deadline) {
  std::string output;
  char buffer[65536];
  while (output.size() < kMostOutput) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd source{pipe, POLLIN, 0};
    const int ready = left <= 0 ? 0 : ::poll(&source, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;  // the command has ended, for example
    if (ready <= 0) return "";
    const ssize_t count = ::read(pipe, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return "";
    if (count == 0) return output;
    output.append(buffer, static_cast<std::size_t>(count));
  }
  return "";
}

// Returns the tool's output; empty if it failed, as far as known: another thread may reap the tool first.
std::string output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  const base::FileDescriptor in(ends[0]);
  base::FileDescriptor out(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawnattr_init(&attributes);
  sigset_t none, standard;
  ::sigemptyset(&none);
  ::sigfillset(&standard);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &standard);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const std::vector<char*> arguments = base::c_strings(command);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  out = base::FileDescriptor();
  if (failed != 0) return "";
  const base::FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  std::string output = read_to_end(in.get(), Clock::now() + kKernelPatience);
  // Kills the tool by its descriptor. Its pid may be in use again, because another thread of the launcher reaps all
  // children.
  if (output.empty() && process.valid()) ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  pollfd ended{process.get(), POLLIN, 0};
  siginfo_t info{};
  const bool reaped =
      process.valid() && ::poll(&ended, 1, kToDie) > 0 &&
      ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(process.get()), &info, WEXITED | WNOHANG) == 0 &&
      info.si_pid == pid;
  return reaped && (info.si_code != CLD_EXITED || info.si_status != 0) ? "" : output;
}

}  // namespace

std::string disassembled(const std::string& tool, const std::string& architecture, std::string_view instructions) {
  static std::mutex mutex;
  static std::map<std::string, std::string, std::less<>> known;  // by instructions
  if (tool.empty() || architecture.empty()) return "";
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(instructions); found != known.end()) return found->second;
  }
  // A file without a name, so that other users cannot open it and nothing stays on disk.
  const base::FileDescriptor input(::memfd_create("code", MFD_CLOEXEC));
  if (!input.valid() || !base::write_all(input.get(), instructions)) return "";
  std::string text = output_of({tool, "-b", architecture, fmt::format("/proc/{}/fd/{}", ::getpid(), input.get())});
  // Part of the text would be taken for the whole code.
  if (instructions.size() < kInstruction || text.find(mark_of(instructions.size() - kInstruction)) == text.npos)
    return "";
  const std::lock_guard lock(mutex);
  if (known.size() == kMostKept) known.clear();
  if (text.size() <= kMostTextKept) known.emplace(instructions, text);
  return text;
}

std::string disassembled(const evidence::FunctionCode& code, const std::string& tool) {
  return disassembled(tool, tool_s_name(code.architecture), code.instructions);
}

std::string disassembled(const KernelInstructions& code, const std::string& tool) {
  const std::string text = disassembled(tool, code.architecture, code.instructions.all());
  std::string marked;
  std::size_t done = 0;
  for (const std::uint64_t offset : code.relocated) {
    const std::string mark = mark_of(offset);
    const std::size_t line = text.find(mark, done);
    const std::size_t end = text.find('\n', line);
    std::size_t opcode = line == text.npos ? line : text.find_first_not_of(" \t", line + mark.size());
    if (opcode < end && text[opcode] == '@') opcode = text.find_first_not_of(' ', text.find(' ', opcode));
    if (opcode >= end) return "";
    const std::size_t modifier = text.find_first_of(" ;", opcode);
    if (modifier >= end) return "";
    marked.append(text, done, modifier - done).append(".").append(sass::kRelocated);
    done = modifier;
  }
  return marked + text.substr(done);
}

std::string failing_instruction(const evidence::FunctionCode& code, const std::string& text) {
  return instruction_at(text, code.offset);
}

std::optional<base::Error> store_failing_code(const std::string& dump, session::SessionWriter& writer,
                                              const std::vector<std::string>& command) {
  if (dump.empty()) return std::nullopt;
  const auto read = evidence::read_core(writer.pass_folder() / dump);
  const auto* core = std::get_if<evidence::CoreFacts>(&read);
  if (core == nullptr || !core->failure || !core->failure->code || !core->failure->state) return std::nullopt;
  const std::string text = disassembled(*core->failure->code, find_disassembler(command));
  if (text.empty()) return std::nullopt;
  return writer.store_text(writer.pass_folder() / session::kCodeFile, text);
}

namespace {

using evidence::Bytes;
using evidence::ElfImage;
using evidence::Section;

constexpr std::string_view kCode = ".text.", kFacts = ".nv.info.", kShared = ".nv.shared.";
constexpr std::uint32_t kRelocations = 4, kShortRelocations = 9;  // SHT_RELA, SHT_REL
constexpr std::uint32_t kFunction = 2;                            // STT_FUNC

// The architecture is a byte of the ELF flags: the lowest one in older files, and the next one from ABI version 8 on.
std::string architecture_of(Bytes file) {
  const std::uint32_t flags = file.u32(48), abi = file.u16(8) & 0xff;
  const std::uint32_t number = (abi >= 8 ? flags >> 8 : flags) & 0xff;
  // With the suffix "a", nvdisasm accepts more of the architecture's instructions.
  return fmt::format("SM{}{}", number, number >= 90 ? "a" : "");
}

// Returns whether this is a CUDA function that never changes the memory that a kernel's parameters point to.
bool is_harmless(std::string_view function) {
  constexpr std::string_view kKnown[] = {"__assertfail", "vprintf", "malloc", "free"};
  return std::ranges::find(kKnown, function) != std::end(kKnown);
}

struct Relocations {
  sass::Calls calls = sass::Calls::harmless;
  std::set<std::uint64_t> places;  // offsets of instructions in the function's code
};

// Finds calls to functions in other files, and functions whose address is taken, by all relocations of the image. A
// symbol has 24 bytes: name u32 @0, type in the lower half of u8 @4. A relocation has its offset, u64 @0, and u64 @8:
// its kind in the lower 32 bits, the symbol's index above.
Relocations relocations_of(const ElfImage& image, const Section& code) {
  Relocations out;
  for (std::uint32_t i = 0; i < image.sections(); ++i) {
    const Section section = image.section(i);
    const bool is_short = section.type == kShortRelocations;
    if ((section.type != kRelocations && !is_short) || image.name(section).find(".debug") != std::string_view::npos) {
      continue;
    }
    const Section table = image.section(section.link);
    const Bytes entries = image.contents(section), symbols = image.contents(table),
                names = image.contents(image.section(table.link));
    const bool of_code = image.section(section.info).name == code.name;
    const std::uint64_t size = is_short ? 16 : 24;
    for (std::uint64_t at = 0; at + size <= entries.size(); at += size) {
      if (of_code) out.places.insert(entries.u64(at) / kInstruction * kInstruction);
      const std::uint64_t symbol = (entries.u64(at + 8) >> 32) * 24;
      const bool is_known = symbol + 24 <= symbols.size();
      const bool is_function = is_known && (symbols.u16(symbol + 4) & 0xf) == kFunction;
      if (!is_known || (is_function && !is_harmless(names.text(symbols.u32(symbol)))))
        out.calls = sass::Calls::anything;
    }
  }
  return out;
}

}  // namespace

std::string read_cubin(const std::filesystem::path& file, std::uint64_t most) {
  std::string stored = session::read_plain_file(file, most).value_or("");
  const auto bytes = std::as_bytes(std::span(stored));
  wire::fat_binary::Entry entry{};
  if (stored.starts_with("\177ELF") || !wire::fat_binary::read(bytes, 0, entry)) return stored;
  std::string out(wire::fat_binary::size_decompressed(entry, most), '\0');
  void* library = ::dlopen(wire::fat_binary::library_for(entry), RTLD_NOW | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : ::dlsym(library, wire::fat_binary::function_for(entry));
  const bool done = wire::fat_binary::decompress(entry, bytes, std::as_writable_bytes(std::span(out)), function);
  if (library != nullptr) ::dlclose(library);
  return done ? out : "";
}

std::vector<std::string> kernels_of(const ElfImage& image) {
  std::vector<std::string> kernels;
  for (std::uint32_t i = 0; i < image.sections(); ++i) {
    const std::string_view name = image.name(image.section(i));
    if (name.starts_with(kCode)) kernels.emplace_back(name.substr(kCode.size()));
  }
  return kernels;
}

std::optional<KernelInstructions> kernel_code(const ElfImage& image, const std::string& kernel) {
  const auto code = image.named(std::string(kCode) + kernel), facts = image.named(std::string(kFacts) + kernel);
  if (!code || !facts) return std::nullopt;
  const evidence::KernelFacts known = evidence::read_kernel_facts(image.contents(*facts));
  if (known.bytes == 0) return std::nullopt;
  constexpr std::uint64_t kMostShared = 1u << 20;
  const auto shared = image.named(std::string(kShared) + kernel);
  const bool has_shared = shared && shared->size <= kMostShared && !known.clusters;
  Relocations relocations = relocations_of(image, *code);
  std::vector<std::uint32_t> begins;
  for (const auto& parameter : known.parameters) begins.push_back(parameter.offset);
  return KernelInstructions{architecture_of(image.file()),
                            {known.offset, known.bytes},
                            std::move(begins),
                            relocations.calls,
                            image.contents(*code),
                            has_shared ? static_cast<std::uint32_t>(shared->size) : 0,
                            std::move(relocations.places)};
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostKernels = 8;              // disassembling one takes a few tenths of a second
constexpr std::size_t kMostCodes = 4;                // different codes of one kernel
constexpr std::uint64_t kMostImage = 64u << 20;      // bytes
constexpr std::size_t kMostInstructions = 1u << 20;  // bytes

bool has_failed(const session::Process& process) {
  return std::ranges::any_of(process.record.errors, [](const session::FailedCall& error) {
    return wire::cuda::has(error.code, wire::cuda::bad_address);
  });
}

// The text is empty if the kernel's code cannot be read.
session::KernelCode code_in(const evidence::ElfImage& image, const std::string& kernel,
                            const std::string& disassembler) {
  session::KernelCode out;
  out.kernel = kernel;
  const auto code = kernel_code(image, kernel);
  if (!code || code->instructions.size() > kMostInstructions) return out;
  out.bank_offset = code->bank.offset;
  out.bank_size = code->bank.size;
  out.harmless_calls = code->calls == sass::Calls::harmless;
  out.shared_bytes = code->shared_bytes;
  out.text = disassembled(*code, disassembler);
  return out;
}

}  // namespace

std::vector<std::string> suspected_kernels(diagnose::SessionState& state) {
  std::set<std::string> kernels;
  for (const session::Process& process : state.session().processes) {
    for (const session::Delivery& delivery : process.deliveries) {
      const auto& recycled = delivery.recycled;
      if (!recycled || !recycled->may_be_leftover || kernels.size() == kMostKernels) continue;
      const session::Graph* graph = session::by_id(process.record.graphs, recycled->graph);
      if (graph == nullptr || recycled->node >= graph->nodes.size()) continue;
      const std::uint32_t kernel = session::kernel_id(process.record, graph->nodes[recycled->node]);
      const std::string* name = session::by_id(process.record.functions, kernel);
      if (name != nullptr) kernels.insert(*name);
    }
  }
  if (std::ranges::none_of(state.session().processes, has_failed)) return {kernels.begin(), kernels.end()};
  for (const analyse::Failure& failure : state.analysis().failures) {
    if (!analyse::is_asynchronous(failure.kind) || !wire::cuda::has(failure.code, wire::cuda::bad_address)) continue;
    for (const analyse::Candidate& candidate : failure.candidates) {
      const session::ProcessRecord& record = failure.process->record;
      const std::string* kernel = candidate.node == nullptr
                                      ? session::kernel_at(record, candidate.operation->site)
                                      : session::by_id(record.functions, session::kernel_id(record, *candidate.node));
      if (kernel != nullptr && kernels.size() < kMostKernels) kernels.insert(*kernel);
    }
  }
  return {kernels.begin(), kernels.end()};
}

std::vector<session::KernelCode> code_of(const std::vector<std::string>& kernels, const fs::path& modules,
                                         const std::string& disassembler) {
  std::vector<fs::path> images;
  std::error_code error;
  for (fs::directory_iterator it(modules, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".cubin") images.push_back(it->path());
  }
  std::ranges::sort(images);
  std::map<std::string, std::vector<session::KernelCode>> codes;
  for (const fs::path& file : images) {
    const std::string image = read_cubin(file, kMostImage);
    const auto elf = evidence::ElfImage::read({image.data(), image.size()});
    if (!elf) continue;
    const std::vector<std::string> names = kernels_of(*elf);
    for (const std::string& kernel : kernels) {
      if (std::ranges::find(names, kernel) == names.end()) continue;
      session::KernelCode code = code_in(*elf, kernel, disassembler);
      if (std::ranges::find(codes[kernel], code) == codes[kernel].end()) codes[kernel].push_back(std::move(code));
    }
  }
  std::vector<session::KernelCode> out;
  for (auto& [kernel, each] : codes) {
    const bool all_read = std::ranges::none_of(each, [](const session::KernelCode& code) { return code.text.empty(); });
    if (all_read && each.size() <= kMostCodes) std::ranges::move(each, std::back_inserter(out));
  }
  return out;
}

namespace {

// Returns the line table with the addresses of one function's instructions moved to `base`, and those of all other
// functions far away. In a cubin, each function begins at address 0, and a relocation names it.
std::string moved_lines(const ElfImage& image, const std::string& function, std::uint64_t base) {
  const auto lines = image.named(".debug_line"), moves = image.named(".rela.debug_line");
  if (!lines || !moves) return "";
  std::string text(image.contents(*lines).all());
  const Section table = image.section(moves->link);
  const Bytes entries = image.contents(*moves), symbols = image.contents(table),
              names = image.contents(image.section(table.link));
  for (std::uint64_t at = 0; at + 24 <= entries.size(); at += 24) {
    const std::uint64_t place = entries.u64(at), symbol = (entries.u64(at + 8) >> 32) * 24;
    if (symbol + 24 > symbols.size() || place > text.size() || text.size() - place < sizeof base) return "";
    const bool wanted = names.text(symbols.u32(symbol)) == function;
    const std::uint64_t value = (wanted ? base : 2 * base) + symbols.u64(symbol + 8) + entries.u64(at + 16);
    std::memcpy(text.data() + place, &value, sizeof value);
  }
  return text;
}

std::vector<session::ThreadAccess::Line> stored_lines(const evidence::LineChain& chain, const std::string& kernel) {
  std::vector<session::ThreadAccess::Line> lines;
  for (const evidence::LineFrame& frame : chain) {
    lines.push_back({frame.path(), std::string(frame.inlined.value_or(kernel)), frame.line});
  }
  return lines;
}

}  // namespace

void add_lines(session::KernelRace& race, const std::string& kernel, const std::filesystem::path& modules) {
  constexpr std::uint64_t kBase = std::uint64_t{1} << 40;
  std::error_code error;
  for (std::filesystem::directory_iterator it(modules, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".cubin") continue;
    const std::string file = read_cubin(it->path(), kMostImage);
    const auto image = ElfImage::read({file.data(), file.size()});
    if (!image || !image->named(std::string(kCode) + kernel)) continue;
    const std::string lines = moved_lines(*image, kernel, kBase);
    const auto strings = image->named(".debug_str");
    evidence::Budget budget(kMostImage);
    const std::array<std::uint64_t, 2> addresses{kBase + race.first.instruction, kBase + race.second.instruction};
    const auto chains = evidence::chains_at(addresses, {lines.data(), lines.size()},
                                            strings ? image->contents(*strings) : Bytes(), budget);
    race.first.lines = stored_lines(chains[0], kernel);
    race.second.lines = stored_lines(chains[1], kernel);
    if (!race.first.lines.empty()) return;
  }
}

}  // namespace cudadiag::supervise
