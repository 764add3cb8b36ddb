// A session: the folder in which `cudadiag run` stores what it recorded.
//
//   20261121-101500-4711.incomplete/   renamed without the suffix once the manifest is in place
//     manifest.json                    command, host, passes, how each process ended
//     races.json                       races between streams, if the run looked for them
//     arena, running.json              while the run is in progress (session/session_folders.h)
//     record/PID.area                  one area per process (wire/area.h), with holes for zero pages
//     record/kernel-code.json          machine code of kernels that may have failed
//     record/PID.log                   every operation of the process, if requested (session/full_log.h)
//     confirm/PID.area                 the same for a rerun; confirm-2, … for further reruns
//     confirm/PID.values               the Python hook's output in the rerun (wire/rerun.h)
//     confirm/PID.inputs/              the failing call with its tensors, and replay.py, which repeats the call
//     confirm/output.txt               what the rerun wrote to stdout and stderr
//     device/PID.gpucore               a rerun without the recorder: the GPU core dump, and output.txt
//     eager/PID.area                   a rerun without torch.compile
//     races/PID.area, races.json       a rerun that looked for the same races, with PID.values
//     sanitize/compute-sanitizer.txt   a rerun under compute-sanitizer: its log, and output.txt
//     device/cuda-gdb.txt              what NVIDIA's debugger printed about the dump, if requested
//
// All modes are 0700 or 0600. Errors are returned as base::Error: what happened, to what, and what to do.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/found_races.h"
#include "session/hook_output.h"
#include "session/process_record.h"
#include "session/saved_results.h"

namespace cudadiag::session {

// The kinds of passes. Their names are used in manifests, folder names, environment variables and reports.
enum class PassKind {
  record,    // the first run
  confirm,   // a rerun that waits for operations
  device,    // without the recorder, to get a GPU core dump
  eager,     // without torch.compile
  sanitize,  // under compute-sanitizer
  memory,    // asks PyTorch's allocator what holds its memory
  races,     // looks for the tensors that are involved in races
  origin,    // traces a bad value back
  launch,    // saves the failing launch
  other,     // a word in a manifest that this version does not know
};

std::string_view word(PassKind kind);
std::optional<PassKind> pass_kind(std::string_view word);

// Why cudadiag ended a pass early.
enum class CutShort {
  interrupted,  // by the user or a signal
  time_limit,
  first_race,
  first_failure,   // with --end-on-failure
  issued_nothing,  // it issued no GPU work for longer than the first run ever did
  asked_terminal,  // it waited for terminal input that no one could provide
  other,           // a word in a manifest that this version does not know
};

std::string_view word(CutShort reason);
// "" for nullopt, and the reverse.
std::string_view word(const std::optional<CutShort>& reason);
std::optional<CutShort> cut_short(std::string_view word);

struct ProcessEnd {
  std::optional<int> code;    // exit status
  std::optional<int> signal;  // signal that killed it
};

// One of the target's processes in one pass.
struct Process {
  std::uint32_t pid = 0, parent_pid = 0;
  std::vector<std::string> argv;
  std::optional<int> rank;
  std::optional<ProcessEnd> end;  // known if the launcher started or reaped the process
  ProcessRecord record;
  std::vector<Delivery> deliveries;  // for a rerun: the output of its Python hook
  std::filesystem::path log;         // its full log; empty if there is none
};

// An external program that examined the files of a pass.
struct Witness {
  ProcessEnd end;
  std::string cut_short;  // why cudadiag ended the program early; empty if it did not
  double seconds = 0;
};

// The outcome of the script that repeats a saved call, according to its exit status
// (lib/supervise/reruns/replay_script.py).
enum class ReplayOutcome { not_run, reproduces, does_not_reproduce, not_possible };
ReplayOutcome replay_outcome(const std::optional<Witness>& replay);

// The access at which a saved launch failed under compute-sanitizer. The addresses are those of the process that saved
// the launch.
struct FoundAccess {
  std::string why{};                     // why the replay shows no address; then the other members are empty
  std::string kernel{}, function{};      // mangled
  std::uint64_t offset = 0;              // offset of the instruction in `function`
  std::string mode{};                    // "read", "write" or "atomic"
  std::uint64_t address = 0, bytes = 0;  // `bytes`: size of the access
  bool misaligned = false;
  // The parameter from which the address was computed: its number (from 1), the byte offset of the pointer among all
  // parameters and in this one, and the pointer. The number is 0 if the address was not computed from a parameter.
  std::uint32_t parameter = 0, word = 0, byte = 0;
  std::uint64_t pointer = 0;
  std::array<std::uint32_t, 3> block{}, thread{};
  double seconds = 0;  // duration of the replay

