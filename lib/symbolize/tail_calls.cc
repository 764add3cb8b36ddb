// Finds the functions that tail calls removed from a stack, from the calls in one module that DWARF describes.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <algorithm>

#include "symbolize/elf_module.h"

namespace cudadiag::symbolize {

namespace {

constexpr std::size_t kMostSiteEntries = 10'000'000;  // limit; reading this many takes three seconds
constexpr std::size_t kLongestChain = 16;
constexpr std::size_t kMostSteps = 100'000, kMostReached = 1000;

std::uint64_t address_attribute(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Addr address = 0;
  return dwarf_formaddr(dwarf_attr(&die, name, &attribute), &address) == 0 ? address : 0;
}

bool flag_attribute(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  bool flag = false;
  return dwarf_formflag(dwarf_attr(&die, name, &attribute), &flag) == 0 && flag;
}

// Visits `die`, and the entries to which it refers as its abstract origin or specification.
template <typename Visit>
void for_each_description(Dwarf_Die die, Visit visit) {
  for (int step = 0; step < kDeepestScope; ++step) {
    visit(die);
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) && !dwarf_attr(&die, DW_AT_specification, &attribute))
      return;
    if (!dwarf_formref_die(&attribute, &next)) return;
    die = next;
  }
}

std::string linkage_name(Dwarf_Die& function) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (const char* text = dwarf_formstring(dwarf_attr_integrate(&function, name, &attribute))) return text;
  }
  if (!dwarf_hasattr_integrate(&function, DW_AT_external)) return {};
  const char* text = dwarf_formstring(dwarf_attr_integrate(&function, DW_AT_name, &attribute));
  return text ? text : "";
}

}  // namespace

class TailCalls::Reader {
 public:
  Reader(TailCalls& calls, Dwarf_Addr bias) : read_(calls), bias_(bias) {}

  // Reads all calls or none: with some calls missing, an ambiguous chain could look unique.
  bool read(Dwarf* dwarf) {
    Dwarf_CU* cu = nullptr;
    Dwarf_Die unit, split;
    while (entries_ <= kMostSiteEntries && dwarf_get_units(dwarf, cu, &cu, nullptr, nullptr, &unit, &split) == 0) {
      read_scope(split.addr ? split : unit, kNotKnown, 0);
    }
    if (entries_ > kMostSiteEntries) return false;
    for (const Described& call : described_) resolve(call);
    return true;
  }

 private:
  struct Described {
    std::uint64_t return_address, tail_call;  // exactly one of these is 0
    Function caller;
    Dwarf_Die origin;  // addr is null for an indirect call
  };

  void read_scope(Dwarf_Die& scope, Function caller, int depth);
  void read_function(Dwarf_Die& die, int depth);
  void read_call(Dwarf_Die& die, Function caller, bool gnu);
  void resolve(const Described& call);
  std::vector<Function> functions_of(Dwarf_Die origin);
  Function named(const std::string& name);

  TailCalls& read_;
  Dwarf_Addr bias_;
  std::size_t entries_ = 0;
  std::vector<Described> described_;
  std::unordered_multimap<const void*, Function> instances_;  // keyed by each entry that describes the function
};

