// Rules for accesses whose address is known: how the address relates to the intended memory.

#include <string_view>
#include <vector>

#include "diagnose/causes/argument_facts.h"
#include "diagnose/causes/families.h"

namespace cudadiag::causes {
namespace {

bool is(const Symptoms& symptoms, Relation relation, Facts& facts) {
  if (!symptoms.access || symptoms.access->relation != relation || symptoms.access->shared) return false;
  const FailedAccess& access = *symptoms.access;
  facts.add("kernel", access.kernel);
  facts.add("verb", access.verb);
  if (!access.parameter.empty()) facts.add("parameter", access.parameter);
  if (access.distance) facts.add("distance", *access.distance == 0 ? "just" : size_text(*access.distance));
  if (!access.allocation) return true;
  facts.add("bytes", size_text(access.allocation->bytes));
  add_place(facts, "allocated", access.allocation->allocated, symptoms.directory);
  add_place(facts, "freed", access.allocation->freed, symptoms.directory);
  return true;
}

bool overflowed(const Symptoms& symptoms, Facts& facts) {
  if (!symptoms.access || !symptoms.access->overflow) return false;
  facts.add("element", size_text(symptoms.access->bytes));
  return true;
}

bool past_end(const Symptoms& symptoms, Facts& facts) { return is(symptoms, Relation::past_end, facts); }
bool past_end_by_overflow(const Symptoms& symptoms, Facts& facts) {
  return past_end(symptoms, facts) && overflowed(symptoms, facts);
}
bool before(const Symptoms& symptoms, Facts& facts) { return is(symptoms, Relation::before, facts); }
bool before_by_overflow(const Symptoms& symptoms, Facts& facts) {
  return before(symptoms, facts) && overflowed(symptoms, facts);
}
bool freed(const Symptoms& symptoms, Facts& facts) {
  return !symptoms.in_graph && is(symptoms, Relation::freed, facts);
}
bool null(const Symptoms& symptoms, Facts& facts) { return is(symptoms, Relation::null, facts); }
bool host(const Symptoms& symptoms, Facts& facts) { return is(symptoms, Relation::never_allocated, facts); }

bool other_device(const Symptoms& symptoms, Facts& facts) {
  if (!is(symptoms, Relation::other_device, facts)) return false;
  const auto& memory = symptoms.access->allocation;
  if (memory && memory->device) facts.add("owner", std::to_string(*memory->device));
  if (symptoms.device) facts.add("device", std::to_string(*symptoms.device));
  return true;
}

bool misaligned(const Symptoms& symptoms, Facts& facts) {
  if (!is(symptoms, Relation::misaligned, facts)) return false;
  facts.add("size", size_text(symptoms.access->bytes));
  return true;
}

bool past_shared(const Symptoms& symptoms, Facts& facts) {
  if (!symptoms.access || !symptoms.access->shared || symptoms.access->relation != Relation::past_end) return false;
  facts.add("kernel", symptoms.access->kernel);
  facts.add("verb", symptoms.access->verb);
  facts.add("distance", *symptoms.access->distance == 0 ? "just" : size_text(*symptoms.access->distance));
  return true;
}

constexpr std::string_view kSanitizerLink = "https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html";
constexpr std::string_view kWiden = "compute the index in 64 bits before it is multiplied (size_t, int64_t)";

}  // namespace

const std::vector<Rule>& access_rules() {
  static const std::vector<Rule> rules = {
      {.id = "address-past-end",
       .codes = {700, 717},
       .when = past_end_by_overflow,
       .texts = {"{kernel} {verb} {distance} past the end of {parameter}: {bytes} allocated at {allocated}; the "
                 "distance fits a 32-bit index that overflowed, times {element}",
                 "{kernel} {verb} {distance} past the end of {parameter}, which has {bytes}; the distance fits a "
                 "32-bit index that overflowed, times {element}"},
       .fix = {kWiden, "check that no index is negative before it is converted to an unsigned one"},
       .link = kSanitizerLink},
      {.id = "address-past-end",
       .codes = {700, 717},
       .when = past_end,
       .texts = {"{kernel} {verb} {distance} past the end of {parameter}: {bytes} allocated at {allocated}",
                 "{kernel} {verb} {distance} past the end of {parameter}, which has {bytes}"},
       .fix = {"compare the index with the number of elements before the access: if (i < n)",
               "check that the grid, the sizes that are passed and the {bytes} that were allocated match"},
       .link = kSanitizerLink},
      {.id = "address-before-allocation",
       .codes = {700, 717},
       .when = before_by_overflow,
       .texts = {"{kernel} {verb} {distance} before the beginning of {parameter}: {bytes} allocated at {allocated}; "
                 "the distance fits a 32-bit index that overflowed, times {element}",
                 "{kernel} {verb} {distance} before the beginning of {parameter}, which has {bytes}; the distance fits "
                 "a 32-bit index that overflowed, times {element}"},
       .fix = {kWiden},
       .link = kSanitizerLink},
      {.id = "address-before-allocation",
       .codes = {700, 717},
       .when = before,
       .texts = {"{kernel} {verb} {distance} before the beginning of {parameter}: {bytes} allocated at {allocated}",
                 "{kernel} {verb} {distance} before the beginning of {parameter}, which has {bytes}"},
       .fix = {"check that no index is negative: the result of a failed search (-1), a neighbour at the edge, or a "
               "difference"},
       .link = kSanitizerLink},
      {.id = "use-after-free",
       .codes = {700, 717},
       .when = freed,
       .texts =
           {"{kernel} {verb} memory through {parameter}: {bytes} that were freed at {freed} before it was launched",
            "{kernel} {verb} memory through {parameter}: {bytes} that were freed before it was launched",
            "{kernel} {verb} {bytes} that were freed at {freed} before it was launched",
            "{kernel} {verb} {bytes} that were freed before it was launched"},
       .fix = {"free it after the last operation that uses it has finished ({cuda:cudaStreamSynchronize, or "
               "cudaFreeAsync|cuStreamSynchronize, or cuMemFreeAsync} on the same stream)",
               "{python:keep a reference to the object that a raw pointer was taken from}"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#stream-ordered-memory-allocator"},
      {.id = "null-pointer",
       .codes = {700, 717},
       .when = null,
       .texts = {"{kernel} {verb} memory through {parameter}, which is a null pointer",
                 "{kernel} {verb} memory through a null pointer"},
       .fix = {"check that {parameter} was allocated, and that the allocation succeeded",
               "check that the pointer was allocated, and that the allocation succeeded"},
       .link = kSanitizerLink},
      {.id = "memory-of-another-gpu",
       .codes = {700, 717},
       .when = other_device,
       .texts =
           {"{kernel} {verb} memory through {parameter}: {bytes} of device {owner}, allocated at {allocated}; it ran "
            "on device {device}, which has no access to them",
            "{kernel} {verb} memory through {parameter}: {bytes} of a device that it has no access to"},
       .fix = {"{torch:launch it with torch.cuda.device(tensor.device), or move the tensor with .to() first|launch it "
               "where the memory is, on a stream of that device, or copy the data over first}",
               "or give the device access to the other one's memory, if the two can reach each other: "
               "{cuda:cudaDeviceEnablePeerAccess|cuCtxEnablePeerAccess}"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#peer-to-peer-memory-access"},
      {.id = "host-pointer",
       .sure = Sure::often,
       .codes = {700, 717},
       .when = host,
       .texts = {"{kernel} {verb} memory through {parameter}, which does not point into memory from CUDA: often it is "
                 "a host address (malloc, new, a stack), or was never set"},
       .fix = {"allocate it with {cuda:cudaMalloc or cudaMallocManaged|cuMemAlloc or cuMemAllocManaged}, and copy the "
               "data over"},
       .link = kSanitizerLink},
      {.id = "misaligned-address",
       .codes = {716},
       .when = misaligned,
       .texts = {"{kernel} {verb} {size} at once, {distance} past a multiple of {size}: the address is computed from "
                 "{parameter}",
                 "{kernel} {verb} {size} at once, {distance} past a multiple of {size}"},
       .fix = {"use a pointer and offsets that are multiples of the size of the access, or access smaller pieces",
               "{torch:call the kernel with a .clone() of a view: .contiguous() keeps its offset}"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#device-memory-accesses"},
      {.id = "shared-out-of-range",
       .codes = {700, 716, 717, 719},
       .when = past_shared,
       .texts = {"{kernel} {verb} {distance} past the end of its block's shared memory"},
       .fix =
           {"compare the largest index into shared memory with its size: the third launch argument if it is dynamic, "
            "in bytes"},
       .link = "https://docs.nvidia.com/cuda/cuda-gdb/index.html#gpu-error-reporting"},
  };
  return rules;
}

}  // namespace cudadiag::causes
