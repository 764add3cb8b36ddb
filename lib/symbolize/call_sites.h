// Finds the calls in one module from DWARF call sites, and the functions that tail calls removed from a stack.
// Compilers describe call sites only in optimised code. Internal to lib/symbolize.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct Dwfl_Module;

namespace cudadiag::symbolize {

class CallSites {
 public:
  using Function = std::uint32_t;  // index in this module
  static constexpr Function kNotKnown = ~Function{0};

  // Reads all of the module's DWARF or, if that would take too long, none of it. `module` may be null. All addresses
  // are relative to the load bias.
  explicit CallSites(Dwfl_Module* module);

  // Both functions return kNotKnown for a function that the module neither defines nor calls by name.
  Function function_at(std::uint64_t address) const;
  Function function_named(std::string_view name) const;
  bool defines(Function function) const;
  const std::string& name(Function function) const;  // linkage name; empty for file-local functions

  // Returns the function called by the call just before `return_address`. Returns nullopt if DWARF describes no call
  // site there, and kNotKnown if the call is indirect or may go to several functions.
  std::optional<Function> called_at(std::uint64_t return_address) const;

  // Returns the tail calls that led from `from` to `to`, innermost first. Each address is inside the jump instruction.
  // Returns only calls that all possible chains share. Empty if there are none, or if tail calls lead from `from` to
  // code whose calls are unknown. If `from` is kNotKnown, the chain may begin in any function whose entry address
  // `may_begin` accepts.
  using MayBegin = std::function<bool(std::uint64_t entry)>;
  std::vector<std::uint64_t> tail_calls(Function from, Function to, const MayBegin& may_begin) const;

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
  std::vector<Range> ranges_;         // sorted by address
  std::vector<Call> calls_;           // sorted by return address
  std::vector<TailCall> tail_calls_;  // sorted by callee
  std::vector<TailCall> by_caller_;   // the same, sorted by caller
};

// ---- shared by the readers of DWARF entries; internal to lib/symbolize

inline constexpr int kDeepestScope = 64;  // compilers do not nest deeper

// Returns whether entries with this tag have no code of their own, but may contain functions with code.
bool is_container(int tag);

}  // namespace cudadiag::symbolize