void TailCalls::Reader::read_scope(Dwarf_Die& scope, Function caller, int depth) {
  Dwarf_Die child;
  if (depth > kDeepestScope || dwarf_child(&scope, &child) != 0) return;
  do {
    if (++entries_ > kMostSiteEntries) return;
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) {
      read_function(child, depth + 1);
    } else if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) {
      read_scope(child, caller, depth + 1);
    } else if (is_container(tag)) {
      read_scope(child, kNotKnown, depth + 1);
    } else if ((tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site) && caller != kNotKnown) {
      read_call(child, caller, tag == DW_TAG_GNU_call_site);
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

// The first range contains the function's entry, and later ones its cold part. Skips code that the linker dropped,
// which begins at address 0.
void TailCalls::Reader::read_function(Dwarf_Die& die, int depth) {
  Function function = kNotKnown;
  Dwarf_Addr base = 0, begin = 0, end = 0;
  std::ptrdiff_t next = 0;
  while ((next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0) {
    if (++entries_ > kMostSiteEntries) return;
    if (begin == 0 || begin >= end) continue;
    if (function == kNotKnown) {
      function = static_cast<Function>(read_.functions_.size());
      read_.functions_.push_back({linkage_name(die), begin + bias_});
    }
    read_.ranges_.push_back({begin + bias_, end + bias_, function});
  }
  if (function != kNotKnown) {
    const std::string& name = read_.functions_[function].name;
    if (!name.empty()) read_.by_name_.try_emplace(name, function);
    for_each_description(die, [&](const Dwarf_Die& description) { instances_.emplace(description.addr, function); });
  }
  read_scope(die, function, depth);
}

void TailCalls::Reader::read_call(Dwarf_Die& die, Function caller, bool gnu) {
  const std::uint64_t after = address_attribute(die, gnu ? DW_AT_low_pc : DW_AT_call_return_pc);
  const std::uint64_t at = gnu ? 0 : address_attribute(die, DW_AT_call_pc);
  const bool tail = flag_attribute(die, gnu ? DW_AT_GNU_tail_call : DW_AT_call_tail_call);
  Described call{0, 0, caller, {}};
  if (after == 0 && at == 0) return;
  (tail ? call.tail_call : call.return_address) = bias_ + (!tail ? after : at != 0 ? at : after - 1);
  Dwarf_Attribute attribute;
  if (!dwarf_formref_die(dwarf_attr(&die, gnu ? DW_AT_abstract_origin : DW_AT_call_origin, &attribute), &call.origin)) {
    call.origin = {};
  }
  described_.push_back(call);
}

void TailCalls::Reader::resolve(const Described& call) {
  const auto callees = call.origin.addr ? functions_of(call.origin) : std::vector<Function>{};
  if (call.tail_call == 0) {
    read_.calls_.push_back({call.return_address, callees.size() == 1 ? callees[0] : kNotKnown});
    return;
  }
  for (const Function callee : callees) read_.by_callee_.push_back({call.tail_call, call.caller, callee});
  if (callees.empty()) read_.by_callee_.push_back({call.tail_call, call.caller, kNotKnown});
}

// Returns several functions if the compiler cloned the original.
std::vector<TailCalls::Function> TailCalls::Reader::functions_of(Dwarf_Die origin) {
  std::vector<Function> functions;
  for_each_description(origin, [&](const Dwarf_Die& description) {
    const auto [first, last] = instances_.equal_range(description.addr);
    if (functions.empty()) std::transform(first, last, std::back_inserter(functions), [](auto& i) { return i.second; });
  });
  if (!functions.empty()) return functions;
  const std::string name = linkage_name(origin);
  if (name.empty()) return {};
  return {named(name)};
}

TailCalls::Function TailCalls::Reader::named(const std::string& name) {
  const auto [entry, is_new] = read_.by_name_.try_emplace(name, static_cast<Function>(read_.functions_.size()));
  if (is_new) read_.functions_.push_back({name, 0});
  return entry->second;
}

bool TailCalls::earlier_caller(const TailCall& a, const TailCall& b) { return a.caller < b.caller; }

TailCalls::TailCalls(Dwfl_Module* module) {
  Dwarf_Addr bias = 0;
  Dwarf* dwarf = module ? dwfl_module_getdwarf(module, &bias) : nullptr;
  if (!dwarf) return;
  if (!Reader(*this, bias).read(dwarf)) {
    by_name_.clear();
    ranges_.clear();
  }
  std::ranges::sort(ranges_, [](auto& a, auto& b) { return a.begin < b.begin; });
  std::ranges::sort(calls_, [](auto& a, auto& b) { return a.return_address < b.return_address; });
  by_caller_ = by_callee_;
  std::ranges::sort(by_callee_, [](auto& a, auto& b) { return a.callee < b.callee; });
  std::ranges::sort(by_caller_, earlier_caller);
}

TailCalls::Function TailCalls::function_at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::begin);
  return after == ranges_.begin() || std::prev(after)->end <= address ? kNotKnown : std::prev(after)->function;
}