  bool operator==(const FoundAccess&) const = default;
};

// Actions that an isolated rerun cannot perform outside its own folders.
enum class Deed : std::uint8_t {
  write,
  make,
  remove,
  rename,
  link,
  change,  // mode, owner, times or attributes of a file; limits of a process
  connect,
  listen,
  send,
  signal,
  trace,
  share,       // use memory or messages that all processes share, or leave the isolation
  administer,  // change the state of the machine
};

struct KeptFrom {
  Deed deed = Deed::write;
  std::string object;  // an absolute path, an address, a process, or a description
  bool operator==(const KeptFrom&) const = default;
};

// One run of the command. The first is the record pass; all others are reruns.
struct Pass {
  PassKind kind = PassKind::confirm;
  std::string folder;  // name in the session: "record", "confirm-2"
  std::string waits;   // for a rerun: what it waited for, in words; empty if it waited for nothing
  double seconds = 0;
  ProcessEnd end;
  std::optional<double> failed_after;   // seconds from start to the first freeze
  std::string dump;                     // for a device pass: the GPU core dump in its folder; empty if none was written
  std::optional<CutShort> cut_short;    // nullopt if it was not ended early
  std::optional<Witness> debugger{};    // for a device pass: the run of cuda-gdb on its dump
  std::vector<std::string> kernels{};   // for a sanitize pass: the mangled names of the checked kernels
  std::optional<Witness> replay{};      // for a confirm pass: the run of the script that repeats the failing call
  std::optional<FoundAccess> access{};  // for a pass that saved a launch: its replay under compute-sanitizer
  // Source files that were edited between the first run and this rerun. The paths are those in the records.
  std::vector<std::string> rewritten{};
  // Other files that were not as they were when the first run began. Logs do not count.
  std::vector<std::string> otherwise{};
  bool values = false;    // for a rerun: it was started to read Python values
  bool isolated = false;  // for a rerun: it could change nothing outside its own folders
  // The actions that the isolation of a rerun prevented, without duplicates, in the order of the first attempts.
  std::vector<KeptFrom> kept_from{};
};

// A rule set by the user: whether a file or folder contains the user's own code.
struct CodeRule {
  std::string path;  // absolute, without a slash at the end
  bool user = true;
};

// Another process on a GPU on which this command ran out of memory, as listed by NVML after the command had ended.
struct GpuProcess {
  std::string device;  // its PCI bus id
  std::uint32_t pid = 0;
  std::string name;
  std::uint64_t bytes = 0;
};

// The Python frames of a blocked thread, innermost first.
struct HostStack {
  std::uint32_t pid = 0, tid = 0;
  std::vector<DeliveredFrame> frames;
};

// An operation that hung while the program ran (`--on-hang=report`) or when it was interrupted. The records of an
// operation may be overwritten in their ring before the program ends. Each stall therefore has copies of the records
// that it needs.
struct Stall {
  std::uint32_t pid = 0;
  std::uint64_t started = 0;          // ProcessRecord::start_realtime of its process
  double seconds = 0;                 // how long the operation had hung when it was reported
  std::optional<double> ended_after;  // seconds until it ended; nullopt if no end was observed
  std::vector<Operation> operations;  // candidates for the one that hangs, most likely first; with the process's ids
  std::vector<std::string> because;   // clauses that give the reasons
  bool certain = false;               // no other operation can be the one that hangs
  bool interrupted = false;           // it was reported because a signal asked the program to end
  // If the operation waits for another stream, one of these is the operation that it waits for.
  std::optional<Operation> recorded;  // the event record
  std::optional<Operation> write;     // the write of the value
  // The thread that waits for the operation; nullopt if no thread does.
  std::optional<Thread> thread;
  std::uint32_t site = 0;           // site of the call in which the thread waits
  std::optional<Operation> issues;  // the operation that this call issues
};

struct Manifest {
  std::vector<std::string> command;
  // The options of cudadiag itself, each as one word, such as "--repeat=5". The first of `options` is the subcommand.
  std::vector<std::string> options;
  std::vector<std::string> rerun_options;  // those that `cudadiag bisect` has too, as given to the latest command
  std::string working_directory;
  std::string host;
  std::string started;  // ISO 8601, UTC
  std::vector<Pass> passes;
  bool python_stacks = true,
       native_stacks = true;                 // as requested; also apply to reruns, because stacks identify sites
  std::string watch_by;                      // "cupti" or "hooks" if the options demand one; applies to reruns too
  std::map<std::uint32_t, ProcessEnd> ends;  // by pid: the command's process, and orphans that the launcher reaped
  std::vector<CodeRule> code_rules;          // among equally specific rules, the last one applies
  std::vector<GpuProcess> gpu_processes;
  std::optional<double> hang;                 // seconds without progress after which the command was ended
  std::vector<Stall> stalls;                  // in the order in which they were found
  bool asked_to_end = false;                  // the launcher received a signal to end, for example from the terminal
  std::set<std::uint32_t> ended_before_hang;  // pids of processes that had ended before the run hung
  std::vector<HostStack> host_stacks;         // of threads that had issued GPU work, read when the run hung
  std::set<std::uint32_t> outlived_by;        // pids of processes that outlived the command
  std::string unrecorded;                     // why the command ran without being recorded; empty if it was recorded
  int ranks = 1;                              // of the job in which the command is one rank; 1 if it is in none
  bool input_read = false;                    // the command read its standard input, which was a file or a pipe
  bool whole = true;                          // false if processes were not recorded for lack of room
  std::vector<std::string> notes;  // notes of the launcher: replaced injections, folders that could not be written
};

struct Session {
  std::filesystem::path folder;
  Manifest manifest;
  std::vector<Process> processes;       // of the record pass, sorted by start time
  std::optional<Races> races;           // of the record pass; nullopt if it did not look for races
  std::vector<KernelCode> kernel_code;  // known code of kernels that may have failed in the record pass
  // The processes of the reruns: element i belongs to manifest.passes[i + 1].
  std::vector<std::vector<Process>> reruns;
  std::vector<std::optional<Races>> rerun_races;  // of the reruns; nullopt if a rerun did not look for races
  // False if part of the run is missing or the run is still in progress. The absence of a failure then proves nothing.
  bool whole = true;
};

// Returns the first process with this id, or null. A process that replaced itself by exec appears twice.
inline const Process* process_of(const std::vector<Process>& processes, std::uint32_t pid) {
  const auto found = std::ranges::find(processes, pid, &Process::pid);
  return found == processes.end() ? nullptr : &*found;
}

// Returns the rerun in `session.reruns` that `process` belongs to, or null. The rerun is const if the session is.
template <typename AnySession>
auto rerun_of(AnySession& session, const Process* process) -> decltype(&session.manifest.passes[0]) {
  for (std::size_t i = 0; i < session.reruns.size() && i + 1 < session.manifest.passes.size(); ++i) {
    for (const Process& each : session.reruns[i]) {
      if (&each == process) return &session.manifest.passes[i + 1];
    }
  }
  return nullptr;
}

// Returns whether the process is still alive, for a session without a launcher. `session` is the folder that contains
// the process's area. A process maps its area for as long as it records. A different process with the same pid does not
// map that area.
std::optional<bool> lives(const std::filesystem::path& session, const ProcessRecord& record);

// Processes that were forked after their parent had used CUDA, as noted by their recorders. All driver calls of these
// processes fail.
struct ForkOrigin {
  const Process* parent = nullptr;
  std::uint32_t site = 0;  // where the parent forked; 0 if unknown
};

bool is_fork(const ProcessRecord& record);
std::optional<std::uint32_t> latest_fork(const ProcessRecord& record);
std::optional<ForkOrigin> fork_origin(const Session& session, const Process& process);

// ---- manifest.cc
//
// Reads and writes manifest.json, in which the launcher stores what it knows about a session. The format is
// "cudadiag.session/1".

// The hint in an error about a manifest that cannot be used.
inline constexpr const char* kMoveManifestAway = "move it away to read the session without its reruns";

inline constexpr std::uint64_t kMostManifestBytes = 64u << 20;

// Returns whether the text is a cudadiag manifest of any version; parse_manifest may still reject it.
bool is_manifest(std::string_view text);

std::string_view word(Deed deed);

// Returns a time in the form that manifests and reports use, such as "2026-11-21T10:15:00Z".
std::string iso_time(std::time_t time);

std::string write_manifest(Manifest manifest);

// Members that are missing or have the wrong type keep their default. Returns an error only if the text is not a
// manifest of this version.
base::Result<Manifest> parse_manifest(std::string_view text);

}  // namespace cudadiag::session
