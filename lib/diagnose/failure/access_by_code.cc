// Finds the access that failed in the first run, without a core dump. Uses the code, grid and parameters of the kernel.
// Works only if a single kernel can have failed, perhaps in a graph. Considers only accesses that the kernel performs
// regardless of what the memory contains. If a recorded copy filled a table of addresses, its contents are known. In
// the same way, finds kernels that cannot have failed.
#include <algorithm>
#include <utility>

#include "analyse/graph_nodes.h"
#include "analyse/operation_arguments.h"
#include "analyse/recorded_memory.h"
#include "base/text.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/failure/failed_access.h"
#include "diagnose/failure/finding_builder.h"
#include "diagnose/words.h"
#include "wire/cuda_codes.h"

namespace cudadiag::diagnose {
namespace {

using State = analyse::Whereabouts::State;
using MemoryKind = wire::allocation::Kind;

constexpr std::int64_t kPage = 2 << 20;  // memory is mapped in pages of this size
// Within this distance of an allocation, the driver may have mapped memory that no recorded call allocated. On an H200,
// accesses up to 200 MiB past a small allocation succeeded, and accesses 256 MiB or more past it failed. Pools keep
// more memory mapped than they hand out.
constexpr std::int64_t kMaybeMapped = 256 << 20, kMaybeMappedByPool = 1 << 30;

// An access that failed, or may have failed.
struct Fault {
  Placement placed;
  bool by_exclusion = false;  // the address may be mapped, but no other access can have failed
  sass::AccessKind kind = sass::AccessKind::load;
  std::uint32_t bytes = 0;
  const analyse::OperationArgument* through = nullptr;  // null if unknown
  bool outside = false;                                 // its address is unknown, but no other access can have failed
  sass::Space space = sass::Space::global;
  bool from_memory = false;                           // the same, and the kernel read its pointer from memory
  const analyse::OperationArgument* table = nullptr;  // points to that memory; null if unknown
};

std::int64_t round_down(std::int64_t value) { return value / kPage * kPage; }

class Judgement {
 public:
  Judgement(const sass::CertainAccesses& accesses, const FailedLaunch& launch) : all_(accesses), launch_(launch) {
    const bool may_fail =
        std::ranges::any_of(all_.possible, [&](const sass::CertainAccess& access) { return !is_valid(access); });
    others_are_valid_ = all_.all_listed && all_.open.empty() && !may_fail;
  }

  std::optional<Fault> run() const {
    std::vector<Fault> faults;
    bool others = false;  // another access may have failed
    for (const sass::CertainAccess& access : all_.accesses) {
      if (access.space != sass::Space::global && access.space != sass::Space::generic) continue;
      const Fault fault = fault_of(access);
      const Relation relation = fault.placed.relation;
      if (relation == Relation::inside) {
        others |= !is_lasting(fault.through);
        continue;
      }
      if (relation != Relation::unknown) faults.push_back(fault);
      others |= relation == Relation::unknown && fault.through != nullptr;
    }
    if (faults.empty()) {
      const std::optional<Fault> open = only_open();
      return open ? open : only_elsewhere();
    }
    // A certain failure explains the error, whatever may have failed besides it.
    if (std::ranges::any_of(faults, [](const Fault& fault) { return !fault.by_exclusion; }))
      std::erase_if(faults, [](const Fault& fault) { return fault.by_exclusion; });
    const Fault& worst =
        *std::ranges::max_element(faults, {}, [](const Fault& fault) { return fault.placed.distance; });
    const bool one_reason = std::ranges::all_of(
        faults, [&](const Fault& fault) { return fault.through != nullptr && are_alike(fault, worst); });
    return one_reason && !(worst.by_exclusion && others) ? std::optional(worst) : std::nullopt;
  }

  // Returns whether every access stays inside memory that is live as long as the kernel runs.
  bool stays_inside() const { return others_are_valid_ && known_ones_stay_inside(); }

