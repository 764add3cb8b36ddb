#include "diagnose/access_by_code.h"

#include <algorithm>
#include <utility>

#include "analyse/operation_arguments.h"
#include "diagnose/causes/host_memory.h"
#include "diagnose/facts/relation.h"

namespace cudadiag::diagnose {
namespace {

using State = analyse::Whereabouts::State;
using wire::allocation::Kind;

constexpr std::uint32_t kIllegalAddress = 700, kMisaligned = 716, kInvalidSpace = 717;
constexpr std::int64_t kNull = 64 << 10;
constexpr std::int64_t kIndices = std::int64_t{1} << 32;  // the number of distinct 32-bit indices
constexpr std::int64_t kPage = 2 << 20;                   // memory is mapped in pages of this size
constexpr std::int64_t kSlack = 4096;                     // elements; an access that is off by fewer is not an overflow
// Within this distance of an allocation, the driver may have mapped memory that no recorded call allocated. On an H200,
// accesses up to 200 MiB past a small allocation succeeded, and accesses 256 MiB or more past it failed. Pools keep
// more memory mapped than they hand out.
constexpr std::int64_t kMaybeMapped = 1 << 30;

// Where an access lies relative to the memory that its parameter word points into.
struct Fault {
  Relation relation = Relation::unknown;
  std::uint64_t distance = 0;
  bool overflow = false;
  bool by_exclusion = false;  // the address may be mapped, but no other access can have failed
  const sass::CertainAccess* access = nullptr;
  const ParameterWord* word = nullptr;  // null if unknown
};

std::int64_t round_down(std::int64_t value) { return value / kPage * kPage; }

class Judgement {
 public:
  Judgement(const sass::CertainAccesses& accesses, const FailedLaunch& launch) : all_(accesses), launch_(launch) {}

  std::optional<Fault> run() const {
    std::vector<Fault> faults;
    bool others = false;  // another access may have failed
    for (const sass::CertainAccess& access : all_.accesses) {
      if (access.space != sass::Space::global && access.space != sass::Space::generic) continue;
      const Fault fault = fault_of(access);
      if (fault.relation == Relation::inside) continue;
      if (fault.relation != Relation::unknown) faults.push_back(fault);
      others |= fault.relation == Relation::unknown && fault.word != nullptr;
    }
    const Fault* worst = nullptr;
    for (const Fault& fault : faults) {
      if (fault.word == nullptr || fault.word != faults.front().word) return std::nullopt;
      if (fault.by_exclusion && others) return std::nullopt;
      if (worst == nullptr || fault.distance > worst->distance) worst = &fault;
    }
    return worst == nullptr ? std::nullopt : std::optional(*worst);
  }

 private:
  Fault fault_of(const sass::CertainAccess& access) const {
    const auto word =
        std::ranges::find_if(launch_.words, [&](const ParameterWord& each) { return access.parameter == each.offset; });
    Fault fault{.access = &access, .word = word == launch_.words.end() ? nullptr : &*word};
    const std::int64_t from = fault.word == nullptr ? 0 : static_cast<std::int64_t>(fault.word->value);
    if (launch_.error == kMisaligned) return misaligned(fault, from + access.least);
    const bool has_memory = fault.word != nullptr && fault.word->where.allocation != nullptr;
    fault.relation = has_memory ? of_memory(fault) : of_number(fault, from + access.least, from + access.most);
    return fault;
  }

  static Fault misaligned(Fault fault, std::int64_t first) {
    const std::int64_t bytes = fault.access->bytes;
    if (bytes < 2 || first < 0) return fault;
    const std::int64_t off = first % bytes != 0 ? first % bytes : fault.access->step % bytes;
    if (off == 0) return fault;
    fault.relation = Relation::misaligned;
    fault.distance = static_cast<std::uint64_t>(off);
    return fault;
  }

  // Classifies an access through a parameter word that does not point into known memory.
  Relation of_number(Fault& fault, std::int64_t least, std::int64_t most) const {
    if (least < 0) return Relation::unknown;
    if (least < kNull) return Relation::null;
    if (most < static_cast<std::int64_t>(kLowestAddress)) return Relation::never_allocated;
    const auto is_of_host = [](std::int64_t address) {
      return causes::host_memory_at(static_cast<std::uint64_t>(address)) != nullptr;
    };
    if (is_of_host(least) && is_of_host(most)) return Relation::host;
    const bool none_live = !is_live(least) && !is_live(most);
    fault.by_exclusion = true;
    return all_.only_these && launch_.all_known && none_live ? Relation::never_allocated : Relation::unknown;
  }

