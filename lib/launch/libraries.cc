#include "launch/libraries.h"

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
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <variant>

#include "base/files.h"
#include "base/text.h"
#include "launch/spawn.h"
#include "session/user_or_library.h"
#include "wire/environment.h"
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

namespace {

// The paths of libcupti in Python wheels, relative to site-packages, newest version first.
constexpr const char* kWheels[] = {"nvidia/cu13/lib/libcupti.so.13", "nvidia/cuda_cupti/lib/libcupti.so.13",
                                   "nvidia/cuda_cupti/lib/libcupti.so.12"};
constexpr const char* kLibraries[] = {"libcupti.so.13", "libcupti.so.12"};
constexpr const char* kToolkits[] = {"extras/CUPTI/lib64/libcupti.so.13", "lib64/libcupti.so.13",
                                     "extras/CUPTI/lib64/libcupti.so.12", "lib64/libcupti.so.12"};

class Candidates {
 public:
  void add(const fs::path& file) {
    std::error_code error;
    if (!fs::is_regular_file(file, error)) return;
    // Skips duplicates. A toolkit's folder is often named after its version, and also has a link without the version.
    const auto same = [&](const fs::path& other) { return fs::equivalent(file, other, error); };
    if (std::ranges::none_of(found_, same)) found_.push_back(file);
  }
  template <std::size_t N>
  void add_under(const fs::path& folder, const char* const (&files)[N]) {
    for (const char* file : files) add(folder / file);
  }
  std::vector<fs::path> take() { return std::move(found_); }

 private:
  std::vector<fs::path> found_;
};

std::vector<fs::path> children(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  }
  std::ranges::sort(found, std::greater<>());
  return found;
}

// Adds folders such as PREFIX/lib/python3.X/site-packages to `folders`.
void add_python_prefix(const fs::path& prefix, std::vector<fs::path>& folders) {
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const fs::path& python : children(prefix / lib, "python3")) {
      folders.push_back(python / "site-packages");
      folders.push_back(python / "dist-packages");
    }
  }
}

// The prefix of a Python environment that the user chose: by activating it, or by running its interpreter or a script
// next to the interpreter. The folders around other programs are not searched.
struct PythonPrefix {
  fs::path path;
  uid_t owner;  // the owner of the program; trusted, because the user runs the program
};

std::vector<PythonPrefix> python_prefixes(const std::vector<std::string>& command) {
  std::vector<PythonPrefix> prefixes;
  if (const char* environment = std::getenv("VIRTUAL_ENV")) prefixes.push_back({environment, ::geteuid()});
  if (command.empty()) return prefixes;
  const CommandPath found = find_command(command.front());
  if (found.path.empty()) return prefixes;
  std::error_code error;
  // In a virtual environment, python is a symbolic link. Tries the prefix of the link first, then that of its target.
  for (const fs::path& program : {fs::absolute(found.path, error), fs::canonical(found.path, error)}) {
    const fs::path folder = program.parent_path();
    struct stat status {};
    const bool beside_interpreter = folder.filename() == "bin" && ::access((folder / "python3").c_str(), X_OK) == 0;
    if (!beside_interpreter && !session::is_interpreter(program.string())) continue;
    const fs::path prefix = folder.parent_path();
    if (!prefixes.empty() && prefixes.back().path == prefix) continue;
    if (::stat(program.c_str(), &status) == 0) prefixes.push_back({prefix, status.st_uid});
  }
  return prefixes;
}

bool is_elf(const fs::path& file) {
  char start[SELFMAG] = {};
  std::ifstream(file, std::ios::binary).read(start, sizeof start);
  return std::string_view(start, sizeof start) == ELFMAG;
}

}  // namespace

std::vector<std::string> listed_paths(const char* variable) {
  std::vector<std::string> elements;
  const char* value = std::getenv(variable);
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) elements.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return elements;
}

std::vector<fs::path> python_packages(const std::vector<std::string>& command) {
  std::vector<fs::path> folders;
  for (const PythonPrefix& prefix : python_prefixes(command)) add_python_prefix(prefix.path, folders);
  return folders;
}

std::vector<fs::path> files_in_python_packages(const std::vector<std::string>& command, const fs::path& name) {
  std::vector<fs::path> files;
  for (const PythonPrefix& prefix : python_prefixes(command)) {
    std::vector<fs::path> folders;
    add_python_prefix(prefix.path, folders);
    for (const fs::path& folder : folders) {
      if (only_trusted_can_write(folder / name, prefix.owner)) files.push_back(folder / name);
    }
  }
  return files;
}

std::vector<fs::path> find_cupti(const std::vector<std::string>& command) {
  Candidates candidates;
  for (const std::string& named : listed_paths(wire::environment::kCupti)) candidates.add(named);
  for (const std::string& folder : listed_paths("LD_LIBRARY_PATH")) candidates.add_under(folder, kLibraries);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(variable)) candidates.add_under(home, kToolkits);
  }
  for (const fs::path& toolkit : children("/usr/local", "cuda")) candidates.add_under(toolkit, kToolkits);
  for (const char* file : {"/usr/lib/x86_64-linux-gnu/libcupti.so.13", "/usr/lib/x86_64-linux-gnu/libcupti.so.12",
                           "/usr/lib/aarch64-linux-gnu/libcupti.so.13"}) {
    candidates.add(file);
  }
  for (const char* wheel : kWheels) {
    for (const fs::path& file : files_in_python_packages(command, wheel)) candidates.add(file);
  }
  return candidates.take();
}

std::vector<std::string> missing_cupti() {
  std::vector<std::string> missing;
  for (const std::string& file : listed_paths(wire::environment::kCupti)) {
    std::error_code error;
    const bool is_file = fs::is_regular_file(file, error);
    if (is_file && is_elf(file)) continue;
    missing.push_back(std::string(wire::environment::kCupti) + " names " + file + ", which is not a " +
                      (is_file ? "readable library" : "file"));
  }
  return missing;
}

}  // namespace cudadiag::launch