 private:
  bool known_ones_stay_inside() const {
    const auto is_owned = [&](const sass::CertainAccess& access) {
      const auto* through = access.parameter ? word_at(access.parameter) : nullptr;
      const auto* memory = through == nullptr ? nullptr : through->where.allocation;
      return memory != nullptr && memory->kind <= MemoryKind::ordered && is_valid(access) &&
             access.space != sass::Space::shared;
    };
    return std::ranges::all_of(all_.accesses, is_owned) && std::ranges::all_of(all_.possible, is_owned);
  }

  // If all accesses stay inside live memory, except those through pointers from memory or those to shared memory, one
  // of these has failed. A kernel's own trap can be the reason for other errors.
  std::optional<Fault> only_elsewhere() const {
    const bool explains =
        launch_.error == wire::cuda::kIllegalAddress || launch_.error == wire::cuda::kInvalidAddressSpace;
    if (!explains || !all_.all_listed || all_.open.empty() || !known_ones_stay_inside()) return std::nullopt;
    const sass::OpenAccess& first = all_.open.front();
    const auto all_have = [&](auto member) {
      return std::ranges::all_of(all_.open,
                                 [&](const sass::OpenAccess& each) { return each.*member == first.*member; });
    };
    using Open = sass::OpenAccess;
    const bool in_shared = first.space == sass::Space::shared && all_have(&Open::space);
    const bool from_memory = first.from_memory && all_have(&Open::from_memory);
    if ((!in_shared && !from_memory) || !all_have(&Open::kind)) return std::nullopt;
    Fault fault{{}, true, first.kind, all_have(&Open::bytes) ? first.bytes : 0};
    fault.outside = in_shared;
    fault.from_memory = from_memory;
    if (in_shared) fault.space = sass::Space::shared;
    if (first.table && all_have(&Open::table)) fault.table = word_at(first.table);
    return fault;
  }

  // If all accesses but those through one pointer are known to be valid, one of these has left the pointer's memory.
  std::optional<Fault> only_open() const {
    if (launch_.error == wire::cuda::kMisalignedAddress || !all_.all_listed) return std::nullopt;
    std::vector<sass::OpenAccess> open = all_.open;
    for (const sass::CertainAccess& access : all_.possible) {
      if (!is_valid(access))
        open.push_back({access.instruction, access.kind, access.space, access.bytes, {*access.parameter}});
    }
    if (open.empty()) return std::nullopt;
    const sass::OpenAccess& first = open.front();
    const bool one_word = first.words.size() == 1 && std::ranges::all_of(open, [&](const sass::OpenAccess& each) {
                            return each.words == first.words;
                          });
    const auto* through = one_word ? word_at(first.words.front()) : nullptr;
    const bool live = through != nullptr && through->where.state == State::live && !through->out_of_reach &&
                      through->where.allocation->kind < MemoryKind::pinned && is_lasting(through);
    const bool others_are_valid = live && std::ranges::all_of(all_.accesses, [&](const sass::CertainAccess& access) {
                                    return access.parameter == through->word || is_valid(access);
                                  });
    return others_are_valid ? std::optional(Fault{{}, true, first.kind, first.bytes, through, true}) : std::nullopt;
  }

  // Returns whether the access stays inside memory that the kernel can access as long as it runs.
  bool is_valid(const sass::CertainAccess& access) const {
    const Fault fault = fault_of(access);
    return fault.placed.relation == Relation::inside && is_lasting(fault.through);
  }

  // Returns whether the pointer's memory was neither freed while the kernel might have run, nor perhaps out of reach.
  bool is_lasting(const analyse::OperationArgument* through) const {
    const session::Allocation* memory = through == nullptr ? nullptr : through->where.allocation;
    if (memory == nullptr) return true;
    // Memory that is freed in the kernel's stream stays valid until the kernel has finished.
    const bool freed_after = memory->kind == MemoryKind::ordered && memory->freed_stream == launch_.stream;
    const bool granted = memory->kind != MemoryKind::mapped || (memory->flags & wire::allocation::kWritable) != 0;
    return (memory->freed == 0 || freed_after) && granted && !through->may_be_out_of_reach;
  }

  const analyse::OperationArgument* word_at(std::optional<std::uint32_t> at) const {
    const auto word = std::ranges::find_if(launch_.words, [&](const auto& each) { return at == each.word; });
    return word == launch_.words.end() ? nullptr : &*word;
  }

