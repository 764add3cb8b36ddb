#include "symbolize/elf_module.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "base/text.h"
#include "session/user_or_library.h"

namespace cudadiag::symbolize {

namespace {

// Looks up functions by address in the symbol tables of an ELF file.
class SymbolTable {
 public:
  // Reads .symtab of `elf` or, if there is none, of `debug_file` (which may be null). Adds further symbols from
  // .dynsym. Both files must outlive the table.
  SymbolTable(Elf* elf, Elf* debug_file);

  // Returns the linkage names of the function that contains `address`, in order of preference. Removes the suffixes
  // that optimisers add. If several names demangle to the same text, as for constructors, returns only one of them.
  std::vector<std::string> names_at(std::uint64_t address) const;

 private:
  struct Symbol {
    std::uint64_t begin, end;
    Elf* elf;
    std::uint32_t strings, name;  // index of the string table's section, and offset in that section
    std::uint8_t rank;            // orders symbols with the same address; lower is preferred
  };
  bool add(Elf* elf, std::uint32_t section_type);

  std::vector<Symbol> symbols_;  // sorted by address
};

// An assembly function without a size extends to the next symbol, but at most this many bytes.
constexpr std::uint64_t kUnsizedReach = 4096;

std::uint8_t rank_of(unsigned binding) { return binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2; }

SymbolTable::SymbolTable(Elf* elf, Elf* debug_file) {
  if (!add(elf, SHT_SYMTAB) && debug_file && debug_file != elf) add(debug_file, SHT_SYMTAB);
  add(elf, SHT_DYNSYM);
  std::ranges::sort(symbols_, [](const Symbol& a, const Symbol& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.rank < b.rank;
  });
}

// Adds the functions in all sections of this type. Returns whether there is such a section.
bool SymbolTable::add(Elf* elf, std::uint32_t section_type) {
  bool found = false;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type != section_type || header.sh_entsize == 0) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (!data) continue;
    found = true;
    const auto count = static_cast<int>(std::min<std::uint64_t>(data->d_size / header.sh_entsize, 1u << 28));
    for (int i = 0; i < count; ++i) {
      GElf_Sym symbol;
      if (!gelf_getsym(data, i, &symbol)) break;
      const unsigned type = GELF_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
      symbols_.push_back({symbol.st_value, symbol.st_value + symbol.st_size, elf, header.sh_link, symbol.st_name,
                          rank_of(GELF_ST_BIND(symbol.st_info))});
    }
  }
  return found;
}

std::vector<std::string> SymbolTable::names_at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::begin);
  if (after == symbols_.begin()) return {};
  std::vector<std::string> names;
  std::set<std::string> readings;
  const std::uint64_t begin = std::prev(after)->begin;
  auto symbol = std::ranges::lower_bound(symbols_.begin(), after, begin, {}, &Symbol::begin);
  for (; symbol != after; ++symbol) {
    const bool covered = symbol->end > symbol->begin ? address < symbol->end : address - begin < kUnsizedReach;
    if (!covered) continue;
    const char* name = elf_strptr(symbol->elf, symbol->strings, symbol->name);
    if (!name || !*name) continue;
    std::string kept(base::without_clone_suffix(name));
    if (readings.insert(base::demangle(kept)).second) names.push_back(std::move(kept));
  }
  return names;
}

namespace fs = std::filesystem;

std::string build_id_of(Elf* elf) {
  const void* bytes = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf, &bytes);
  return size <= 0 ? "" : base::hex_of({static_cast<const std::byte*>(bytes), static_cast<std::size_t>(size)});
}

// Opens `path` if it is an ELF file with this build-id. Opens only plain files, because opening a pipe may block.
int open_with_build_id(const fs::path& path, const std::string& build_id) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return -1;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  const bool same = elf && build_id_of(elf) == build_id;
  elf_end(elf);
  if (same) return fd;
  close(fd);
  return -1;
}

// A callback for libdwfl that finds separate debug information by build-id or debug link. Searches only this machine;
// libdwfl's default callback queries network servers if DEBUGINFOD_URLS is set. The build-id must match. Finds none for
// libraries that are not the user's: reports need no lines of these, and libc's file takes 0.1 s to read.
int find_debug_file(Dwfl_Module* module, void**, const char*, Dwarf_Addr, const char* file_name, const char* link,
                    GElf_Word, char** found) {
  if (file_name != nullptr && !session::is_module_of_users(file_name)) return -1;
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module, &bias);
  const std::string id = elf ? build_id_of(elf) : std::string();
  if (id.size() <= 2) return -1;
  std::vector<fs::path> places = {fs::path("/usr/lib/debug/.build-id") / id.substr(0, 2) / (id.substr(2) + ".debug")};
  if (file_name && link) {
    const fs::path folder = fs::path(file_name).parent_path();
    for (const fs::path& place : {folder, folder / ".debug", fs::path("/usr/lib/debug") / folder.relative_path()}) {
      if (place / link != file_name) places.push_back(place / link);
    }
  }
  for (const fs::path& place : places) {
    const int fd = open_with_build_id(place, id);
    if (fd < 0) continue;
    *found = strdup(place.c_str());
    return fd;
  }
  return -1;
}

