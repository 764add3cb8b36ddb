#include "launch/own_libraries.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "launch/process.h"
#include "wire/library_mark.h"

namespace cudadiag::launch {
namespace {

namespace fs = std::filesystem;
using base::environment_value;

constexpr const char* kRecorderVariable = "CUDADIAG_RECORDER";
constexpr const char* kRecorderFile = "libcudadiag_record.so";
constexpr const char* kPreloadFile = "libcudadiag_preload.so";
constexpr const char* kReinstall = "reinstall cudadiag";

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#else
constexpr Elf64_Half kMachine = EM_AARCH64;
#endif

std::string reinstall() {
  const bool chosen = !environment_value(kRecorderVariable).empty();
  return kReinstall + (chosen ? ", or unset " + std::string(kRecorderVariable) : std::string());
}

std::string name_of(unsigned machine) {
  if (machine == EM_X86_64) return "x86-64";
  if (machine == EM_AARCH64) return "64-bit Arm";
  if (machine == EM_386) return "32-bit x86";
  return "another processor (ELF machine " + std::to_string(machine) + ")";
}

// Returns why the file could not be opened. Finds the folder that this user cannot enter, if that is the reason.
base::Error not_opened(const fs::path& file, int error, const std::string& remedy) {
  if (error != EACCES) return {file.string() + ": " + std::strerror(error), remedy};
  fs::path folder;
  for (const fs::path& part : file.parent_path()) {
    folder /= part;
    if (::faccessat(AT_FDCWD, folder.c_str(), X_OK, AT_EACCESS) == 0) continue;
    return {folder.string() + " cannot be entered by this user", "make it accessible: chmod a+x " + folder.string()};
  }
  return {file.string() + " is not readable by this user", "make it readable: chmod a+r " + file.string()};
}

// An ELF file that is read, not mapped. Every offset in it may be wrong.
class ElfFile {
 public:
  ElfFile(int file, std::uint64_t size) : file_(file), size_(size), has_header_(read(0, header_)) {}

  bool has_header() const { return has_header_ && std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0; }
  const Elf64_Ehdr& header() const { return header_; }

  // Returns the size that the headers require; more than the file's size if a header is missing.
  std::uint64_t required_size() {
    std::uint64_t most = table_end(header_.e_phoff, header_.e_phnum, sizeof(Elf64_Phdr));
    most = std::max(most, table_end(header_.e_shoff, header_.e_shnum, sizeof(Elf64_Shdr)));
    if (most > size_) return most;
    for (const auto& segment : table<Elf64_Phdr>(header_.e_phoff, header_.e_phnum)) {
      most = std::max(most, end_of(segment.p_offset, segment.p_filesz));
    }
    for (const auto& section : sections()) {
      if (section.sh_type != SHT_NOBITS) most = std::max(most, end_of(section.sh_offset, section.sh_size));
    }
    return most;
  }

  // Call this only for a file of the required size. Returns nullopt if the file has no mark.
  std::optional<wire::LibraryMark> mark() {
    const auto all = sections();
    if (header_.e_shstrndx >= all.size()) return std::nullopt;
    const Elf64_Shdr& names = all[header_.e_shstrndx];
    constexpr std::string_view kName(CUDADIAG_MARK_SECTION, sizeof CUDADIAG_MARK_SECTION);  // with its final zero
    for (const Elf64_Shdr& section : all) {
      if (section.sh_size != sizeof(wire::LibraryMark)) continue;
      if (base::read_part(file_, names.sh_offset + section.sh_name, kName.size()) != kName) continue;
      wire::LibraryMark mark;
      if (!read(section.sh_offset, mark)) return std::nullopt;
      mark.version[sizeof mark.version - 1] = '\0';
      return mark;
    }
    return std::nullopt;
  }

 private:
  static std::uint64_t end_of(std::uint64_t begin, std::uint64_t size) {
    return begin + size < begin ? ~std::uint64_t{0} : begin + size;
  }
  static std::uint64_t table_end(std::uint64_t begin, std::uint64_t count, std::uint64_t each) {
    return count == 0 ? 0 : end_of(begin, count * each);
  }

