// Applies the effect of each instruction to the origins of registers and memory. Internal to lib/sass.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "sass/control_flow.h"
#include "sass/kernel_accesses.h"
#include "sass/origins.h"

namespace cudadiag::sass {

class Instructions {
 public:
  Instructions(const Program& program, ParameterBank bank, Calls calls, ZeroWords zeros, OriginSets& sets);

  void step(std::uint32_t at, Registers& state);
  // Starts recording accesses.
  void begin_noting() { noting_ = true; }

  // Changes whenever something new is stored in shared or local memory. Loads must then be visited again.
  std::uint32_t memory_version() const { return memory_version_; }
  const std::set<CodeAccess>& accesses() const { return accesses_; }
  bool writes_elsewhere() const { return writes_elsewhere_; }
  const std::map<std::uint32_t, std::set<CodeAccess>>& accesses_by_instruction() const { return by_instruction_; }
  const std::map<std::uint32_t, HandleUse>& handles_by_instruction() const { return handles_; }

 private:
  using Id = OriginSets::Id;
  // The halves of an address.
  struct Halves {
    Id low = 0, high = 0;
  };
  struct Step {
    const Instruction& i;
    Registers& state;
    std::uint32_t condition;  // kNone if unconditional
  };

  Id read(const Step& s, Slot slot) const { return s.state.get(slot, s.condition); }
  void set(const Step& s, Slot slot, Id value) { s.state.set(slot, value, s.condition); }
  void call(const Step& s);
  void move(const Step& s);
  void shuffle(const Step& s);
  void add(const Step& s);
  void compute(const Step& s);
  void load_special(const Step& s);
  void access(const Step& s);
  void load_shared(const Step& s);
  void store_shared(const Step& s);
  void load_local(const Step& s);
  void store_local(const Step& s);
  void use_address(const Step& s);
  void use_box(const Step& s);
  void use_handle(const Step& s);
  void escape(const Step& s);

  // A term of a sum.
  struct Term {
    Id id = 0;
    Lead lead = Lead::nowhere;
    bool constant = false;
  };
  Lead lead_of(const Operand& operand, Id id) const;
  Term product(const Step& s, const std::vector<const Operand*>& factors);
  Id made_of(const Step& s, std::vector<Term> terms, const Term& product);
  static Lead lead_of_sum(const std::vector<Term>& terms, std::size_t without);
  std::vector<Id> led_by_others(const std::vector<Term>& terms);
  Id parameter(std::uint32_t word);
  Id constant(const Step& s, const Operand& operand, std::uint32_t half);
  Id indexed(Id index, std::uint32_t offset);
  Id value(const Step& s, const Operand& operand, std::uint32_t half);
  void set_words(const Step& s, Id value);
  void put(Id& pool, Id value);
  std::uint32_t stack_word(const Step& s, std::uint32_t word) const;
  void set_loaded(const Step& s, const Halves& place);
  Halves place(const Step& s);
  void note(const Halves& place, Mode mode);
  void note(CodeAccess access);
  std::optional<std::uint32_t> handle_word(const Step& s) const;

  const Program& program_;
  const ParameterBank bank_;
  const Calls calls_;
  const ZeroWords zeros_;
  OriginSets& sets_;
  bool stack_holds_still_ = false;  // the stack pointer does not change after the first use of local memory
  Id pool_ = 0;                     // everything that was stored in shared and local memory
  Id anywhere_on_stack_ = 0;        // the part of pool_ that may be in any word of the stack
  std::uint32_t memory_version_ = 0;
  bool noting_ = false;
  std::uint32_t at_ = 0;  // index of the current instruction
  std::set<CodeAccess> accesses_;
  bool writes_elsewhere_ = false;
  std::map<std::uint32_t, std::set<CodeAccess>> by_instruction_;
  std::map<std::uint32_t, HandleUse> handles_;
};

// Follows all paths through the program. Returns false if this takes too long.
bool walk(const Program& program, Instructions& instructions, OriginSets& sets);

}  // namespace cudadiag::sass
