// The data of the drawings and quotations on an HTML page. They are not part of a Diagnosis: resolving many call sites
// takes time, so they are computed only for a page. They do not refer to the session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "diagnose/session_state.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// A line and its neighbours, as the file is now. `lines` is empty if the file cannot be read or has changed since the
// run.
struct Quotation {
  Location at;
  std::vector<symbolize::SourceLine> lines;
};

// How far an operation got, according to the recording of the first run.
enum class DrawnProgress : std::uint8_t {
  finished,   // according to a marker or a wait on the host
  failed,     // the finding's operation
  suspected,  // may be the finding's operation, as may others
  blocked,    // as `suspected`, for a hang
  not_run,    // queued after the finding's operation, on its stream
  not_known,
};

struct DrawnOperation {
  std::size_t column = 0;  // order of issue over all streams of the timeline, from 0
  session::Work work = session::Work::call;
  std::string kernel;  // demangled; empty if none or unknown
  Location location;   // location of the call that issued it, if recorded
  std::uint32_t ordinal = 0;
  double seconds = 0;  // time of issue, since the process began; 0 if unknown
  DrawnProgress progress = DrawnProgress::not_known;
  bool marked = false;          // a completion marker was queued after it
  bool marker_written = false;  // the GPU wrote that marker
};

struct DrawnStream {
  std::string name;
  std::uint32_t earlier = 0, later = 0;  // operations that are not drawn, before and after these
  std::vector<DrawnOperation> operations;
};

// The operations around a failure or a hang.
struct Timeline {
  std::size_t columns = 0;
  std::vector<DrawnStream> streams;
  std::size_t other_streams = 0;  // streams that are not drawn
};

// How much memory a process held over time, up to the call that ran out of memory.
struct MemoryCurve {
  struct Point {
    double seconds = 0;       // time since the process began
    std::uint64_t bytes = 0;  // held from that time on
  };
  std::vector<Point> points;
  double end = 0;  // seconds at which the call failed
};

struct FindingPictures {
  std::optional<Quotation> own;     // the true line
  std::optional<Quotation> blamed;  // the line where the program noticed the failure, if different
  std::vector<Quotation> accesses;  // for a race: both accesses, in the order of issue
  std::optional<Timeline> timeline;
  std::optional<MemoryCurve> memory;
};

// Returns one entry for each finding of the state's diagnosis, in the same order.
std::vector<FindingPictures> pictures_of(SessionState& state);

}  // namespace cudadiag::diagnose