  template <typename Value>
  bool read(std::uint64_t from, Value& value) const {
    const std::string bytes = base::read_part(file_, from, sizeof value);
    if (bytes.size() != sizeof value) return false;
    std::memcpy(&value, bytes.data(), sizeof value);
    return true;
  }

  template <typename Entry>
  std::vector<Entry> table(std::uint64_t from, std::size_t count) const {
    const std::string bytes = base::read_part(file_, from, count * sizeof(Entry));
    std::vector<Entry> entries(bytes.size() / sizeof(Entry));
    std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(Entry));
    return entries;
  }
  std::vector<Elf64_Shdr> sections() const { return table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum); }

  int file_;
  std::uint64_t size_;
  Elf64_Ehdr header_{};
  bool has_header_;
};

// Returns what is wrong with a library that may be from elsewhere.
std::optional<base::Error> fault_in_elf(ElfFile& elf, const std::string& path, std::uint64_t size,
                                        const std::string& remedy) {
  if (size == 0) return base::Error{path + " is empty", remedy};
  if (!elf.has_header()) return base::Error{path + " is not a library", remedy};
  const Elf64_Ehdr& header = elf.header();
  const bool readable = header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB;
  if (!readable || header.e_machine != kMachine) {
    const std::string theirs = header.e_machine == kMachine ? "another kind of processor" : name_of(header.e_machine);
    return base::Error{path + " is built for " + theirs + ", but this processor is " + name_of(kMachine),
                       "install the build for " + name_of(kMachine)};
  }
  if (const std::uint64_t required = elf.required_size(); required > size) {
    return base::Error{path + " is truncated: it has " + std::to_string(size) + " bytes, but its headers require " +
                           (required == ~std::uint64_t{0} ? "more" : std::to_string(required)),
                       remedy};
  }
  if (header.e_type != ET_DYN) return base::Error{path + " is not a library", remedy};
  return std::nullopt;
}

std::optional<base::Error> fault_in_mark(ElfFile& elf, const std::string& path) {
  const auto mark = elf.mark();
  if (!mark) return base::Error{path + " is not a library of cudadiag", reinstall()};
  const wire::LibraryMark own = wire::library_mark(CUDADIAG_VERSION);
  const std::string_view version = mark->version;
  if (version == own.version && mark->format == own.format) return std::nullopt;
  const auto text = [](std::string_view number, std::uint32_t format) {
    return "cudadiag " + std::string(number) + " (session format " + std::to_string(format) + ")";
  };
  return base::Error{
      path + " belongs to " + text(version, mark->format) + ", but this is " + text(own.version, own.format),
      "install both from the same package: " + reinstall()};
}

// Runs in a forked child. Writes the dynamic linker's message if the library cannot be loaded.
[[noreturn]] void load_and_exit(const char* path, int messages) {
  // The library's descriptors must not be refused because this process has used up its own.
  ::dup2(messages, STDOUT_FILENO);
  ::syscall(SYS_close_range, STDERR_FILENO, ~0u, 0);
  leave_no_core();
  if (::dlopen(path, RTLD_NOW | RTLD_LOCAL) != nullptr) ::_exit(0);
  const char* text = ::dlerror();
  const ssize_t ignored = text == nullptr ? 0 : ::write(STDOUT_FILENO, text, std::strlen(text));
  ::_exit(ignored < 0 ? 2 : 1);
}

// Returns the dynamic linker's message, or how the child that tried to load the library was killed. Returns "" if the
// library was loaded, and if this process may not create a pipe or a child.
std::string loading_error(const fs::path& library) {
  rlimit space{};
  // A launcher with little room for itself cannot tell whether the program has enough.
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) return "";
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return "";
  const pid_t child = ::fork();
  if (child == 0) load_and_exit(library.c_str(), pipe[1]);
  ::close(pipe[1]);
  const base::FileDescriptor messages(pipe[0]);
  std::string text;
  std::array<char, 1024> part{};
  ssize_t got = 0;
  while (child > 0 && ((got = ::read(messages.get(), part.data(), part.size())) > 0 || (got < 0 && errno == EINTR))) {
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (child > 0 && WIFSIGNALED(status)) return "loading it raises signal " + std::to_string(WTERMSIG(status));
  return child > 0 && status != 0 && text.empty() ? "the dynamic linker rejects it" : text;
}

