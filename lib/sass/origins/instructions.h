// Applies the effect of each instruction to the origins of registers and memory. Internal to lib/sass.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "sass/code/flow.h"
#include "sass/kernel_accesses.h"
#include "sass/origins/registers.h"
#include "sass/sass.h"

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
  struct Step;
  using Rule = void (Instructions::*)(const Step&);
  // The parts of an instruction that are the same at each visit.
  struct Decoded {
    Rule rule = nullptr;          // null if the instruction can never run
    std::uint32_t predicate = 0;  // kNone if unconditional
    std::uint32_t first = 0;      // index of the first operand that is not a predicate
    std::uint32_t to = kNone;     // the register in that operand
    std::uint32_t words = 1;      // number of registers that it moves
  };
  struct Step : Decoded {
    const Instruction& i;
    Registers& state;
  };
  static Rule rule_of(std::string_view base);
  static Decoded decode(const Instruction& i);

  void nothing(const Step&) {}
  void call(const Step& s);
  void decide(const Step& s);
  void move(const Step& s);
  void shuffle(const Step& s);
  void add(const Step& s);
  void compute(const Step& s);
  void load_halves(const Step& s);
  void load_special(const Step& s);
  void load_constant(const Step& s);
  void load_shared(const Step& s);
  void store_shared(const Step& s);
  void load_local(const Step& s);
  void store_local(const Step& s);
  void load(const Step& s);
  void copy_to_shared(const Step& s);
  void store(const Step& s);
  void atomic(const Step& s);
  void reduce(const Step& s);
  void copy_bulk(const Step& s);
  void reduce_bulk(const Step& s);
  void load_tensor(const Step& s);
  void store_tensor(const Step& s);
  void reduce_tensor(const Step& s);
  void read_texture(const Step& s);
  void read_surface(const Step& s);
  void write_surface(const Step& s);
  void reduce_surface(const Step& s);
  void escape(const Step& s);
  void use_memory(const Step& s);

  void forget_conditions(const Step& s);
  // A term of a sum.
  struct Term {
    Id id = 0;
    Lead lead = Lead::nowhere;
    bool constant = false;
  };
  Lead lead_of(std::string_view operand, Id id) const;
  Term product(const Step& s, const std::vector<std::string_view>& factors);
  Id made_of(const Step& s, std::vector<Term> terms, const Term& product);
  static Lead lead_of_sum(const std::vector<Term>& terms, std::size_t without);
  std::vector<Id> led_by_others(const std::vector<Term>& terms);
  Id parameter(std::uint32_t word);
  Id constant(const Step& s, std::string_view operand, std::uint32_t half);
  Id indexed(Id index, std::uint32_t offset);
  Id value(const Step& s, std::string_view operand, std::uint32_t half);
  void set_words(const Step& s, Id value);
  void put(Id& pool, Id value);
  std::uint32_t stack_word(const Step& s, std::uint32_t word) const;
  void set_loaded(const Step& s, const Halves& place);
  Halves place(const Step& s, std::string_view text);
  void note(const Halves& place, Mode mode);
  void note(CodeAccess access);
  void note_tensor(const Step& s, Mode mode);
  std::optional<std::uint32_t> handle_word(const Step& s) const;
  void use_handle(const Step& s, bool surface, Mode mode);

  const Program& program_;
  const ParameterBank bank_;
  const Calls calls_;
  const ZeroWords zeros_;
  OriginSets& sets_;
  std::vector<Decoded> decoded_;    // indexed by instruction
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

}  // namespace cudadiag::sass
