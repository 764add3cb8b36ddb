// The passes of diagnose(), and what they share. Each section names the file that defines it. diagnosis.cc calls the
// passes, and says in which order and why.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/operation_arguments.h"
#include "analyse/recorded_memory.h"
#include "analyse/site_keys.h"
#include "base/demangle.h"
#include "diagnose/causes/case.h"
#include "diagnose/facts/report_model.h"
#include "diagnose/lines.h"
#include "evidence/testimony.h"
#include "sass/byte_ranges.h"
#include "sass/failing_address.h"
#include "session/deliveries.h"
#include "session/process_record.h"
#include "session/session.h"
#include "symbolize/device_testimony.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// ---- diagnosis.cc

// The reruns without torch.compile, diagnosed as a session of their own.
struct EagerAnswer {
  const session::Session* session = nullptr;
  const analyse::Analysis* analysis = nullptr;
  const Diagnosis* diagnosis = nullptr;
};

// Everything that is known about a session at one moment.
struct Known {
  const session::Session& session;
  const analyse::Analysis& analysis;
  const symbolize::DeviceTestimony& testimony;
  symbolize::Symbolizer& symbolizer;
  std::optional<EagerAnswer> eager{};  // nullopt if there were no such reruns
  std::optional<RanksPart> job{};      // where the ranks of the job diverge, if the session is part of a job
  std::optional<GroupsPart> groups{};  // as `job`, according to NCCL's communicators
};

Diagnosis diagnose(const Known& known);

// Returns the failures of the process that failed first, then those of other processes. Each of the two groups is
// sorted by time. The first findings of a Diagnosis are in this order. The pointers point into the analysis.
std::vector<const analyse::Failure*> failures_in_order(const analyse::Analysis& analysis);

// ---- finding_builder.cc

// Builds a finding from one failure: its lines, operation, arguments and memory. Facts from other runs and other
// findings are added later (diagnosis.cc).
Finding finding_of(const analyse::Failure& failure, const session::Session& session, symbolize::Symbolizer& symbolizer);

// Returns a finding about this process. Only its kind and its title are set.
Finding finding_in(const session::Process& process, const session::Session& session, analyse::Kind kind,
                   std::string title);

// Makes the line the finding's location, and reads the text around it.
void lead_with(Finding& finding, Location location, symbolize::SourceStack stack);

// Sets the names of a kernel. `to` is a Launch or a ResolvedAccess.
template <typename Named>
void name_kernel(Named& to, const std::string& mangled) {
  to.mangled = mangled;
  to.kernel = base::demangle(mangled);
}

// Adds findings that no failed call reported.
void add_findings(Diagnosis& report, std::vector<Finding> found);

// ---- failed_operation.cc

// Returns the allocation that a pointer among the arguments points to. `process` issued the operation.
PointedMemory allocation_of(const analyse::OperationArgument& argument, const session::Process& process,
                            const ResolveSite& resolve);

// Adds the operation before `launch` that wrote last to the allocation from which the kernel read the pointer.
void add_last_write(Access& access, const session::Process& process, const session::Operation& launch,
                    const session::Allocation& table, const ResolveSite& resolve);

void add_memory(Finding& finding, const analyse::Failure& failure, const session::Manifest& manifest,
                const ResolveSite& resolve);

// Removes the lines that allocated or freed memory other than that of the failed access. Does nothing if that memory is
// unknown.
void keep_related(Finding& finding);

// `mangled` is the name of the kernel; empty if the operation is not a kernel, or the name is unknown.
Launch launch_of(const session::Process& process, const analyse::Candidate& candidate, const std::string& mangled);
Launch launch_of(const session::Process& process, const session::FailedCall& error, const std::string& mangled);
// Describes the candidate's node, which must not be null, rather than the graph launch that ran it.
Launch node_launch_of(const session::Process& process, const analyse::Candidate& candidate, const std::string& mangled);

// Returns how many of the possible launches are on the same line as the likeliest one.
std::size_t calls_of_line(const Finding& finding);