std::optional<base::Error> obstacle_to_loading(const fs::path& library, const base::FileDescriptor& file) {
  struct statvfs disk {};
  if (::fstatvfs(file.get(), &disk) == 0 && (disk.f_flag & ST_NOEXEC) != 0) {
    return base::Error{library.string() + " is on a file system that is mounted with noexec",
                       "mount it without noexec, or install cudadiag on another file system"};
  }
  const std::string error = loading_error(library);
  if (error.empty()) return std::nullopt;
  return base::Error{library.string() + " cannot be loaded (" + error + ")",
                     reinstall() + "; this system needs a build for glibc " + ::gnu_get_libc_version() + " or older"};
}

// Calls `further` if the library is readable, complete, and built for this processor.
template <typename Further>
std::optional<base::Error> fault_in(const fs::path& library, const std::string& remedy, const Further& further) {
  const base::FileDescriptor file(::open(library.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return not_opened(library, errno, remedy);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return base::Error{library.string() + " is not a file", remedy};
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  ElfFile elf(file.get(), size);
  auto fault = fault_in_elf(elf, library.string(), size, remedy);
  return fault ? fault : further(file, elf);
}

}  // namespace

base::Result<fs::path> find_recorder() {
  std::error_code error;
  if (const std::string named = environment_value(kRecorderVariable); !named.empty()) {
    struct stat status {};
    if (::stat(named.c_str(), &status) == 0 ? S_ISREG(status.st_mode) : errno == EACCES) {
      return fs::absolute(named, error);
    }
    return base::Error{std::string(kRecorderVariable) + " names " + named + ", which is not a file", "unset it"};
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return base::Error{"cannot look for " + std::string(kRecorderFile) + ": /proc/self/exe: " + error.message(),
                       "mount /proc, or set " + std::string(kRecorderVariable) + " to its path"};
  }
  const fs::path prefix = program.parent_path().parent_path();
  for (const char* folder : {"lib", "lib64", "lib/cudadiag"}) {
    const fs::path candidate = prefix / folder / kRecorderFile;
    struct stat status {};
    if (::lstat(candidate.c_str(), &status) == 0 || errno == EACCES) return candidate;
  }
  return base::Error{std::string(kRecorderFile) + " is not in lib, lib64 or lib/cudadiag of " + prefix.string(),
                     std::string(kReinstall) + ", or set " + kRecorderVariable + " to its path"};
}

fs::path preload_library(const fs::path& recorder) { return recorder.parent_path() / kPreloadFile; }

std::optional<base::Error> fault_in_foreign(const fs::path& library, const std::string& remedy) {
  return fault_in(library, remedy, [](const auto&, const auto&) { return std::optional<base::Error>(); });
}

std::optional<base::Error> fault_in(const fs::path& library) {
  return fault_in(library, reinstall(), [&](const base::FileDescriptor& file, ElfFile& elf) {
    auto fault = fault_in_mark(elf, library.string());
    return fault ? fault : obstacle_to_loading(library, file);
  });
}

std::optional<base::Error> fault_in_preload(const fs::path& recorder) {
  const std::string folder = recorder.parent_path().string();
  if (folder.find_first_of(" \t\n:") != std::string::npos) {
    return base::Error{"--once cannot use the cudadiag in " + folder +
                           ": the dynamic linker accepts no blank or colon in the path of a preloaded library",
                       "install cudadiag in a different folder"};
  }
  auto fault = fault_in(preload_library(recorder));
  if (fault) fault->what = "--once needs a library that cannot be used: " + fault->what;
  return fault;
}

base::Result<fs::path> usable_recorder(bool once) {
  auto recorder = find_recorder();
  if (std::holds_alternative<base::Error>(recorder)) return recorder;
  const auto& path = std::get<fs::path>(recorder);
  if (auto fault = fault_in(path)) return *std::move(fault);
  if (once) {
    if (auto fault = fault_in_preload(path)) return *std::move(fault);
  }
  return recorder;
}

}  // namespace cudadiag::launch