  Relation of_memory(Fault& fault) const {
    const analyse::Whereabouts& where = fault.word->where;
    if (where.state == State::freed) return of_freed(fault, *where.allocation);
    if (fault.word->out_of_reach) return Relation::other_device;
    const auto begin = static_cast<std::int64_t>(where.allocation->address);
    const auto size = static_cast<std::int64_t>(where.bytes);
    const std::int64_t bytes = fault.access->bytes;
    const std::int64_t offset = static_cast<std::int64_t>(fault.word->value) - begin;
    const std::int64_t first = offset + fault.access->least, last = offset + fault.access->most;
    // If a 32-bit index overflows, the address is off by this many bytes.
    const std::int64_t wrapped = kIndices * bytes;
    if (last + bytes > size && fails(fault, begin + last, last - size, *where.allocation)) {
      fault.distance = static_cast<std::uint64_t>(std::max<std::int64_t>(0, last - size));
      const bool far = last - size > kSlack * bytes;  // not just off by a few elements
      fault.overflow = far && last - wrapped >= -kSlack * bytes && last - wrapped < size;
      return Relation::past_end;
    }
    if (first < 0 && fails(fault, begin + first, -first, *where.allocation)) {
      fault.distance = static_cast<std::uint64_t>(-first);
      fault.overflow = -first > kSlack * bytes && first + wrapped >= 0 && first + wrapped < size;
      return Relation::before;
    }
    return first >= 0 && last + bytes <= size ? Relation::inside : Relation::unknown;
  }

  // Freed memory may still be mapped, so an access to it may succeed. The access is certain to have failed if no other
  // access can have failed. It is also certain if the allocation was large, because the driver unmaps large
  // allocations.
  Relation of_freed(Fault& fault, const session::Allocation& allocation) const {
    const bool unmapped = allocation.kind == Kind::device && allocation.bytes >= static_cast<std::uint64_t>(kPage);
    const bool of_host = allocation.kind >= Kind::pinned;
    fault.by_exclusion = !unmapped;
    return unmapped || (all_.only_these && !of_host) ? Relation::freed : Relation::unknown;
  }

  // Returns true if an access to `address`, `beyond` bytes outside `allocation`, must be the one that failed.
  bool fails(Fault& fault, std::int64_t address, std::int64_t beyond, const session::Allocation& allocation) const {
    const bool unmapped = address < 0 || (beyond > kMaybeMapped && !may_be_mapped(address, allocation));
    fault.by_exclusion = !unmapped;
    // Memory near an allocation is in a valid address space, so an access there cannot cause kInvalidSpace.
    return unmapped || (all_.only_these && (launch_.error != kInvalidSpace || beyond >= kMaybeMapped));
  }

  // Returns whether the address may be in a page that is mapped for another allocation.
  bool may_be_mapped(std::int64_t address, const session::Allocation& own) const {
    const analyse::Whereabouts where = launch_.map.find(static_cast<std::uint64_t>(address));
    const bool past_another = where.state == State::past_end && where.allocation != &own;
    return where.state == State::live || past_another || is_live(round_down(address)) ||
           is_live(round_down(address) + kPage - 1);
  }

  bool is_live(std::int64_t address) const {
    return launch_.map.find(static_cast<std::uint64_t>(address)).state == State::live;
  }

