// The data of `cudadiag status`: the unfinished work and the waits of a run at one moment, or at its end. The writers
// are in report/status.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/unfinished_work.h"
#include "diagnose/facts/report_model.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// An operation that may be unfinished.
struct UnfinishedOperation {
  session::Work operation = session::Work::call;
  std::string kernel;  // demangled
  std::uint32_t ordinal = 0;
  std::optional<std::uint64_t> site_ordinal;
  std::optional<double> seconds;  // time since it was issued
  Location location;
  bool candidate = false;  // may block its stream
};

// An operation's wait for something outside its stream.
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
  bool proven = false;  // some work on the stream is certainly unfinished
  analyse::Fact known_by = analyse::Fact::rule;
  std::uint32_t candidates = 0;                 // operations that may block the stream
  std::uint32_t missing = 0;                    // candidates without a record
  std::vector<UnfinishedOperation> operations;  // the oldest ones only
  std::uint32_t more = 0;                       // how many operations follow `operations`
  std::vector<OpenWait> waits;
  std::vector<std::string> may_wait_for;  // streams for which this stream may wait implicitly
};

struct OpenCall {
  std::uint32_t tid = 0;
  std::string thread;     // name of the thread
  std::string call;       // "cudaStreamSynchronize", as the program called it
  std::string waits_for;  // "stream 0x55d0c8"; empty if unknown
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
  std::optional<double> idle;  // time since the process issued its newest operation
  std::uint64_t errors = 0;    // calls that returned an error
  bool outlived = false;       // still running when the command ended
  std::vector<OpenStream> streams;
  std::vector<OpenCall> calls;
};

struct Status {
  std::optional<bool> goes_on = false;  // nullopt if unknown
  std::optional<double> seconds;        // how long the run took or, while it runs, has taken; see `since_cuda`
  bool since_cuda = false;              // `seconds` is the time since the first process initialised CUDA
  std::string session, working_directory;
  std::vector<std::string> command;
  std::vector<ProcessStatus> processes;
  std::vector<std::string> notes;
  std::string unrecorded;        // why the program was run without recording; empty if it was recorded
  bool crashed_at_dump = false;  // see analyse::may_have_crashed_at_dump()
  bool whole = true;             // if false, part of a finished run is missing, and the notes say which
};

// If the run has ended, `analysis` is the analysis of `session`. A run in progress needs no analysis, so pass an empty
// one.
Status build_status(const session::Session& session, const analyse::Analysis& analysis, std::optional<bool> goes_on,
                    symbolize::Symbolizer& symbolizer);

// Describes a wait: "until the word at 0x7f40 equals 1; no stream has queued a write to it".
std::string wait_text(const session::Process& process, const analyse::StreamWait& wait,
                      symbolize::Symbolizer& symbolizer, const std::string& directory);

// How the operation that blocks a stream is known.
analyse::Fact known_by(const analyse::UnfinishedStream& stream);

// The oldest work that is certainly unfinished.
struct OldestWork {
  std::string text;  // "spin<float> at train.py:41, forward"
  double seconds = 0;
};

// Returns nullopt if there is none. With `pid`, considers only this process.
std::optional<OldestWork> oldest_work(const Status& status, std::optional<std::uint32_t> pid = {});

// Returns text about the oldest work that had been unfinished for at least a second when its program ended; empty if
// there is none. With `crashed_at_dump`, the work may be newer: the crash follows the exception at once.
std::string unfinished_text(const Status& status);

}  // namespace cudadiag::diagnose
