// A session: the folder in which one `cudadiag run` leaves what it saw.
//
//   20261121-101500-4711.incomplete/   renamed without the suffix once the manifest is in place
//     manifest.json                    command, host, passes, processes' ends
//     races.json                       races between streams, where they were looked for
//     arena, running.json              while the run goes on (session/area/live_place.h)
//     record/PID.area                  one area per process (wire/area.h), zero pages left out as holes
//     record/PID.log                   every operation of it, where that was asked for (session/log/log_codec.h)
//     confirm/PID.area                 the same of a rerun; confirm-2, … of further ones
//     confirm/PID.values               what Python code of ours told there (wire/rerun/delivery.h)
//     confirm/PID.inputs/              the failing call with its tensors, and replay.py that makes it again
//     confirm/output.txt               what the rerun wrote to stdout and stderr
//     device/PID.gpucore               of a rerun without the recorder: the GPU core dump, and output.txt
//     eager/PID.area                   of a rerun without torch.compile
//     races/PID.area, races.json       of a rerun that looked for the same races, with PID.values
//     sanitize/compute-sanitizer.txt   of a rerun under compute-sanitizer: its log, beside output.txt
//     device/cuda-gdb.txt              what NVIDIA's debugger printed of it, where that was asked for
//
// Everything is 0700/0600. Errors are returned as base::Error: what happened, to what, and what to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/notes/deliveries.h"
#include "session/notes/races.h"
#include "session/notes/stalls.h"
#include "session/pass_kind.h"
#include "session/process_record.h"

namespace cudadiag::session {

struct ProcessEnd {
  std::optional<int> code;    // exit status
  std::optional<int> signal;  // or the signal that ended it
};

// One process of the target as a pass saw it.
struct Process {
  std::uint32_t pid = 0, parent_pid = 0;
  std::vector<std::string> argv;
  std::optional<int> rank;
  std::optional<ProcessEnd> end;  // known for the process that the launcher started, and those it reaped
  ProcessRecord record;
  std::vector<Delivery> deliveries;  // of a rerun, from inside Python
  std::filesystem::path log;         // its full log; empty: there is none
};

// A foreign program that read what a pass left.
struct Witness {
  ProcessEnd end;
  std::string cut_short;  // why it was ended before its time
  double seconds = 0;
};

// A rerun may not do these things outside its own folders.
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
  share,       // memory and messages of all processes, and what leads out of the isolation
  administer,  // the machine itself
};

struct KeptFrom {
  Deed deed = Deed::write;
  std::string object;  // an absolute path, an address, a process or a thing in words
  bool operator==(const KeptFrom&) const = default;
};

// One run of the command. The first is the record pass, all others are reruns.
struct Pass {
  PassKind kind = PassKind::confirm;
  std::string folder;  // in the session: "record", "confirm-2"
  std::string waits;   // of a rerun: what it waited for, in words; empty: nothing
  double seconds = 0;
  ProcessEnd end;
  std::optional<double> failed_after;  // seconds from start to the first freeze
  std::string dump;                    // of a device pass: the GPU core dump in its folder; empty: none was written
  std::optional<CutShort> cut_short;   // nothing: it was not ended early
  std::optional<Witness> debugger{};   // of a device pass: cuda-gdb over its dump
  std::vector<std::string> kernels{};  // of a sanitize pass: the kernels that were checked, mangled
  std::optional<Witness> replay{};     // of a confirm pass: the script that makes the failing call again
  // For a rerun: files of the recorded code, named as in the records, that were written after the first run.
  std::vector<std::string> rewritten{};
  bool values = false;    // of a rerun: it was to take values inside Python
  bool isolated = false;  // of a rerun: it could change nothing
  // The things that an isolated rerun could not change: each once, in the order in which it tried.
  std::vector<KeptFrom> kept_from{};
};

// The user's rule about a file or folder: whose code lies there.
struct CodeRule {
  std::string path;  // absolute, without a slash at the end
  bool user = true;
};

// Another process on a GPU on which this command ran out of memory, as NVML listed it when the command had ended.
struct GpuProcess {
  std::string device;  // its PCI bus id
  std::uint32_t pid = 0;
  std::string name;  // empty: not known
  std::uint64_t bytes = 0;
};

// The Python frames of a thread that stood still, innermost first.
struct HostStack {
  std::uint32_t pid = 0, tid = 0;
  std::vector<DeliveredFrame> frames;
};

struct Manifest {
  std::vector<std::string> command;
  std::string working_directory;
  std::string host;
  std::string started;  // ISO 8601, UTC
  std::vector<Pass> passes;
  bool python_stacks = true,
       native_stacks = true;                 // were to be recorded: in the reruns too, because stacks identify sites
  std::string watch_by;                      // "cupti" or "hooks": as the user chose, for reruns too; empty: either
  std::map<std::uint32_t, ProcessEnd> ends;  // by pid: the process that was started, and orphans that were reaped
  std::vector<CodeRule> code_rules;          // of equally specific ones the later holds
  std::vector<GpuProcess> gpu_processes;
  std::optional<double> hang;                 // seconds without progress after which it was ended
  std::vector<Stall> stalls;                  // found while it ran, in this order
  bool asked_to_end = false;                  // somebody asked the launcher to end it: at the terminal, say
  std::set<std::uint32_t> ended_before_hang;  // pids of processes that were no more by then
  std::vector<HostStack> host_stacks;         // read when it hung, of threads that had given the GPU work
  std::set<std::uint32_t> outlived_by;        // pids of processes that outlived the command and are no longer watched
  std::string unrecorded;                     // why the command was run without recording; empty: it was not
  bool input_read = false;                    // the command took from its standard input, a file or a pipe
  bool whole = true;                          // false: processes were left out for lack of room
  std::vector<std::string> notes;  // launcher's own: injections that were replaced, folders that could not be written
};

struct Session {
  std::filesystem::path folder;
  Manifest manifest;
  std::vector<Process> processes;  // record pass, by start time
  std::optional<Races> races;      // of the record pass; nothing: they were not looked for
  // The processes of the reruns: element i belongs to manifest.passes[i + 1].
  std::vector<std::vector<Process>> reruns;
  std::vector<std::optional<Races>> rerun_races;  // likewise; nothing: they were not looked for
  // False: part of the run is missing, or it is still in progress; an empty result then proves nothing.
  bool whole = true;
};

}  // namespace cudadiag::session
