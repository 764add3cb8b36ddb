#include "record/stacks/modules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "wire/hash.h"

namespace cudadiag::record {
namespace {

// The kernel writes a newline in a name as \012. The name may also contain the text \012 itself, so a path that exists
// is not changed.
void restore_newlines(char* path) {
  constexpr char kEscaped[] = "\\012";
  if (strstr(path, kEscaped) == nullptr || access(path, F_OK) == 0) return;
  char* to = path;
  for (const char* from = path; *from != '\0';) {
    const bool newline = strncmp(from, kEscaped, 4) == 0;
    *to++ = newline ? '\n' : *from;
    from += newline ? 4 : 1;
  }
  *to = '\0';
}

}  // namespace

MemoryMap::MemoryMap() : fd_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}

MemoryMap::~MemoryMap() {
  if (fd_ >= 0) close(fd_);
}

int MemoryMap::next_byte() {
  if (at_ == filled_) {
    const ssize_t got = fd_ < 0 || !text_ ? -1 : read(fd_, text_->read.data(), text_->read.size());
    if (got <= 0) return -1;
    filled_ = static_cast<std::size_t>(got);
    at_ = 0;
  }
  return static_cast<unsigned char>(text_->read[at_++]);
}

// Parses a line such as "7f01a000-7f01c000 r-xp 00001000 fe:00 1234       /usr/lib/libc.so.6".
bool MemoryMap::next(MemoryRange& range) {
  std::uint64_t numbers[3] = {};
  std::size_t field = 0, length = 0;
  int byte = next_byte();
  if (byte < 0) return false;
  for (; byte >= 0 && byte != '\n'; byte = next_byte()) {
    if (field < 5 && (byte == ' ' || (field == 0 && byte == '-' && numbers[1] == 0))) {
      // Field 0 contains two numbers. Several blanks may precede the path, but not the other fields.
      if (byte == '-') {
        numbers[1] = numbers[0];
        numbers[0] = 0;
      } else {
        if (field == 0) range.begin = numbers[1], range.end = numbers[0];
        ++field;
      }
      continue;
    }
    if (field == 0 || field == 2) {
      const std::uint64_t digit = byte <= '9' ? byte - '0' : (byte | 32) - 'a' + 10;
      std::uint64_t& number = field == 0 ? numbers[0] : numbers[2];
      number = number << 4 | digit;
    } else if (field == 5 && (byte != ' ' || length > 0) && length + 1 < text_->path.size()) {
      text_->path[length++] = static_cast<char>(byte);
    }
  }
  text_->path[length] = '\0';
  restore_newlines(text_->path.data());
  range.path = text_->path.data();
  range.file_offset = numbers[2];
  return true;
}

using wire::mix;

namespace {

constexpr std::size_t kFirstPage = 4096;  // at least this many bytes of a module are mapped

using FindObject = int (*)(void*, FoundObject*);
FindObject g_find_object;  // glibc's _dl_find_object; null before glibc 2.35
std::uintptr_t g_executable_begin, g_executable_end;
char g_executable_path[PATH_MAX];  // path of the executable, which the dynamic linker does not have; "" if unknown

// Rounds down to the system's page size, because the loader maps whole pages.
std::uintptr_t page_of(std::uintptr_t address) { return address & -getauxval(AT_PAGESZ); }

std::uintptr_t load_bias(std::uintptr_t begin) {
  std::uintptr_t first = UINTPTR_MAX;
  for (const auto& segment : Modules::program_headers(begin)) {
    if (segment.p_type == PT_LOAD) first = std::min<std::uintptr_t>(first, segment.p_vaddr);
  }
  return first == UINTPTR_MAX ? begin : begin - page_of(first);
}

std::span<const std::byte> build_id_in(std::uintptr_t notes, std::size_t size) {
  for (std::uintptr_t at = notes; at + sizeof(ElfW(Nhdr)) <= notes + size;) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
    const std::uintptr_t description = at + sizeof *note + ((note->n_namesz + 3u) & ~3u);
    at = description + ((note->n_descsz + 3u) & ~3u);
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && note->n_descsz <= 64 && at <= notes + size) {
      return {reinterpret_cast<const std::byte*>(description), note->n_descsz};
    }
  }
  return {};
}