  // Returns whether both accesses go through one pointer, leave the memory of their pointers on the same side, or go
  // through pointers in one table that are bad in the same way.
  static bool are_alike(const Fault& a, const Fault& b) {
    if (a.through == b.through || b.through == nullptr) return a.through == b.through;
    const bool outside = a.placed.relation == Relation::past_end || a.placed.relation == Relation::before;
    if (outside && a.placed.relation == b.placed.relation) return true;
    const auto &x = *a.through, &y = *b.through;
    const bool one_table = !x.loaded.empty() && x.loaded.size() == y.loaded.size() && x.parameter == y.parameter &&
                           x.parameter_byte == y.parameter_byte &&
                           std::equal(x.loaded.begin(), x.loaded.end() - 1, y.loaded.begin());
    return one_table && a.placed.relation == b.placed.relation && !is_measured(a.placed.relation);
  }

  Fault fault_of(const sass::CertainAccess& access) const {
    Fault fault{{}, false, access.kind, access.bytes, access.parameter ? word_at(access.parameter) : nullptr};
    const std::int64_t from = fault.through == nullptr ? 0 : static_cast<std::int64_t>(*fault.through->pointer);
    AccessAddresses addresses{from + access.least, from + access.most, access.bytes};
    if (launch_.error == wire::cuda::kMisalignedAddress) {
      fault.placed = misalignment(static_cast<std::uint64_t>(addresses.first), access.bytes, access.step);
      if (fault.placed.relation == Relation::inside) fault.placed = {};  // another error than this one
      return fault;
    }
    fault.placed = where_is(addresses, fault.through, launch_.memory);
    if (is_certain(fault, addresses)) return fault;
    // The last access may succeed although the first one, before the memory, does not.
    addresses.last = addresses.first;
    const bool both = fault.placed.relation == Relation::past_end;
    fault.placed = both ? where_is(addresses, fault.through, launch_.memory) : Placement();
    if (fault.placed.relation != Relation::before || !is_certain(fault, addresses)) fault.placed = {};
    return fault;
  }

  // Returns true if an access that lies so must have failed, or cannot have failed.
  bool is_certain(Fault& fault, const AccessAddresses& addresses) const {
    switch (fault.placed.relation) {
      case Relation::past_end:
        return fails(fault, addresses.last);
      case Relation::before:
        return fails(fault, addresses.first);
      case Relation::freed:
        return launch_.memory.all_known && was_unmapped(fault);
      case Relation::never_allocated:
        if (static_cast<std::uint64_t>(addresses.first) >= kBeyondAddresses) return true;
        if (addresses.last < static_cast<std::int64_t>(kLowestAddress)) return addresses.first >= 0;
        fault.by_exclusion = true;
        return others_are_valid_ && addresses.first >= 0 && !is_live(addresses.first) && !is_live(addresses.last);
      default:
        return true;
    }
  }

  // Freed memory may still be mapped, so an access to it may succeed. The access is certain to have failed if no other
  // access can have failed. It is also certain if the allocation was large, because the driver unmaps large
  // allocations.
  bool was_unmapped(Fault& fault) const {
    const session::Allocation& allocation = *fault.through->where.allocation;
    const bool unmapped =
        allocation.kind == MemoryKind::device && allocation.bytes >= static_cast<std::uint64_t>(kPage);
    fault.by_exclusion = !unmapped;
    return unmapped || (others_are_valid_ && allocation.kind < MemoryKind::pinned);
  }

  bool fails(Fault& fault, std::int64_t address) const {
    const auto beyond = static_cast<std::int64_t>(fault.placed.distance);
    const session::Allocation& own = *fault.through->where.allocation;
    const std::int64_t maybe_mapped = own.kind == MemoryKind::device ? kMaybeMapped : kMaybeMappedByPool;
    const bool far = !launch_.memory.reads_host && beyond > maybe_mapped;  // host memory may be anywhere
    const bool unmapped = address < 0 || (far && !may_be_mapped(address, own));
    fault.by_exclusion = !unmapped;
    // Memory near an allocation is in a valid address space, so an access there cannot cause that error.
    return unmapped || (others_are_valid_ && !is_in_another(address, own) &&
                        (launch_.error != wire::cuda::kInvalidAddressSpace || beyond >= maybe_mapped));
  }