// The different kernels that may have failed.
struct PossibleKernels {
  std::size_t known = 0;
  bool more = false;  // kernels of graphs or of unlisted candidates may have failed too
  bool several() const { return known > 1 || more; }
};
PossibleKernels possible_kernels(const Finding& finding);

// ---- changed_sources.cc

// Returns the time at which the failure was noticed, in seconds since the epoch. All code on the failure's stacks had
// been loaded by that time. Returns nullopt if the process's clock is unknown.
std::optional<double> met_at(const analyse::Failure& failure);
// Returns the time of the process's latest record, in seconds since the epoch.
std::optional<double> heard_until(const session::ProcessRecord& record);

// Removes the text of the finding's lines if their file was written after `met`.
void drop_changed_sources(Finding& finding, const session::ProcessRecord& record, std::optional<double> met);

// If a rerun ran a different version of the source than the first run, says so in `because`. `finding` must be the
// finding of `failure`.
void compare_rerun_source(Finding& finding, const analyse::Failure& failure, const session::Session& session,
                          symbolize::Symbolizer& symbolizer);

// Returns what to show in place of the finding's line if drop_changed_sources() removed the text; else "".
std::string changed_source_text(const Finding& finding);

void note_changed_sources(Diagnosis& report);

// ---- captured_values.cc

// Adds the arguments of the failing operator if they are known, else the variables on the failing line.
void add_captured_values(Finding& finding, const analyse::Failure& failure);

// Returns the user's innermost line; an unknown location if there is none.
Location line_of_user(const symbolize::SourceStack& stack);

// Adds the values that were captured at watched lines before the failure.
void add_watched(Finding& finding, const analyse::Failure& failure);

// For a call that ran out of memory: adds what PyTorch's allocator reported in a rerun.
void add_tensor_memory(Finding& finding, const session::Session& session, const symbolize::Symbolizer& symbolizer);

// Adds the saved call or launch, if the user requested one.
void add_inputs(Finding& finding, const analyse::Failure& failure, const session::Session& session);
void add_saved_launch(Finding& finding, const analyse::Failure& failure, const session::Session& session);

// Returns whether an argument of the finding has an element out of bounds.
bool names_bad_value(const Finding& finding);

// Adds the origin, if known, to each finding whose line received a bad value in a rerun that traced values.
void add_origins(Diagnosis& report, const std::vector<const analyse::Failure*>& failures,
                 const session::Session& session, const symbolize::Symbolizer& symbolizer);

// ---- forward_line.cc

// Finds the forward line of a backward kernel: the user's line that called the operator. PyTorch's autograd launches
// the kernel on a thread that runs none of the user's code. The line is proven if a rerun read it from the autograd
// node, else inferred. If several lines are possible, the line is unknown.
struct ForwardLine {
  std::string node;              // "GatherBackward0"; empty unless autograd launched the kernel for an operator
  symbolize::Location location;  // if not known(), `because` gives the reason
  std::string because;
  symbolize::Location called;  // the line that called backward(), if known
  bool own_code = false;       // the user's own code in the backward pass launched the kernel
  bool proven = false;         // `location` is the line that PyTorch recorded when it created the node
};

// `stack` is the stack of the operation.
ForwardLine forward_line(const session::Process& process, const session::Operation& operation,
                         const symbolize::SourceStack& stack, symbolize::Symbolizer& symbolizer);

// If the confirming rerun read a line from the failing operation's node, replaces `forward` with that line.
void prove_forward_line(ForwardLine& forward, const analyse::Failure& failure, symbolize::Symbolizer& symbolizer);

// Replaces `line`, the line of the failing operation, with the line that started its thread. Returns nullopt and keeps
// `line` if it is in the user's code, or if no line of the user's code is known to have started the thread.
std::optional<ThreadStart> lead_to_start(symbolize::TrueLine& line, const analyse::Failure& failure,
                                         symbolize::Symbolizer& symbolizer);

// ---- device_evidence.cc

