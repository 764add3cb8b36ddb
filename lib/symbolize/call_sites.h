// Who calls whom in one module, as DWARF's call sites have it, and which functions a chain of tail calls took off the
// stack. Compilers describe call sites in optimised code alone. Internal to the room.
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
  using Function = std::uint32_t;  // number in this module
  static constexpr Function kNotKnown = ~Function{0};

  // Reads all of the module's DWARF; nothing of it where that would keep the reader of a report waiting. Null is a
  // module without any. All addresses are relative to the load bias.
  explicit CallSites(Dwfl_Module* module);

  // Functions that the module defines or names in a call; kNotKnown for all others.
  Function function_at(std::uint64_t address) const;
  Function function_named(std::string_view name) const;
  bool defines(Function function) const;
  const std::string& name(Function function) const;  // linkage name; empty for what only its own file can see

  // The function that the call before `return_address` calls. Empty if no call site is described there; kNotKnown if
  // the call goes through a pointer or could mean several functions.
  std::optional<Function> called_at(std::uint64_t return_address) const;

  // Tail calls by which control came from `from` to `to`, innermost first, each as an address inside of its jump. Those
  // that all possible chains share; empty if there are none, or if tail calls lead from `from` to code whose own calls
  // are not described here. An unknown `from` is any function whose entry `may_begin`.
  using MayBegin = std::function<bool(std::uint64_t entry)>;
  std::vector<std::uint64_t> tail_calls(Function from, Function to, const MayBegin& may_begin) const;

 private:
  class Reader;
  class ChainSearch;
  struct Definition {
    std::string name;
    std::uint64_t entry = 0;  // 0: in another module
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
    Function caller, callee;  // kNotKnown: it goes through a pointer
  };
  static bool earlier_caller(const TailCall& a, const TailCall& b);

  std::vector<Definition> functions_;
  std::unordered_map<std::string, Function> by_name_;
  std::vector<Range> ranges_;         // by address
  std::vector<Call> calls_;           // by return address
  std::vector<TailCall> tail_calls_;  // by callee
  std::vector<TailCall> by_caller_;   // the same
};

}  // namespace cudadiag::symbolize