  const sass::CertainAccesses& all_;
  const FailedLaunch& launch_;
};

// The failed launch as the first run recorded it.
struct Recorded {
  const session::Process& process;
  const session::Operation& operation;
  const session::Arguments& arguments;
};

std::optional<Recorded> recorded(const analyse::Failure& failure) {
  const session::Operation* operation = only_kernel(failure);
  if (operation == nullptr) return std::nullopt;
  const bool cut = (operation->flags & wire::operation::kSaturated) != 0 || operation->cluster != session::Dim3{};
  const session::Arguments* kept = cut ? nullptr : analyse::kept_arguments(failure.process->record, *operation);
  if (kept == nullptr) return std::nullopt;
  return Recorded{*failure.process, *operation, *kept};
}

std::string bytes_of(const session::Arguments& arguments) {
  std::string bytes;
  for (const session::Parameter& parameter : arguments.parameters) {
    bytes.resize(std::max(bytes.size(), parameter.offset + parameter.bytes.size()));
    bytes.replace(parameter.offset, parameter.bytes.size(), parameter.bytes);
  }
  return bytes;
}

std::vector<ParameterWord> words_of(const Recorded& launch, const std::string& bytes, const analyse::AllocationMap& map,
                                    const std::vector<analyse::OperationArgument>& arguments) {
  const bool layout_known = (launch.arguments.flags & wire::intern::kBuffer) == 0;
  std::vector<ParameterWord> words;
  for (std::uint32_t at = 0; at + 8 <= bytes.size(); at += 8) {
    ParameterWord word{.offset = at, .value = analyse::number_at<std::uint64_t>(bytes, at)};
    word.where = map.find(word.value);
    for (std::uint32_t i = 0; layout_known && i < launch.arguments.parameters.size(); ++i) {
      const session::Parameter& parameter = launch.arguments.parameters[i];
      if (at < parameter.offset || at >= parameter.offset + parameter.bytes.size()) continue;
      word.parameter = i + 1;
      word.byte = at - parameter.offset;
    }
    word.out_of_reach = std::ranges::any_of(
        arguments, [&](const analyse::OperationArgument& each) { return each.word == at && each.out_of_reach; });
    words.push_back(word);
  }
  return words;
}

// Returns the accesses of the kernel with this name; nullopt if several kernels have this name and their accesses
// differ.
std::optional<sass::CertainAccesses> accesses_of(const std::string& kernel, const session::Session& session,
                                                 const sass::LaunchValues& launch) {
  std::optional<sass::CertainAccesses> all;
  for (const session::KernelCode& code : session.kernel_code) {
    if (code.kernel != kernel) continue;
    const sass::Calls calls = code.harmless_calls ? sass::Calls::harmless : sass::Calls::anything;
    auto its = sass::ByteRanges(code.text, {code.bank_offset, code.bank_size}, calls).certain(launch);
    if (all && !(*all == its)) return std::nullopt;
    all = std::move(its);
  }
  return all;
}

// Returns true if the failing address is still unknown. A dump has no address if the failing warp has exited.
bool is_open(const Finding& finding) {
  return !finding.access || (finding.access->relation == Relation::unknown && !finding.access->address);
}

// Returns true if the access `found` in the code may be the access `dumped` in the core dump.
bool may_be(const Access& dumped, const Access& found) {
  const bool same_parameter =
      !dumped.parameter || (dumped.parameter == found.parameter && dumped.parameter_byte == found.parameter_byte);
  return dumped.kind == found.kind && dumped.bytes == found.bytes && same_parameter;
}

}  // namespace

bool is_address_error(std::uint32_t code) {
  return code == kIllegalAddress || code == kMisaligned || code == kInvalidSpace;
}

const session::Operation* only_kernel(const analyse::Failure& failure) {
  if (!is_address_error(failure.code) || !analyse::is_asynchronous(failure.kind)) return nullptr;
  if (failure.candidates.size() != 1 || failure.stale != nullptr) return nullptr;
  const session::Operation* operation = failure.candidates.front().operation;
  return operation->kind == wire::operation::Kind::kernel ? operation : nullptr;
}

std::optional<AccessByCode> access_by_code(const sass::CertainAccesses& accesses, const FailedLaunch& launch) {
  const auto fault = Judgement(accesses, launch).run();
  if (!fault) return std::nullopt;
  AccessByCode out{{}, fault->word};
  Access& access = out.access;
  access.by_code = true;
  access.kind = fault->access->kind;
  access.bytes = fault->access->bytes;
  access.parameter = fault->word->parameter;
  access.parameter_byte = fault->word->byte;
  access.relation = fault->relation;
  access.overflow = fault->overflow;
  const bool measured = fault->relation == Relation::past_end || fault->relation == Relation::before ||
                        fault->relation == Relation::misaligned;
  if (measured) access.distance = fault->distance;
  return out;
}

void add_access_by_code(Diagnosis& report, const session::Session& session,
                        const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve) {
  for (std::size_t i = 0; i < failures.size(); ++i) {
    Finding& finding = report.findings[i];
    if (!is_open(finding) || !finding.launch || session.kernel_code.empty()) continue;
    const auto launch = recorded(*failures[i]);
    if (!launch) continue;
    const std::string bytes = bytes_of(launch->arguments);
    const analyse::AllocationMap map(launch->process.record, launch->operation.ticks);
    FailedLaunch failed{failures[i]->code, words_of(*launch, bytes, map, analyse::arguments_of(*failures[i]).arguments),
                        map, analyse::knows_all_allocations(launch->process.record)};
    sass::LaunchValues values{launch->operation.grid, launch->operation.block, bytes, {}};
    for (const ParameterWord& word : failed.words) {
      if (word.where.allocation != nullptr) values.addresses.push_back(word.offset);
    }
    const auto accesses = accesses_of(finding.launch->mangled, session, values);
    const auto found = accesses ? access_by_code(*accesses, failed) : std::nullopt;
    if (!found || (finding.access && !may_be(*finding.access, found->access))) continue;
    finding.access = found->access;
    analyse::OperationArgument pointer;
    pointer.pointer = found->word->value;
    pointer.where = found->word->where;
    pointer.out_of_reach = found->word->out_of_reach;
    if (pointer.where.allocation != nullptr) {
      finding.access->allocation = allocation_of(pointer, launch->process, resolve);
    }
  }
}

}  // namespace cudadiag::diagnose