// Returns the index of the innermost line that is not in a header of CUDA or its libraries. Functions from such headers
// are inlined into user code. Returns 0 if all lines are in such headers.
std::size_t leading_line(const std::vector<evidence::SourceLine>& lines);

// Sets `device` of the finding that the evidence matches, and `device_unknown` of the others. Evidence that matches no
// finding becomes a note. Compares kernels by name, because a dump from another run may be about a different failure.
// `failures` has one entry for each finding.
void add_device(Diagnosis& report, const symbolize::DeviceTestimony& testimony, const session::Session& session,
                const analyse::Analysis& analysis, const std::vector<const analyse::Failure*>& failures);

// ---- external_findings.cc

// Adds the findings of other tools, labelled with the tool's name. If they differ from cudadiag's own, the report shows
// both. Call this after add_device(), because facts from the core dump take precedence.
void add_external_findings(Diagnosis& report, const symbolize::DeviceTestimony& testimony);

// Returns true if memcheck may add facts to this finding, because a kernel that may have failed is known.
bool memcheck_may_help(const Finding& finding);

// Returns the outcome of the compute-sanitizer pass in a few words.
std::string outcome_of(const symbolize::SanitizerTestimony& testimony);

// ---- dump_candidates.cc

// In each failure with several candidates, moves those with the dump's kernel to the front. If only one line of the
// program launches that kernel, removes the other candidates and grades the failure as proven. Changes nothing if a
// rerun has proven a line, if the error differs, or if no candidate has that kernel.
void weigh_by_dump(std::vector<analyse::Failure>& failures, const symbolize::DeviceTestimony& testimony,
                   const session::Session& session, symbolize::Symbolizer& symbolizer);

// ---- access_by_code.cc

struct FailedLaunch {
  std::uint32_t error = 0;
  std::vector<analyse::OperationArgument> words;  // every 8-byte word of the parameters and of memory with known
                                                  // contents; `pointer` is its value
  const analyse::AllocationMap& map;              // the allocations at the time of the launch
  bool all_known = false;                         // the map contains every allocation of the process
};

struct AccessByCode {
  Access access;
  const analyse::OperationArgument* through = nullptr;  // one of FailedLaunch::words
};

// Returns the access that must have failed. Returns nullopt if no access is certain to have failed, or if the accesses
// that are certain to have failed use different parameter words.
std::optional<AccessByCode> access_by_code(const sass::CertainAccesses& accesses, const FailedLaunch& launch);

// Removes candidates that cannot have failed, because their code uses only memory that was live. Leaves at least one,
// and those with the kernel that a core dump names (`dumped`).
void drop_harmless(std::vector<analyse::Failure>& failures, const session::Session& session, const std::string& dumped);

// Adds the failed access to each finding for which no core dump shows the address. `failures` has one entry for each
// finding, in the same order.
void add_access_by_code(Diagnosis& report, const session::Session& session,
                        const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve);

// ---- parameter_names.cc

// A parameter as the kernel's source declares it. The functions below search text instead of parsing C++, and return an
// empty result if in doubt.
struct DeclaredParameter {
  std::string type;  // "const float*"; empty in Python
  std::string name;  // empty if the parameter has none, or if two declarations differ
};
using DeclaredParameters = std::vector<DeclaredParameter>;

// Returns the parameters of the `__global__` function `kernel`, whose name is given without namespaces, template
// arguments and parameters. The C++ source may be a string inside a Python file. Reads only declarations with `count`
// parameters. If `count` is 0, accepts any number, but all declarations must have the same one.
DeclaredParameters declared_parameters(std::string_view source, std::string_view kernel, std::size_t count);

// Returns the parameters of a Triton kernel that was launched with `count` parameters. Triton drops compile-time
// constants and appends two parameters of its own. If Triton also dropped a parameter because its value is 1, the
// result is empty.
DeclaredParameters declared_triton_parameters(std::string_view source, std::string_view kernel, std::size_t count);