TailCalls::Function TailCalls::function_named(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? kNotKnown : found->second;
}

bool TailCalls::defines(Function function) const { return functions_.at(function).entry != 0; }

const std::string& TailCalls::name(Function function) const { return functions_.at(function).name; }

std::optional<TailCalls::Function> TailCalls::called_at(std::uint64_t return_address) const {
  const auto call = std::ranges::lower_bound(calls_, return_address, {}, &Call::return_address);
  if (call == calls_.end() || call->return_address != return_address) return std::nullopt;
  return call->callee;
}

// Searches backwards from the innermost function. Keeps the innermost calls that all possible chains share.
class TailCalls::ChainSearch {
 public:
  ChainSearch(const TailCalls& calls, Function from, const MayBegin& may_begin)
      : known_(calls), from_(from), may_begin_(may_begin) {}

  std::vector<std::uint64_t> result(Function to) {
    if (from_ != kNotKnown && may_leave(to)) return {};
    visit(to);
    return complete_ && shared_ ? *shared_ : std::vector<std::uint64_t>{};
  }

 private:
  bool begins(Function function) const {
    return from_ == kNotKnown ? may_begin_(known_.functions_[function].entry) : function == from_;
  }

  // Returns whether tail calls from `from_` lead to code whose calls are unknown: through a pointer, into another
  // module, or into code built without -g. The unknown code may have called `to`.
  bool may_leave(Function to) const {
    std::vector<Function> reached = {from_};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      const auto [first, last] = std::equal_range(known_.by_caller_.begin(), known_.by_caller_.end(),
                                                  TailCall{0, reached[i], 0}, earlier_caller);
      for (auto call = first; call != last; ++call) {
        if (call->callee == to) continue;
        if (call->callee == kNotKnown || !known_.defines(call->callee)) return true;
        if (std::ranges::find(reached, call->callee) == reached.end()) reached.push_back(call->callee);
      }
      if (reached.size() > kMostReached) return true;
    }
    return false;
  }

  void visit(Function callee) {
    if (++steps_ > kMostSteps || callers_.size() > kLongestChain) complete_ = false;
    if (!complete_ || (shared_ && shared_->empty())) return;
    if (!chain_.empty() && begins(callee)) share_chain();
    auto call = std::ranges::lower_bound(known_.by_callee_, callee, {}, &TailCall::callee);
    for (; call != known_.by_callee_.end() && call->callee == callee; ++call) {
      if (std::ranges::find(callers_, call->caller) != callers_.end()) continue;
      chain_.push_back(call->address);
      callers_.push_back(call->caller);
      visit(call->caller);
      callers_.pop_back();
      chain_.pop_back();
    }
  }

  void share_chain() {
    if (!shared_) {
      shared_ = chain_;
      return;
    }
    const auto [end, ignored] = std::mismatch(shared_->begin(), shared_->end(), chain_.begin(), chain_.end());
    shared_->erase(end, shared_->end());
  }

  const TailCalls& known_;
  Function from_;
  const MayBegin& may_begin_;
  std::vector<std::uint64_t> chain_;
  std::vector<Function> callers_;
  std::optional<std::vector<std::uint64_t>> shared_;
  std::size_t steps_ = 0;
  bool complete_ = true;
};

std::vector<std::uint64_t> TailCalls::between(Function from, Function to, const MayBegin& may_begin) const {
  return to == kNotKnown ? std::vector<std::uint64_t>{} : ChainSearch(*this, from, may_begin).result(to);
}

bool is_container(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
         tag == DW_TAG_union_type;
}

}  // namespace cudadiag::symbolize