  // Returns whether the address may be in a page that is mapped for another allocation.
  bool may_be_mapped(std::int64_t address, const session::Allocation& own) const {
    const analyse::Whereabouts where = launch_.map.find(static_cast<std::uint64_t>(address));
    const bool past_another = where.state == State::past_end && where.allocation != &own;
    return where.state == State::live || past_another || is_live(round_down(address)) ||
           is_live(round_down(address) + kPage - 1);
  }

  bool is_in_another(std::int64_t address, const session::Allocation& own) const {
    const analyse::Whereabouts where = launch_.map.find(static_cast<std::uint64_t>(address));
    return where.state == State::live && where.allocation != &own;
  }

  bool is_live(std::int64_t address) const {
    return launch_.map.find(static_cast<std::uint64_t>(address)).state == State::live;
  }

  const sass::CertainAccesses& all_;
  const FailedLaunch& launch_;
  bool others_are_valid_ = false;  // no access but those in `all_.accesses` can have failed
};

// The failed launch as the first run recorded it.
struct Recorded {
  const session::Process& process;
  const session::Operation& operation;  // launches the kernel, or the graph of its node
  const session::GraphNode* node;       // null if the kernel is not in a graph
  const session::Arguments& arguments;

  const std::string* kernel() const {
    const session::ProcessRecord& record = process.record;
    return node == nullptr ? session::kernel_at(record, operation.site)
                           : session::by_id(record.functions, session::kernel_id(record, *node));
  }
};

// Returns the kernel launch if `failure` is an address error with a single candidate. The changes of a node are known
// unless the graph was altered.
std::optional<Recorded> recorded(const analyse::Failure& failure) {
  if (!wire::cuda::has(failure.code, wire::cuda::bad_address) || !analyse::is_asynchronous(failure.kind))
    return std::nullopt;
  if (failure.candidates.size() != 1 || !failure.lists_all() || failure.stale != nullptr) return std::nullopt;
  const analyse::Candidate& candidate = failure.candidates.front();
  const session::Operation& operation = *candidate.operation;
  const session::ProcessRecord& record = failure.process->record;
  const session::Arguments* kept = nullptr;
  if (candidate.node != nullptr) {
    if (analyse::keeps_nodes(operation)) kept = analyse::kept_arguments(record, operation, candidate);
  } else if (operation.kind == wire::operation::Kind::kernel) {
    const bool cut = (operation.flags & wire::operation::kSaturated) != 0 || operation.cluster != session::Dim3{};
    if (!cut) kept = analyse::kept_arguments(record, operation);
  }
  if (kept == nullptr) return std::nullopt;
  return Recorded{*failure.process, operation, candidate.node, *kept};
}

std::string parameter_bytes(const session::Arguments& arguments) {
  std::string bytes;
  for (const session::Parameter& parameter : arguments.parameters) {
    bytes.resize(std::max(bytes.size(), parameter.offset + parameter.bytes.size()));
    bytes.replace(parameter.offset, parameter.bytes.size(), parameter.bytes);
  }
  return bytes;
}

// Returns every 8-byte word of the parameters as an argument, whether it is a pointer or not.
std::vector<analyse::OperationArgument> words_of(const Recorded& launch, const std::string& bytes,
                                                 const analyse::AllocationMap& map,
                                                 const std::vector<analyse::OperationArgument>& arguments) {
  const bool layout_known = (launch.arguments.flags & wire::intern::kBuffer) == 0;
  std::vector<analyse::OperationArgument> words;
  for (std::uint32_t at = 0; at + 8 <= bytes.size(); at += 8) {
    analyse::OperationArgument& word = words.emplace_back();
    word.word = at;
    word.pointer = analyse::number_at<std::uint64_t>(bytes, at);
    word.where = map.find(*word.pointer);
    for (std::uint32_t i = 0; layout_known && i < launch.arguments.parameters.size(); ++i) {
      const session::Parameter& parameter = launch.arguments.parameters[i];
      if (at < parameter.offset || at >= parameter.offset + parameter.bytes.size()) continue;
      word.parameter = i + 1;
      word.parameter_byte = at - parameter.offset;
    }
    const auto known =
        std::ranges::find(arguments, std::optional<std::uint32_t>(at), &analyse::OperationArgument::word);
    if (known == arguments.end()) continue;
    word.out_of_reach = known->out_of_reach;
    word.may_be_out_of_reach = known->may_be_out_of_reach;
  }
  return words;
}

// Adds the memory that the kernel may read addresses from: copied memory to which the words point, and the memory to
// which the addresses there point. Also adds the words of this memory.
void add_known_memory(sass::LaunchValues& values, std::vector<analyse::OperationArgument>& words,
                      std::vector<analyse::CopiedMemory> copied, const analyse::AllocationMap& map,
                      bool several_contexts) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const analyse::OperationArgument from = words[i];
    if (from.where.state != State::live) continue;
    for (analyse::CopiedMemory& memory : copied) {
      const std::uint64_t end = memory.address + memory.bytes.size();
      if (memory.bytes.empty() || memory.allocation != from.where.allocation || *from.pointer >= end) continue;
      if (!analyse::is_nearest(i, memory.address, words)) continue;
      const std::size_t which = values.memory.size();
      const std::uint64_t before = std::max(*from.pointer, memory.address) - memory.address;
      for (std::size_t at = (before + 7) / 8 * 8; at + 8 <= memory.bytes.size(); at += 8) {
        analyse::OperationArgument& word = words.emplace_back(from);
        word.word = sass::word_in(which, at);
        word.pointer = analyse::number_at<std::uint64_t>(memory.bytes, at);
        word.where = map.find(*word.pointer);
        word.out_of_reach = false;
        word.may_be_out_of_reach = several_contexts;
        word.loaded.push_back(memory.address + at - *from.pointer);
        if (word.where.allocation != nullptr) values.addresses.push_back(*word.word);
      }
      values.memory.push_back({memory.address, std::move(memory.bytes)});
      memory.bytes.clear();
    }
  }
}

