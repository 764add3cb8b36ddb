// Rules for accesses whose address is known. Each rule covers one way in which the address relates to the memory that
// was meant.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include "diagnose/causes/case.h"
#include "diagnose/causes/rule.h"

namespace cudadiag::causes {
namespace {

std::string distance_text(const Access& access) {
  if (*access.distance == 0) return "just";
  const bool farthest = access.by_code && access.relation != Relation::misaligned;
  return (farthest ? "up to " : "") + size_text(*access.distance);
}

bool is(const Case& failed, Relation relation, Facts& facts) {
  if (!failed.finding.access || failed.finding.access->relation != relation) return false;
  const Access& access = *failed.finding.access;
  if (access.space == sass::Space::shared) return false;
  add_who(failed, facts);
  if (access.parameter) facts.add("parameter", parameter_text(access));
  if (!access.variable.empty()) facts.add("parameter", diagnose::variable_words(access.variable));
  if (access.distance) facts.add("distance", distance_text(access));
  const std::string table = access.table.empty() ? "memory" : access.table;
  if (access.from_memory) facts.add("origin", "a pointer that it read from " + table);
  if (access.from_memory) facts.add("table", table);
  if (!access.allocation && access.address && access.pointer) {
    const std::uint64_t a = *access.address, b = *access.pointer;
    facts.add("reach", size_text(a > b ? a - b : b - a));
  }
  if (!access.allocation) return true;
  facts.add("bytes", size_text(access.allocation->bytes));
  add_place(facts, "allocated", access.allocation->allocated, failed.report.working_directory);
  add_place(facts, "freed", access.allocation->freed, failed.report.working_directory);
  return true;
}

bool overflowed(const Case& failed, Facts& facts) {
  if (!failed.finding.access || !failed.finding.access->overflow) return false;
  facts.add("element", size_text(failed.finding.access->bytes));
  return true;
}

bool past_end(const Case& failed, Facts& facts) { return is(failed, Relation::past_end, facts); }
bool past_end_by_overflow(const Case& failed, Facts& facts) {
  return past_end(failed, facts) && overflowed(failed, facts);
}
bool before(const Case& failed, Facts& facts) { return is(failed, Relation::before, facts); }
bool before_by_overflow(const Case& failed, Facts& facts) { return before(failed, facts) && overflowed(failed, facts); }
bool freed(const Case& failed, Facts& facts) { return !failed.in_graph() && is(failed, Relation::freed, facts); }
bool null(const Case& failed, Facts& facts) {
  if (!failed.finding.swallowed.empty()) facts.add("swallowed", failed.finding.swallowed);
  return is(failed, Relation::null, facts);
}
// The address is low. Only its upper half is known.
bool low(const Case& failed, Facts& facts) {
  return null(failed, facts) && !failed.finding.access->address && !failed.finding.access->parameter;
}
bool never_allocated(const Case& failed, Facts& facts) { return is(failed, Relation::never_allocated, facts); }
// CUDA's addresses are neither this low nor this high. The parameter holds something else, such as a key or an index.
bool number(const Case& failed, Facts& facts) {
  if (!never_allocated(failed, facts) || failed.finding.access->pointer.value_or(0) == 0) return false;
  const std::uint64_t value = *failed.finding.access->pointer;
  const bool high = value >= diagnose::kBeyondAddresses;
  facts.add("value", high ? fmt::format("{:#x}", value) : std::to_string(value));
  return !diagnose::may_be_address(value);
}

// Returns the two floats of which a word consists; empty if one of them would be an unusual number.
std::string floats_of(std::uint64_t word) {
  std::array<float, 2> halves;
  std::memcpy(halves.data(), &word, sizeof word);
  const auto usual = [](float value) { return std::abs(value) >= 1e-4f && std::abs(value) < 1e6f; };
  return usual(halves[0]) && usual(halves[1]) ? fmt::format("{:.4g} and {:.4g}", halves[0], halves[1]) : "";
}

// The address is too high for any memory, or the hardware says that it is in no address space. Code that uses the
// windows of shared or local memory computes addresses, and does not load them.
bool no_address(const Case& failed, Facts& facts) {
  if (!failed.finding.access) return false;
  const Access& access = *failed.finding.access;
  if (!is(failed, access.relation, facts)) return false;
  const bool high =
      access.relation == Relation::never_allocated && access.address.value_or(0) >= diagnose::kBeyondAddresses;
  const bool global =
      access.space == sass::Space::global || (access.space == sass::Space::generic && access.from_memory);
  const bool out_of_range = access.relation == Relation::unknown && !access.allocation && global &&
                            failed.device().exception == "Warp Out-of-range Address";
  if (!high && !out_of_range) return false;
  if (access.address) facts.add("address", fmt::format("{:#x}", *access.address));
  if (const std::string floats = floats_of(access.address.value_or(0)); !floats.empty()) facts.add("floats", floats);
  return true;
}

// The address came from memory, and nothing else is known. A table with a pointer to freed memory says more.
bool from_memory(const Case& failed, Facts& facts) {
  if (!is(failed, Relation::unknown, facts) || !failed.finding.access->from_memory) return false;
  const auto is_in_table = [](const Argument& argument) { return !argument.loaded.empty(); };
  if (std::ranges::any_of(failed.finding.arguments, is_in_table)) return false;
  const Access& access = *failed.finding.access;
  if (access.address) facts.add("address", fmt::format("{:#x}", *access.address));
  if (!access.nearest || access.nearest->offset < access.nearest->bytes) return true;
  facts.add("past", size_text(access.nearest->offset - access.nearest->bytes));
  facts.add("nearest", size_text(access.nearest->bytes));
  add_place(facts, "made", access.nearest->allocated, failed.report.working_directory);
  return true;
}

// The address is known, but not from what it was computed. Its distance from the nearest memory that the kernel
// received suggests which memory was meant.
bool far_from_received(const Case& failed, Facts& facts) {
  if (!is(failed, Relation::unknown, facts)) return false;
  const Access& access = *failed.finding.access;
  if (access.from_memory || !access.address || !access.nearest) return false;
  const auto at = static_cast<std::int64_t>(*access.address);
  const diagnose::Placement its = diagnose::where_in({at, at, 0}, access.nearest->address, access.nearest->bytes);
  if (its.relation == Relation::inside) return false;
  facts.add("address", fmt::format("{:#x}", *access.address));
  facts.add("gap", size_text(its.distance));
  facts.add("side", its.relation == Relation::before ? "before the beginning" : "past the end");
  facts.add("nearest", size_text(access.nearest->bytes));
  add_place(facts, "made", access.nearest->allocated, failed.report.working_directory);
  return true;
}

// The address is unknown, but the code computes it from a parameter that points to live memory.
bool outside(const Case& failed, Facts& facts) {
  return is(failed, Relation::unknown, facts) && failed.finding.access->outside && failed.finding.access->allocation;
}
bool host(const Case& failed, Facts& facts) {
  if (!is(failed, Relation::host, facts)) return false;
  if (const char* where =
          diagnose::host_memory_at(failed.finding.access->pointer.value_or(0), failed.reads_host_memory))
    facts.add("where", where);
  return true;
}

bool other_device(const Case& failed, Facts& facts) {
  if (!is(failed, Relation::other_device, facts)) return false;
  const auto& memory = failed.finding.access->allocation;
  if (memory && memory->device) facts.add("owner", std::to_string(*memory->device));
  if (failed.launch().device) facts.add("device", std::to_string(*failed.launch().device));
  return true;
}

bool misaligned(const Case& failed, Facts& facts) {
  if (!is(failed, Relation::misaligned, facts)) return false;
  const std::uint32_t bytes = failed.finding.access->bytes;
  facts.add("size", bytes == 0 ? "memory" : size_text(bytes));
  facts.add("alignment", size_text(sass::alignment_of(bytes)));
  return true;
}

bool past_shared(const Case& failed, Facts& facts) {
  if (!failed.finding.access || failed.finding.access->space != sass::Space::shared) return false;
  add_who(failed, facts);
  if (failed.finding.access->outside) return true;
  if (failed.finding.access->relation != Relation::past_end) return false;
  facts.add("distance", *failed.finding.access->distance == 0 ? "just" : size_text(*failed.finding.access->distance));
  return true;
}

constexpr std::string_view kSanitizerLink = "https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html";
constexpr std::string_view kWiden = "convert the index to 64 bits (size_t, int64_t) before multiplying it";

}  // namespace

const std::vector<Rule>& access_rules() {
  static const std::vector<Rule> rules = {
      {.id = "address-past-end",
       .codes = {700, 717},
       .when = past_end_by_overflow,
       .texts = {"{kernel} {verb} {distance} past the end of {parameter}[: {bytes} allocated at {allocated}|, which is "
                 "{bytes} long]; an overflowed 32-bit index into elements of {element} would explain this distance"},
       .fix = {kWiden, "check that no index is negative before converting it to an unsigned type"},
       .link = kSanitizerLink},
      {.id = "address-past-end",
       .codes = {700, 717},
       .when = past_end,
       .texts = {"{kernel} {verb} {distance} past the end of {parameter}[: {bytes} allocated at {allocated}|, which is "
                 "{bytes} long]",
                 "{kernel} {verb} {reach} after {parameter}, past the end of its memory: no allocation of the program "
                 "is that long"},
       .fix = {"before the access, compare the index with the number of elements: if (i < n)",
               "check that the grid and the sizes passed to the kernel match these {bytes}"},
       .link = kSanitizerLink},
      {.id = "address-outside-allocation",
       .codes = {700, 717},
       .when = outside,
       .texts = {"{kernel} {verb} memory outside {parameter}[: {bytes} allocated at {allocated}|, which is {bytes} "
                 "long]; the distance is unknown"},
       .fix = {"before the access, compare the index with the number of elements, and check that it is not negative",
               "check that the grid and the sizes passed to the kernel match these {bytes}"},
       .link = kSanitizerLink},
      {.id = "address-before-allocation",
       .codes = {700, 717},
       .when = before_by_overflow,
       .texts =
           {"{kernel} {verb} {distance} before the beginning of {parameter}[: {bytes} allocated at {allocated}|, which "
            "is {bytes} long]; an overflowed 32-bit index into elements of {element} would explain this distance"},
       .fix = {kWiden},
       .link = kSanitizerLink},
      {.id = "address-before-allocation",
       .codes = {700, 717},
       .when = before,
       .texts = {"{kernel} {verb} {distance} before the beginning of {parameter}[: {bytes} allocated at {allocated}|, "
                 "which is {bytes} long]",
                 "{kernel} {verb} {reach} before {parameter}, before the beginning of its memory: no allocation of the "
                 "program is that long"},
       .fix = {"look for an index that can be negative: the -1 of a failed search, a neighbour beyond the edge, or a "
               "difference"},
       .link = kSanitizerLink},
      {.id = "use-after-free",
       .codes = {700, 717},
       .when = freed,
       .texts = {"{kernel} {verb} memory through {parameter}: {bytes} that were freed[ at {freed}] before the launch",
                 "{kernel} {verb} memory in an allocation of {bytes} that was freed[ at {freed}] before the launch"},
       .fix = kFreeLater,
       .link = kFreeLaterLink},
      {.id = "null-pointer",
       .sure = Sure::often,
       .codes = {700, 717},
       .when = low,
       .texts =
           {"{kernel} {verb} memory below 4 GiB, where CUDA has none, through {origin}; often it is a null pointer, "
            "or a number used as an address",
            "{kernel} {verb} memory below 4 GiB, where CUDA has none, often through a null pointer, or a number "
            "used as an address"},
       .fix = {"check that the pointer was set, and that its allocation succeeded"},
       .link = kSanitizerLink},
      {.id = "null-pointer",
       .codes = {700, 717},
       .when = null,
       .texts = {"{kernel} {verb} memory through {parameter}, which is a null pointer[; {swallowed} had failed earlier "
                 "on this thread]",
                 "{kernel} {verb} memory through a null pointer[ that it read from {table}]"},
       .fix = {"check that the pointer was allocated, and that the allocation succeeded"},
       .link = kSanitizerLink},
      {.id = "memory-of-another-gpu",
       .codes = {700, 717},
       .when = other_device,
       .texts =
           {"{kernel} {verb} memory through {parameter}: {bytes} on device {owner}, allocated at {allocated}; the "
            "kernel ran on device {device}, which has no access to that memory",
            "{kernel} {verb} memory through {parameter}: {bytes} on a device that the kernel's device cannot access"},
       .fix = {"{torch:launch the kernel under torch.cuda.device(tensor.device), or move the tensor with .to() "
               "first|launch the kernel on a stream of the device that owns the memory, or copy the data to the "
               "kernel's device first}",
               "or enable access to the other device's memory, if the two devices can reach each other: "
               "{cuda:cudaDeviceEnablePeerAccess|cuCtxEnablePeerAccess}"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#peer-to-peer-memory-access"},
      {.id = "number-as-address",
       .codes = {700, 717},
       .when = number,
       .texts = {"{kernel} {verb} memory through {parameter}, which is {value}: a number, not an address"},
       .fix = {"compare the arguments of the launch with the kernel's parameters: a key, an index, a size or a handle "
               "was passed in place of a pointer"},
       .link = kSanitizerLink},
      {.id = "number-as-address",
       .codes = {700, 717},
       .when = no_address,
       .texts = {"{kernel} {verb} memory at {address} through {origin}: not an address, but the floats {floats}",
                 "{kernel} {verb} memory[ at {address}] through {origin}: a number, not an address",
                 "{kernel} {verb} memory at {address}, which is computed from {parameter} and is not an address",
                 "{kernel} {verb} memory at a number that is computed from {parameter} and is not an address",
                 "{kernel} {verb} memory at {address}: a number, not an address",
                 "{kernel} {verb} memory at a number that is not an address"},
       .fix = {"check what was written to the memory from which the pointer is read: a number, fields in another "
               "order, or "
               "data that overran its own memory"},
       .link = kSanitizerLink},
      {.id = "host-pointer",
       .codes = {700, 717},
       .when = host,
       .texts = {"{kernel} {verb} memory through {parameter}, which points into the process's {where}: the GPU cannot "
                 "access it",
                 "{kernel} {verb} memory at an address in the process's heap or stack: the GPU cannot access it"},
       .fix = {"allocate the memory with {cuda:cudaMalloc or cudaMallocManaged|cuMemAlloc or cuMemAllocManaged}, and "
               "copy the data into it"},
       .link = kSanitizerLink},
      {.id = "host-pointer",
       .sure = Sure::often,
       .codes = {700, 717},
       .when = never_allocated,
       .texts = {"{kernel} {verb} memory through {parameter}, which points to no memory that CUDA was asked to "
                 "allocate: often a host address (malloc, new, a stack variable), a pointer that was never set, or a "
                 "__device__ variable"},
       .fix = {"allocate the memory with {cuda:cudaMalloc or cudaMallocManaged|cuMemAlloc or cuMemAllocManaged}, and "
               "copy the data into it"},
       .link = kSanitizerLink},
      {.id = "bad-pointer-in-memory",
       .codes = {700, 717},
       .when = from_memory,
       .texts = {"{kernel} {verb} memory at {address}, which it computed from values that it read from {table}: {past} "
                 "past the end of the nearest memory below it, {nearest} allocated at {made}",
                 "{kernel} {verb} memory at {address}, which it computed from values that it read from {table}",
                 "{kernel} {verb} memory at an address that it computed from values that it read from {table}"},
       .fix = {"check the pointers and indices in that memory, and that what they point to has not been freed"},
       .link = kSanitizerLink},
      {.id = "address-outside-allocation",
       .sure = Sure::often,
       .codes = {700, 717, 719},
       .when = far_from_received,
       .texts = {"{kernel} {verb} memory at {address}, {gap} {side} of the nearest memory that it was passed[: "
                 "{nearest} allocated at {made}|, which has {nearest}]"},
       .fix = {"check the strides, offsets and sizes that the kernel computes addresses from"},
       .link = kSanitizerLink},
      {.id = "misaligned-address",
       .codes = {700, 715, 716, 719},
       .when = misaligned,
       .texts = {"{kernel} {verb} {size} at an address {distance} past a multiple of {alignment}[; the address is "
                 "computed from {parameter}]"},
       .fix = {"use a pointer and offsets that are multiples of {alignment}, or use narrower loads and stores",
               "{torch:pass a .clone() of the view to the kernel (.contiguous() would keep its offset)}"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#device-memory-accesses"},
      {.id = "shared-out-of-range",
       .codes = {700, 716, 717, 719},
       .when = past_shared,
       .texts = {"{kernel} {verb} {distance} past the end of its block's shared memory",
                 "{kernel} {verb} memory outside its block's shared memory; the distance is unknown"},
       .fix = {"compare the largest index into shared memory with the size of that memory (for dynamic shared memory, "
               "the third launch argument, in bytes)"},
       .link = "https://docs.nvidia.com/cuda/cuda-gdb/index.html#gpu-error-reporting"},
  };
  return rules;
}

}  // namespace cudadiag::causes