// Stores the path as the kernel prints it; empty if the range is not mapped.
void find_path(std::uintptr_t begin, std::span<char, PATH_MAX> path) {
  path[0] = '\0';
  MemoryMap map;
  MemoryRange range;
  while (map.next(range)) {
    if (range.begin != begin) continue;
    strcpy(path.data(), range.path);  // both are PATH_MAX long
    break;
  }
}

bool find_in_memory_map(std::uintptr_t address, FoundObject& found) {
  MemoryMap map;
  MemoryRange range;
  std::uintptr_t begin = 0, end = 0;  // the module whose ranges are being read
  const Scratch<char[PATH_MAX]> path;
  while (path && map.next(range)) {
    const bool named = range.path[0] == '/';
    if (named && range.file_offset == 0 && strcmp(range.path, *path) != 0) {
      begin = range.begin;
      strcpy(*path, range.path);  // both are PATH_MAX long
    } else if (named ? strcmp(range.path, *path) != 0 : range.begin != end) {
      begin = 0;  // this range is neither the module's next segment nor the zero pages after it
    }
    end = range.end;
    if (address < range.begin || address >= range.end) continue;
    if (begin == 0) return false;
    found = {};
    found.map_start = reinterpret_cast<void*>(begin);
    found.map_end = reinterpret_cast<void*>(end);
    for (const auto& segment : Modules::program_headers(begin)) {
      if (segment.p_type == PT_GNU_EH_FRAME)
        found.eh_frame = reinterpret_cast<void*>(load_bias(begin) + segment.p_vaddr);
    }
    return found.eh_frame != nullptr;
  }
  return false;
}

}  // namespace

void Modules::start() {
  g_find_object = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  const auto* headers = reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR));
  std::uintptr_t begin = UINTPTR_MAX, end = 0, bias = 0;
  for (const auto& segment : std::span(headers, headers == nullptr ? 0 : getauxval(AT_PHNUM))) {
    if (segment.p_type == PT_PHDR) bias = reinterpret_cast<std::uintptr_t>(headers) - segment.p_vaddr;
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min<std::uintptr_t>(begin, page_of(segment.p_vaddr));
    end = std::max<std::uintptr_t>(end, segment.p_vaddr + segment.p_memsz);
  }
  if (end == 0) return;
  g_executable_begin = begin + bias, g_executable_end = end + bias;
  find_path(g_executable_begin, g_executable_path);
}

bool Modules::knows_what_is_ready() { return g_find_object != nullptr; }

std::span<const Elf64_Phdr> Modules::program_headers(std::uintptr_t begin) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(begin);
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(Elf64_Phdr) ||
      header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr) > kFirstPage) {
    return {};
  }
  return {reinterpret_cast<const Elf64_Phdr*>(begin + header->e_phoff), header->e_phnum};
}

bool Modules::find_object(const void* address, FoundObject& found) {
  if (g_find_object != nullptr) return g_find_object(const_cast<void*>(address), &found) == 0;
  return find_in_memory_map(reinterpret_cast<std::uintptr_t>(address), found);
}

bool Modules::find(std::uintptr_t address, LoadedModule& module) {
  FoundObject found = {};
  if (!find_object(reinterpret_cast<const void*>(address), found)) return false;
  auto begin = reinterpret_cast<std::uintptr_t>(found.map_start), end = reinterpret_cast<std::uintptr_t>(found.map_end);
  // If there are gaps between an executable's segments, as with huge pages, glibc returns only one segment.
  if (Modules::program_headers(begin).empty() && address >= g_executable_begin && address < g_executable_end) {
    begin = g_executable_begin, end = g_executable_end;
  }
  module = {begin, end, load_bias(begin), found.map, {}};
  for (const auto& segment : Modules::program_headers(begin)) {
    if (segment.p_type != PT_NOTE || !module.build_id.empty()) continue;
    module.build_id = build_id_in(module.bias + segment.p_vaddr, segment.p_memsz);
  }
  return true;
}

std::uint64_t Modules::identity(const LoadedModule& module) {
  std::string_view own(reinterpret_cast<const char*>(module.build_id.data()), module.build_id.size());
  if (own.empty() && module.map != nullptr && module.map->l_name != nullptr) own = module.map->l_name;
  return mix(mix(module.begin, module.end), wire::hash_bytes(own.data(), own.size()));
}

const char* Modules::path(const LoadedModule& module, std::span<char, PATH_MAX> buffer) {
  if (module.map != nullptr && module.map->l_name != nullptr && module.map->l_name[0] != '\0') {
    return module.map->l_name;
  }
  if (module.begin == g_executable_begin && g_executable_path[0] != '\0') return g_executable_path;
  find_path(module.begin, buffer);
  return buffer.data();
}

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr std::uintptr_t kPage = 4096;  // the smallest page size