// Returns the member of the plain structure `type` that begins at this byte: "float*" and "cells"; empty if unknown.
DeclaredParameter declared_member(std::string_view source, std::string_view type, std::uint64_t byte);
// Returns what begins at this byte of the memory to which a pointer of this type points: "float*" and "[1].cells" for
// "const Row*"; empty if unknown.
DeclaredParameter declared_element(std::string_view source, std::string_view type, std::uint64_t byte);

// Returns the variable at the line of the call whose tensor begins where this parameter points; empty unless there is
// exactly one.
std::string passed_variable(const std::vector<Argument>& arguments, const Argument& parameter);

// `failures` has one entry for each finding, in the same order.
void name_parameters(Diagnosis& report, const std::vector<const analyse::Failure*>& failures);

// ---- explanation.cc

// Finds out which APIs a process uses, so that advice names the calls of these APIs. Looks at the failed calls of the
// process and at `stack`, the stack of one of its operations.
causes::Dialect dialect_of(const session::Process& process, const symbolize::SourceStack& stack, bool torch);

// Returns true if cudadiag reran the program to get a GPU core dump, and the user did not interrupt that rerun.
bool asked_for_dump(const session::Manifest& manifest);

// Returns advice that follows from the kind and code of the error. It says where to look, but never what is wrong.
std::vector<std::string> next_steps(const analyse::Failure& failure, const session::Manifest& manifest);

// Sets `cause` and `fix` of each finding that a rule matches; other findings keep their general next steps. `failures`
// has one entry for each finding, in the same order. The rules read the other members of the findings, including
// arguments and device, so set those first.
void add_causes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const std::vector<const analyse::Failure*>& failures);

// ---- compiled_code.cc

// A node of the graph that torch.compile created from the function.
struct SourceNode {
  std::string name;
  std::vector<std::string> operators{};  // the operators that implement the node: "embedding"; empty if unknown
};

struct GeneratedKernel {
  std::vector<SourceNode> nodes;
  std::string file;  // the user's file, if a comment names it
  int line = 0;      // 0 if no comment names it
};

// Returns the source of the kernel that a generated file launches at `line`. If the source is unknown, `nodes` is empty
// and the result's `line` is 0.
GeneratedKernel kernel_at(std::string_view generated, int line);

// Returns the line of the function from which all `nodes` come; 0 unless exactly one line fits. With `by_index`,
// considers only the nodes that index a tensor, if there are any. `first` is the function's first line.
int line_of_nodes(std::string_view source, int first, const std::vector<SourceNode>& nodes, bool by_index);

// Adds the line to findings in compiled code, with role `source` and grade `inferred`. Then leads each of these
// findings with the line inside the function or, if that is unknown, with the line that called the function. `failures`
// has one entry for each finding.
void add_compiled_lines(Diagnosis& report, const std::vector<const analyse::Failure*>& failures);

// Adds the line, with role `eager`, to findings in compiled code. Also adds the cause, with the arguments that prove
// it, if the finding's own cause is less well proven. `failures` has one entry for each finding. Call this after
// add_causes().
void add_eager(Diagnosis& report, const EagerAnswer& eager, const std::vector<const analyse::Failure*>& failures);

// ---- race_findings.cc, host_write_line.cc, misused_memory.cc and race_tensors.cc

// Returns a description of how many pairs of kernels could not be checked for a race, and why; empty if all were
// checked. `settled` is the number of pairs that a rerun has since checked.
std::string unjudged_text(const session::Races& races, std::uint64_t settled = 0);
// Says how many kernels were not checked for races between their own threads; empty if all were.
std::string unchecked_text(const session::Races& races);