// Returns whether the linker folded several functions into one at this address. It is then unknown which of them ran.
// Clears `frames` if the functions are on different lines. Without line information, several C++ names count as folded
// functions, because aliases are rare in C++.
bool is_folded(const DwarfLines& lines, std::uint64_t address, const std::vector<std::string>& names,
               std::vector<NativeFrame>& frames) {
  const DwarfLines::Folding folding = lines.folding(address, names);
  if (folding == DwarfLines::Folding::of_several_lines) frames.clear();
  if (folding != DwarfLines::Folding::none) return true;
  const auto is_cplusplus = [](const std::string& name) { return name.starts_with("_Z"); };
  return frames.empty() && std::ranges::all_of(names, is_cplusplus);
}

// Returns the demangled name without its parameters.
std::string bare(const std::string& function) {
  int depth = 0;
  for (std::size_t at = function.size(); function.ends_with(')') && at-- > 1;) {
    depth += function[at] == ')' ? 1 : function[at] == '(' ? -1 : 0;
    if (depth == 0) return function.substr(0, at);
  }
  return function;
}

// Joins demangled names: "first or second". Keeps the parameters if names differ only in them: "only(int) or
// only(long)".
std::string one_of(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 3;
  std::set<std::string> whole, short_names;
  for (const std::string& name : names) {
    whole.insert(base::demangle(name));
    short_names.insert(bare(base::demangle(name)));
  }
  const auto& distinct = short_names.size() == names.size() ? short_names : whole;
  const std::vector<std::string> functions(distinct.begin(), distinct.end());
  std::string text = functions.front();
  for (std::size_t i = 1; i < std::min(functions.size(), kNamed); ++i) text += " or " + functions[i];
  return functions.size() > kNamed ? text + " or another function" : text;
}

const Dwfl_Callbacks kCallbacks = {nullptr, find_debug_file, nullptr, nullptr};

}  // namespace

struct ElfModule::File {
  struct End {
    void operator()(Dwfl* opened) const { dwfl_end(opened); }
  };
  Condition condition = Condition::missing;
  std::unique_ptr<Dwfl, End> dwfl;
  Dwfl_Module* module = nullptr;
  Elf* elf = nullptr;
  std::optional<DwarfLines> lines;  // created on first use, like the next two
  std::optional<SymbolTable> symbols;
  std::optional<TailCalls> calls;

  void open(const std::string& path, const std::string& build_id) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return;
    dwfl.reset(dwfl_begin(&kCallbacks));
    if (!dwfl) return;
    module = dwfl_report_elf(dwfl.get(), path.c_str(), path.c_str(), -1, 0, true);
    if (!module || dwfl_report_end(dwfl.get(), nullptr, nullptr) != 0) return;
    GElf_Addr bias = 0;
    elf = dwfl_module_getelf(module, &bias);
    if (!elf) return;
    condition = build_id.empty() || build_id_of(elf) == build_id ? Condition::readable : Condition::changed;
  }

  DwarfLines& dwarf_lines() {
    if (!lines) lines.emplace(module);
    return *lines;
  }

  SymbolTable& symbol_table() {
    if (!symbols) symbols.emplace(elf, dwarf_lines().debug_file());
    return *symbols;
  }
};

ElfModule::ElfModule(std::string path, std::string build_id) : path_(std::move(path)), build_id_(std::move(build_id)) {}
ElfModule::~ElfModule() = default;

ElfModule::File& ElfModule::file() {
  if (!file_) {
    file_ = std::make_unique<File>();
    file_->open(path_, build_id_);
  }
  return *file_;
}

ElfModule::Condition ElfModule::condition() { return file().condition; }

bool ElfModule::has_lines() { return condition() == Condition::readable && file().dwarf_lines().available(); }

std::string ElfModule::missing_file() {
  return condition() == Condition::readable ? file().dwarf_lines().missing_file() : "";
}

std::string ElfModule::variable(std::uint64_t address, std::uint64_t below) {
  return condition() == Condition::readable ? file().dwarf_lines().variable(address, below) : "";
}

std::vector<NativeFrame> ElfModule::frames(std::uint64_t address) {
  std::vector<NativeFrame> frames;
  std::vector<std::string> names;
  if (condition() == Condition::readable) {
    frames = file().dwarf_lines().frames(address);
    names = file().symbol_table().names_at(address);
  }
  const bool folded = names.size() > 1 && is_folded(file().dwarf_lines(), address, names, frames);
  if (frames.empty()) frames.emplace_back();
  for (NativeFrame& frame : frames) {
    frame.module = path_;
    frame.offset = address;
  }
  // DWARF has no linkage name for C functions, file-local functions and code without line information. Take the name
  // from the symbol table.
  NativeFrame& physical = frames.back();
  if (physical.mangled.empty() && !names.empty()) {
    physical.mangled = names.front();
    if (physical.function.empty() || physical.mangled.starts_with("_Z"))
      physical.function = base::demangle(physical.mangled);
  }
  physical.folded = folded;
  if (folded) physical.function = one_of(names);
  return frames;
}

const TailCalls& ElfModule::tail_calls() {
  File& opened = file();
  if (!opened.calls) opened.calls.emplace(opened.condition == Condition::readable ? opened.module : nullptr);
  return *opened.calls;
}

}  // namespace cudadiag::symbolize