// Returns the accesses of the kernel with this name; nullopt if several kernels have this name and their accesses
// differ. Returns nullopt, too, if the code has parameters of another size, because it belongs to another kernel. Adds
// the known memory and its words to `launch` and `words`, unless the kernel may change this memory.
std::optional<sass::CertainAccesses> accesses_of(const std::string& kernel, const session::Session& session,
                                                 sass::LaunchValues& launch,
                                                 std::vector<analyse::OperationArgument>& words,
                                                 const Recorded& recorded, const analyse::AllocationMap& map) {
  const bool whole = (recorded.arguments.flags & (wire::intern::kCut | wire::intern::kBuffer)) == 0;
  std::vector<sass::ByteRanges> codes;
  std::vector<std::uint32_t> shared;
  for (const session::KernelCode& code : session.kernel_code) {
    if (code.kernel != kernel) continue;
    if (whole && code.bank_size != launch.parameters.size()) return std::nullopt;
    const sass::Calls calls = code.harmless_calls ? sass::Calls::harmless : sass::Calls::anything;
    codes.emplace_back(code.text, sass::ParameterBank{code.bank_offset, code.bank_size}, calls);
    // It is not recorded whether the blocks of a node form clusters.
    const bool known = code.shared_bytes != 0 && recorded.node == nullptr;
    shared.push_back(known ? code.shared_bytes + recorded.operation.shared_bytes : 0);
  }
  // Earlier nodes of the same graph may change the memory.
  std::vector<analyse::CopiedMemory> copied;
  if (recorded.node == nullptr) copied = analyse::copied_memory(recorded.process.record, recorded.operation, map);
  std::erase_if(copied, [&](const analyse::CopiedMemory& memory) {
    return std::ranges::any_of(words, [&](const analyse::OperationArgument& word) {
      return word.where.allocation == memory.allocation && std::ranges::any_of(codes, [&](const auto& code) {
               const sass::Mode mode = code.accesses().mode(*word.word);
               return mode != sass::Mode::read && mode != sass::Mode::none && mode != sass::Mode::near_read;
             });
    });
  });
  add_known_memory(launch, words, std::move(copied), map, analyse::has_several_contexts(recorded.process.record));
  std::optional<sass::CertainAccesses> all;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    launch.shared_bytes = shared[i];
    auto its = codes[i].certain(launch);
    if (all && !(*all == its)) return std::nullopt;
    all = std::move(its);
  }
  return all;
}

