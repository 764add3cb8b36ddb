// The unfinished work and the waits of a run at one moment, worded and resolved: while it runs, or at its end.
// The writers are in report/status/status_text.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/hangs/unfinished_work.h"
#include "diagnose/diagnosis.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// An operation that is not known to have finished.
struct OpenOperation {
  session::Work operation = session::Work::call;
  std::string kernel;  // demangled
  std::uint32_t ordinal = 0;
  std::optional<std::uint64_t> site_ordinal;
  std::optional<double> seconds;  // since it was issued
  Location location;
  bool candidate = false;  // it may be what blocks its stream
};

// Another party's action that an operation waits for.
struct OpenWait {
  WaitsFor kind = WaitsFor::stream;
  std::uint32_t ordinal = 0;
  std::string text;  // "for operation 12 of stream 0x55d0c8, recorded at train.py:40"
};

struct OpenStream {
  std::string name;
  std::uint64_t handle = 0;
  std::optional<std::uint32_t> device;
  std::uint32_t issued = 0, completed = 0;
  bool proven = false;  // that anything of it is unfinished
  analyse::Grade grade = analyse::Grade::suspected;
  std::uint32_t candidates = 0;           // operations that may block it
  std::uint32_t missing = 0;              // among them, lost records
  std::vector<OpenOperation> operations;  // the oldest ones
  std::uint32_t more = 0;                 // that follow them
  std::vector<OpenWait> waits;
  std::vector<std::string> may_wait_for;  // streams, without a wait: as the legacy default stream has it
};

struct OpenCall {
  std::uint32_t tid = 0;
  std::string thread;     // its name
  std::string call;       // "cudaStreamSynchronize", as the program made it
  std::string waits_for;  // "stream 0x55d0c8"; empty: not known
  std::optional<double> seconds;
  Location location;
  symbolize::SourceStack stack;
};

struct ProcessStatus {
  std::uint32_t pid = 0;
  std::optional<int> rank;
  std::vector<std::string> argv;
  wire::area::State state = wire::area::State::empty;
  std::uint64_t operations = 0;
  std::optional<double> idle;  // seconds since the newest operation was issued
  std::uint64_t errors = 0;    // calls that returned one
  bool outlived = false;       // it outlived the command
  std::vector<OpenStream> streams;
  std::vector<OpenCall> calls;
};

struct Status {
  std::optional<bool> goes_on = false;  // nothing: not known
  std::optional<double> seconds;        // since the first process began
  std::string session, working_directory;
  std::vector<std::string> command;
  std::vector<ProcessStatus> processes;
  std::vector<std::string> notes;
  std::string unrecorded;  // why it was run without recording; empty: it was not
  bool whole = true;       // false: part of a finished run is missing; the notes say what
};

// `analysis`: of the session, if the run is over. A run in progress is read often, and needs none.
Status build_status(const session::Session& session, const analyse::Analysis& analysis, std::optional<bool> goes_on,
                    symbolize::Symbolizer& symbolizer);

// "until the word at 0x7f40 equals 1; no stream has a write to it queued"
std::string wait_text(const session::Process& process, const analyse::StreamWait& wait,
                      symbolize::Symbolizer& symbolizer, const std::string& directory);

// The grade of the answer which operation blocks a stream.
analyse::Grade grade_of(const analyse::UnfinishedStream& stream);

// The oldest work that is known to have been unfinished for a second or more when its program ended; empty: none.
std::string unfinished_text(const Status& status);

}  // namespace cudadiag::diagnose