std::uint64_t read_words(std::uintptr_t at) {
  std::uint64_t words = 0;
  memcpy(&words, reinterpret_cast<const void*>(at), sizeof words);
  return words;
}

bool is_cuda_s(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path.starts_with("libcu") || path.starts_with("libnv");
}

}  // namespace

void OpenedModules::start() {
  LoadedModule program;
  if (Modules::find(getauxval(AT_PHDR), program)) program_ = program.map;
}

// The modules up to the dynamic linker in the linker's list were loaded at program start, and are never unloaded. Some
// later modules are never unloaded either, but we cannot tell which.
bool OpenedModules::came_with_program(const LoadedModule& module) const {
  const std::uintptr_t linker = getauxval(AT_BASE);
  for (const link_map* each = linker == 0 ? nullptr : program_; each != nullptr; each = each->l_next) {
    if (each == module.map) return true;
    if (each->l_addr == linker) return false;
  }
  return true;
}

// Returns the entry of an earlier module at the same address. If there is none, returns a new entry. If all entries are
// used, returns the entry of a closed module, or the number of entries if no module is closed.
std::size_t OpenedModules::place_for(std::uintptr_t begin) const {
  const std::size_t count = count_.load(kRelaxed);
  for (std::size_t i = 0; i < count; ++i) {
    if (modules_[i].begin.load(kRelaxed) == begin) return i;
  }
  std::size_t place = count;
  if (count == modules_.size()) {
    for (place = 0; place < count && is_occupied(modules_[place]);) ++place;
  }
  return place;
}

void OpenedModules::met(const LoadedModule& module, std::uint64_t identity) {
  if (module.map == nullptr || is_cuda_s(module.map->l_name) || came_with_program(module)) return;
  const LockGuard lock(mutex_);
  const std::size_t place = place_for(module.begin);
  if (place == modules_.size()) return;
  modules_[place].begin.store(module.begin, kRelaxed);
  modules_[place].end.store(module.end, kRelaxed);
  modules_[place].identity.store(identity, kRelaxed);
  const auto words = reinterpret_cast<std::uintptr_t>(module.build_id.data());
  const bool near =
      module.build_id.size() >= sizeof(std::uint64_t) && words + sizeof(std::uint64_t) <= module.begin + kPage;
  modules_[place].words.store(near ? words : 0, kRelaxed);
  modules_[place].first_words.store(near ? read_words(words) : 0, kRelaxed);
  count_.store(std::max(count_.load(kRelaxed), place + 1), std::memory_order_release);
}

std::uint8_t OpenedModules::in(const StackShape& shape, std::uintptr_t stack_pointer) const {
  const std::size_t count = count_.load(std::memory_order_acquire);
  for (std::size_t frame = 0; count > 0 && frame < shape.frames; ++frame) {
    const std::uintptr_t address = return_address_at(stack_pointer + shape.offsets[frame]);
    for (std::size_t i = 0; i < count; ++i) {
      if (address > modules_[i].begin.load(kRelaxed) && address <= modules_[i].end.load(kRelaxed)) {
        return static_cast<std::uint8_t>(i + 1);
      }
    }
  }
  return 0;
}

// Returns true if a module of the same size, possibly a different one, is at the address now.
bool OpenedModules::is_occupied(const Module& place) {
  const std::uintptr_t begin = place.begin.load(kRelaxed);
  FoundObject now;
  return Modules::find_object(reinterpret_cast<const void*>(begin), now) &&
         reinterpret_cast<std::uintptr_t>(now.map_start) == begin &&
         reinterpret_cast<std::uintptr_t>(now.map_end) == place.end.load(kRelaxed);
}

// Reading the words is safe. The stack contains a return address into the module that is there now, so this module
// cannot be closed during the call.
bool OpenedModules::is_still_there(std::uint8_t module) const {
  const Module& known = modules_[module - 1];
  if (!is_occupied(known)) return false;
  const std::uintptr_t words = known.words.load(kRelaxed);
  if (words != 0) return read_words(words) == known.first_words.load(kRelaxed);
  LoadedModule now;
  return Modules::find(known.begin.load(kRelaxed), now) && Modules::identity(now) == known.identity.load(kRelaxed);
}

}  // namespace cudadiag::record