// The failed launch, followed through the kernel's code.
struct Followed {
  Followed(const Recorded& recorded, const analyse::Failure& failure, const std::string& kernel,
           const session::Session& session)
      : launch(recorded),
        map(launch.process.record, launch.operation.ticks),
        failed{failure.code, {}, map, GpuMemory(launch.process.record)} {
    const std::string bytes = parameter_bytes(launch.arguments);
    failed.words = words_of(launch, bytes, map, analyse::arguments_of(failure).arguments);
    failed.stream = launch.operation.stream;
    const session::GraphNode* node = launch.node;
    const session::Dim3 grid = node == nullptr ? launch.operation.grid : node->grid;
    sass::LaunchValues values{grid, node == nullptr ? launch.operation.block : node->block, bytes, {}};
    for (const analyse::OperationArgument& word : failed.words) {
      if (word.where.allocation != nullptr) values.addresses.push_back(*word.word);
    }
    accesses = accesses_of(kernel, session, values, failed.words, launch, map);
  }
  Followed(const Followed&) = delete;

  const Recorded launch;
  const analyse::AllocationMap map;
  FailedLaunch failed;
  std::optional<sass::CertainAccesses> accesses;  // nullopt if the code is unknown
};

// Returns the kernel's name if the candidate's code cannot make an access that fails; "" if not.
std::string harmless_kernel(const analyse::Failure& failure, const analyse::Candidate& candidate,
                            const session::Session& session) {
  analyse::Failure alone;
  alone.kind = failure.kind;
  alone.code = failure.code;
  alone.process = failure.process;
  alone.candidates = {candidate};
  const auto launch = recorded(alone);
  const std::string* kernel = launch ? launch->kernel() : nullptr;
  if (kernel == nullptr ||
      std::ranges::find(session.kernel_code, *kernel, &session::KernelCode::kernel) == session.kernel_code.end()) {
    return "";
  }
  const Followed followed(*launch, alone, *kernel, session);
  const bool harmless = followed.accesses && Judgement(*followed.accesses, followed.failed).stays_inside();
  return harmless ? *kernel : "";
}

// Returns the memory from which the kernel read the pointer, if a parameter points to it; null if not.
const session::Allocation* table_of(const analyse::OperationArgument& pointer,
                                    const std::vector<analyse::OperationArgument>& words) {
  if (pointer.loaded.size() != 1) return nullptr;
  const auto table = std::ranges::find_if(words, [&](const analyse::OperationArgument& each) {
    return each.loaded.empty() && each.parameter == pointer.parameter && each.parameter_byte == pointer.parameter_byte;
  });
  return table == words.end() ? nullptr : table->where.allocation;
}

// Returns true if it is still unknown which memory the failing address was meant for. A dump has no address if the
// failing warp has exited.
bool is_open(const Finding& finding) {
  if (!finding.access) return true;
  const bool null_or_number =
      finding.access->relation == Relation::null && !finding.access->address && !finding.access->parameter;
  return finding.access->relation == Relation::unknown || null_or_number;
}

// Returns true if the access `found` in the code may be the access `dumped` in the core dump.
bool may_be(const Access& dumped, const Access& found) {
  const bool same_parameter =
      !dumped.parameter || (dumped.parameter == found.parameter && dumped.parameter_byte == found.parameter_byte);
  // An address that a rerun's dump knows, but not what it was computed from, came from memory.
  const bool same_origin = !dumped.address || !found.loaded.empty();
  const bool same_space = (dumped.space == sass::Space::shared) == (found.space == sass::Space::shared);
  return dumped.kind == found.kind && dumped.bytes == found.bytes && same_space && same_parameter && same_origin;
}

}  // namespace