// Adds findings for races between streams, one for each pair of lines.
void add_races(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

// Adds one finding for each line that issues a copy whose source the host changed.
void add_host_writes(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

// Adds the calls between which the host changed the memory, and the host's line if it follows from them. Returns what
// the finding's text says about them.
std::string add_host_line(Finding& finding, const session::Race& race, const session::Process& process,
                          const ResolveSite& resolve, const std::string& directory);

// Adds findings for races between tensors, one for each pair of lines. The races come from a run that followed
// PyTorch's operators.
void add_tensor_races(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer);

// Adds the replays of graphs that use memory which PyTorch's allocator has given to another tensor since the capture.
// The Python hook finds them in a run with --graph-memory.
void add_ended_memory(Diagnosis& report, const session::Session& session, const ResolveSite& resolve,
                      symbolize::Symbolizer& symbolizer);
void add_recycled_blocks(Diagnosis& report, const session::Session& session, symbolize::Symbolizer& symbolizer);

// Adds races between threads of one launch.
void add_kernel_races(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);
// Adds findings for kernels that access bytes outside their allocations, even if nothing failed, one for each line and
// kernel.
void add_overruns(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

// ---- non_finite.cc

// Returns text such as "0 / 0 is NaN: element [3,0] of a result float32[8,1], 2 elements in all".
std::string made_of(std::string_view op, const session::DeliveredNonFinite& value,
                    const std::vector<Argument>& arguments);
// Returns advice; empty if we have none.
std::string remedy(std::string_view op, const session::DeliveredNonFinite& value);

// Adds at most one finding for each process, sorted by pid.
void add_non_finite(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer);

// ---- run_context.cc: the parts of a report besides its findings

// If a Python program failed without a CUDA failure, adds a note with the line that forked after CUDA was used. In the
// child, PyTorch raises an error before it calls CUDA.
void note_forks(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                symbolize::Symbolizer& symbolizer);

void add_environment(Diagnosis& report, const session::Session& session);
void add_processes(Diagnosis& report, const session::Session& session);
// Call this after the findings are complete, because the outcome of a pass depends on them.
void add_passes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const symbolize::DeviceTestimony& testimony);
// Adds each note once. Call this after all findings are resolved, because resolving adds the symbolizer's notes.
void add_notes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
               symbolize::Symbolizer& symbolizer);

// If the program was killed, adds a note on the work that had been unfinished for a long time. Call this after
// add_notes().
void add_unfinished(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                    symbolize::Symbolizer& symbolizer);

// Adds a note that the report shows no source lines, and why. Does nothing if `why` is empty.
void mark_foreign(Diagnosis& report, const std::string& why);

// Returns why the report omits source lines of a session that may belong to another user, and how to get them.
std::string withheld_text(const Diagnosis& report);

// ---- dump_access.cc

struct LaneAddress {
  std::array<std::uint32_t, 3> block{}, thread{};
  std::uint64_t address = 0;  // for shared and local memory, an offset in that memory
};

// One of the parameter words that add up to the address.
struct BaseParameter {
  std::uint32_t word = 0;                // byte offset from the beginning of the parameters
  std::optional<std::uint32_t> number;   // number of the parameter, from 1
  std::uint32_t byte = 0;                // byte offset of the word in the parameter
  std::optional<std::uint64_t> value{};  // nullopt if the dump does not contain it
};

struct DumpAccess {
  sass::AccessKind kind = sass::AccessKind::load;
  sass::Space space = sass::Space::global;
  std::uint32_t bytes = 0;  // 0 if unknown
  bool misaligned = false;  // the exception is a misaligned address
  // Sorted by block and thread. The hardware reports whole warps, so some of these accesses may be valid.
  std::vector<LaneAddress> lanes{};
  std::uint64_t unknown = 0;                // number of further threads whose addresses cannot be computed
  std::uint64_t low = 0;                    // how many of these addresses are known to be too low for CUDA's memory
  bool from_memory = false;                 // the address is a pointer that the kernel read from global memory
  std::optional<BaseParameter> table{};     // the only parameter that leads to the memory of that pointer
  std::vector<BaseParameter> parameters{};  // several if the address is a pointer plus offsets in bytes
  std::uint32_t shared_bytes = 0;           // shared memory of a block, including the system's part; 0 if unknown
};

// Computes the access that failed from the failing threads in a GPU core dump and the kernel's code. Needs no
// recording. `code` is nvdisasm's text of the kernel. Returns nullopt if cudadiag does not understand the failing
// instruction.
std::optional<DumpAccess> dump_access(const evidence::DumpedFailure& failure, const std::string& code);

// Returns the parameter that must be the pointer; null if none can be, or if several can.
const BaseParameter* only_parameter(const DumpAccess& access);

// Returns a description such as "load of 4 bytes".
std::string access_words(const DumpAccess& access);
// Returns a name such as "parameter 1" or "parameter 2 at byte 16".
std::string parameter_words(const BaseParameter& parameter);
// Returns lines for `cudadiag core`, such as "load of 4 bytes at 0x8021…, 1.0 TiB after parameter 1 (0x7f21…), block
// 0,0,0 thread 0,0,0".
std::vector<std::string> describe(const DumpAccess& access);

// `argument` is the recorded launch parameter from which the address was computed; null if unknown. `all_known`: every
// allocation of the recorded process is known, so an address outside all of them was never allocated.
Access joined(const DumpAccess& dump, const analyse::OperationArgument* argument, bool all_known);

// Sets the access of the finding whose `device` describes the failure in the dump. `failures` has one entry for each
// finding.
void add_access(Diagnosis& report, const symbolize::DeviceTestimony& testimony,
                const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve);

// Returns true if the finding is a failed access through a parameter of its kernel, and its address is unknown.
bool lacks_address(const Finding& finding);

// Sets the access of the finding whose kernel failed in a replay under compute-sanitizer, if its address is still
// unknown.
void add_replayed_access(Diagnosis& report, const session::Session& session,
                         const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve);

// ---- race_tensors.cc

// Pieces of `width` bytes at begin + i0 * pitch0 + i1 * pitch1 + …, innermost dimension first. Dimensions without gaps
// are merged, so `width` may cover many elements.
struct StridedBytes {
  struct Dimension {
    std::uint64_t count = 1, pitch = 0;  // `pitch` is in bytes
  };
  std::uint64_t begin = 0, width = 0;
  std::vector<Dimension> dimensions;

  std::uint64_t end() const;  // returns one past the last byte
};

// Returns nullopt if the type, shape or strides are unknown, or if elements of the tensor overlap.
std::optional<StridedBytes> strided_bytes(const RaceTensor& tensor);

// Returns nullopt if there are too many pieces to compare. If the tensors do not overlap, `bytes` is 0.
std::optional<RaceOverlap> overlap(const StridedBytes& a, const StridedBytes& b);

// The known facts about one side of a race. `op` is empty if the side is not a PyTorch operator. `tensor` is nullopt if
// the memory belongs to the operator itself.
struct NamedAccess {
  std::string op, schema;
  std::optional<RaceTensor> tensor;
  bool whole = false;  // the operator uses every byte of the tensor's range
};

class RaceTensors {
 public:
  // `session` and `resolve` must outlive this object.
  RaceTensors(const session::Session& session, const ResolveSite& resolve);

  // made() returns true if a rerun searched for the races. cut_short() returns why the rerun was cut short, or an empty
  // string.
  bool made() const { return races_ != nullptr; }
  const std::string& cut_short() const { return cut_short_; }

  // Finds the race between the same sites and parameters in the rerun. A side about which nothing is known is empty.
  // Returns nullopt if the rerun did not show the race.
  struct Pair {
    NamedAccess first, second;
  };
  std::optional<Pair> find(const session::Race& race, const session::Process& process);

 private:
  struct Match {
    const session::Race* race = nullptr;
    const session::Process* process = nullptr;
    bool swapped = false;
  };
  Match match(const session::Race& race, const session::Process& process);
  bool same_side(const session::RaceAccess& a, const session::Process& of_a, const session::RaceAccess& b,
                 const session::Process& of_b);
  NamedAccess name(const session::RaceAccess& access, const session::Process& process, std::uint64_t first_begin);
  const analyse::SiteKeys& keys(const session::Process& process);

  const ResolveSite& resolve_;
  const session::Races* races_ = nullptr;
  const std::vector<session::Process>* processes_ = nullptr;
  std::string cut_short_;
  std::map<const session::Process*, analyse::SiteKeys> keys_;
};

}  // namespace cudadiag::diagnose
