// Looks up functions and lines by address in an executable or library on disk. Opens the file at the first query. If it
// is missing, stripped, truncated or not an ELF file, names and lines are unknown.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbolize/source_stack.h"

struct Dwarf;
struct Dwfl_Module;
struct Elf;

namespace cudadiag::symbolize {

class TailCalls;

class ElfModule {
 public:
  enum class Condition {
    readable,
    missing,  // missing, unreadable or not an ELF file
    changed,  // not the recorded build, so its symbols and lines are not used
  };

  // `build_id` is in lower-case hex. If it is empty, any build is accepted.
  ElfModule(std::string path, std::string build_id);
  ~ElfModule();
  ElfModule(const ElfModule&) = delete;
  ElfModule& operator=(const ElfModule&) = delete;

  const std::string& path() const { return path_; }
  Condition condition();
  bool has_lines();
  // A .dwo file that frames() needed but did not find; empty if there is none.
  std::string missing_file();

  // Returns the functions inlined at `address` and then the function that contains them, innermost first. `address` is
  // relative to the load bias. Never empty: without symbols, returns one frame with only the module. Does not set
  // `user`.
  std::vector<NativeFrame> frames(std::uint64_t address);

  // See DwarfLines::variable().
  std::string variable(std::uint64_t address, std::uint64_t below);

  // Returns the calls in the module that DWARF describes; empty without line information.
  const TailCalls& tail_calls();

 private:
  struct File;
  File& file();

  std::string path_, build_id_;
  std::unique_ptr<File> file_;
};

// ---- dwarf_lines.cc

// Reads functions, inlined calls and lines from the DWARF of one module. Supports versions 4 and 5, in the module or in
// a debug file, with or without .dwo files. Internal to lib/symbolize: only the code below elf_module.h uses elfutils'
// types.
class DwarfLines {
 public:
  explicit DwarfLines(Dwfl_Module* module);

  bool available() const { return dwarf_ != nullptr; }
  Elf* debug_file() const;  // null if there is no DWARF

  // Returns the functions inlined at `address` and then the function that contains them, innermost first. `address` is
  // relative to the load bias.
  std::vector<NativeFrame> frames(std::uint64_t address);

  // Returns the name of the variable or parameter, of the function at `address`, that contains the byte at this
  // distance below the end of the function's frame (DWARF's CFA). Empty if there is none.
  std::string variable(std::uint64_t address, std::uint64_t below);

  // Returns whether the linker folded functions with identical code into one at `address`. `names` are the symbols at
  // that address. They were folded if at least two of them are separate functions rather than aliases.
  enum class Folding { none, of_one_line, of_several_lines };
  Folding folding(std::uint64_t address, const std::vector<std::string>& names) const;

  // A .dwo file that was needed but not found; empty if there is none. Without it, inlined calls are unknown.
  const std::string& missing_file() const { return missing_file_; }

 private:
  struct UnitRange {
    std::uint64_t begin, end;
    std::uint64_t unit;  // offset of its entry in .debug_info
  };
  std::optional<std::uint64_t> unit_at(std::uint64_t address);
  void index_units();

  Dwfl_Module* module_;
  Dwarf* dwarf_ = nullptr;
  std::string missing_file_;
  std::uint64_t bias_ = 0;                       // added to the debug file's addresses; not 0 after prelink
  std::optional<std::vector<UnitRange>> units_;  // sorted by address; built if .debug_aranges does not help
};

// ---- tail_calls.cc

// Finds the functions that tail calls removed from a stack, from the calls in one module that DWARF describes.
// Compilers describe calls only in optimised code. Internal to lib/symbolize.
class TailCalls {
 public:
  using Function = std::uint32_t;  // index in this module
  static constexpr Function kNotKnown = ~Function{0};

  // Reads all of the module's DWARF or, if that would take too long, none of it. `module` may be null. All addresses
  // are relative to the load bias.
  explicit TailCalls(Dwfl_Module* module);

  // Both functions return kNotKnown for a function that the module neither defines nor calls by name.
  Function function_at(std::uint64_t address) const;
  Function function_named(std::string_view name) const;
  bool defines(Function function) const;
  const std::string& name(Function function) const;  // linkage name; empty for file-local functions

  // Returns the function called by the call just before `return_address`. Returns nullopt if DWARF describes no call
  // there, and kNotKnown if the call is indirect or may go to several functions.
  std::optional<Function> called_at(std::uint64_t return_address) const;

  // Returns the tail calls that led from `from` to `to`, innermost first. Each address is inside the jump instruction.
  // Returns only calls that all possible chains share. Empty if there are none, or if tail calls lead from `from` to
  // code whose calls are unknown. If `from` is kNotKnown, the chain may begin in any function whose entry address
  // `may_begin` accepts.
  using MayBegin = std::function<bool(std::uint64_t entry)>;
  std::vector<std::uint64_t> between(Function from, Function to, const MayBegin& may_begin) const;

 private:
  class Reader;
  class ChainSearch;
  struct Definition {
    std::string name;
    std::uint64_t entry = 0;  // 0 if it is defined in another module
  };
  struct Range {
    std::uint64_t begin, end;
    Function function;
  };
  struct Call {
    std::uint64_t return_address;
    Function callee;
  };
  struct TailCall {
    std::uint64_t address;
    Function caller, callee;  // kNotKnown for an indirect call
  };
  static bool earlier_caller(const TailCall& a, const TailCall& b);

  std::vector<Definition> functions_;
  std::unordered_map<std::string, Function> by_name_;
  std::vector<Range> ranges_;        // sorted by address
  std::vector<Call> calls_;          // sorted by return address
  std::vector<TailCall> by_callee_;  // sorted by callee
  std::vector<TailCall> by_caller_;  // the same, sorted by caller
};

// ---- shared by the readers of DWARF entries; internal to lib/symbolize

inline constexpr int kDeepestScope = 64;  // compilers do not nest deeper

// Returns whether entries with this tag have no code of their own, but may contain functions with code.
bool is_container(int tag);

}  // namespace cudadiag::symbolize