std::optional<AccessByCode> access_by_code(const sass::CertainAccesses& accesses, const FailedLaunch& launch) {
  const auto fault = Judgement(accesses, launch).run();
  if (!fault) return std::nullopt;
  AccessByCode out{{}, fault->through};
  Access& access = out.access;
  access.by_code = true;
  access.kind = fault->kind;
  access.bytes = fault->bytes;
  access.space = fault->space;
  access.outside = fault->outside;
  access.from_memory = fault->from_memory;
  out.table = fault->table;
  if (fault->through == nullptr) return out;
  if (fault->through->parameter != 0) access.parameter = fault->through->parameter;
  access.parameter_byte = fault->through->parameter_byte;
  access.loaded = fault->through->loaded;
  access.pointer = fault->through->pointer;
  access.relation = fault->placed.relation;
  access.overflow = fault->placed.overflow;
  if (is_measured(access.relation)) access.distance = fault->placed.distance;
  return out;
}

void drop_harmless(std::vector<analyse::Failure>& failures, const session::Session& session,
                   const std::string& dumped) {
  constexpr std::size_t kMostNamed = 4, kColumns = 40;
  constexpr std::size_t kMostLeft = 4;  // following the code of a launch may take half a second
  for (analyse::Failure& failure : failures) {
    const bool in_graph = !failure.candidates.empty() && failure.candidates.front().node != nullptr;
    const bool open = failure.kind == analyse::Kind::async_error && (in_graph || !failure.evidence.names_one());
    if (!open || failure.candidates.size() < 2 || session.kernel_code.empty()) continue;
    std::vector<std::string> names;
    std::vector<analyse::Candidate> left;
    for (const analyse::Candidate& candidate : failure.candidates) {
      const std::string kernel = left.size() < kMostLeft ? harmless_kernel(failure, candidate, session) : "";
      const std::string name = short_kernel_name(base::demangle(kernel), kColumns) + "()";
      const bool harmless = !kernel.empty() && kernel != dumped;
      if (!harmless) left.push_back(candidate);
      if (harmless && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    if (left.empty() || names.empty()) continue;
    failure.candidates = std::move(left);
    if (in_graph && failure.candidates.size() == 1) failure.kind = analyse::Kind::graph_node;
    if (names.size() > kMostNamed) names.resize(kMostNamed), names.emplace_back("others");
    failure.evidence.add("according to their code, " + joined(names, " and ") + " used only live memory");
  }
}

void add_access_by_code(Diagnosis& report, const session::Session& session,
                        const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve) {
  for (std::size_t i = 0; i < failures.size(); ++i) {
    Finding& finding = report.findings[i];
    if (!is_open(finding) || !finding.launch || session.kernel_code.empty()) continue;
    const auto launch = recorded(*failures[i]);
    if (!launch) continue;
    const Followed followed(*launch, *failures[i], finding.launch->mangled, session);
    const auto found = followed.accesses ? access_by_code(*followed.accesses, followed.failed) : std::nullopt;
    if (!found || (finding.access && !may_be(*finding.access, found->access))) continue;
    // A dump says at least as much of a pointer from memory.
    if (finding.access && found->access.from_memory) continue;
    const std::optional<Access> dumped = std::exchange(finding.access, found->access);
    if (dumped) {
      finding.access->block = dumped->block;
      finding.access->thread = dumped->thread;
      finding.access->threads = dumped->threads;
    }
    const analyse::OperationArgument* through = found->through;
    if (through != nullptr && through->where.allocation != nullptr)
      finding.access->allocation = allocation_of(*through, launch->process, resolve);
    const session::Allocation* table = nullptr;
    if (through != nullptr) table = table_of(*through, followed.failed.words);
    if (found->table != nullptr) {
      table = found->table->where.allocation;
      Access to_table;
      to_table.parameter = found->table->parameter;
      to_table.parameter_byte = found->table->parameter_byte;
      if (*to_table.parameter != 0) finding.access->table = through_words(to_table) + "'s memory";
    }
    if (table != nullptr && launch->node == nullptr) {
      add_last_write(*finding.access, launch->process, launch->operation, *table, resolve);
      if (finding.access->written) finding.related.push_back({Role::written, *finding.access->written});
    }
  }
}

}  // namespace cudadiag::diagnose
