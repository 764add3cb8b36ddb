// The drawings and quotations of a page, which need more of a session than a Diagnosis holds. They are made when a page
// is written, because they look up many call sites. Values only: nothing refers to the session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "diagnose/session_state.h"

namespace cudadiag::diagnose {

// A line with its neighbours, as its file is now. Without lines: the file cannot be read, or was written since.
struct Quotation {
  Location at;
  std::vector<symbolize::SourceLine> lines;
};

// How far an operation got, as far as the first run's record shows.
enum class Progress : std::uint8_t {
  finished,   // by a marker, or because the host waited for it
  failed,     // the finding's own
  suspected,  // one of several that can be the finding's own
  blocked,    // likewise, of a hang
  not_run,    // after the finding's own, in its stream
  not_known,
};

struct DrawnOperation {
  std::size_t column = 0;  // in the order of issue over all streams of the timeline, from 0
  session::Work work = session::Work::call;
  std::string kernel;  // demangled; empty: none, or not known
  Location location;   // of the call that issued it; not known if that was not recorded
  std::uint32_t ordinal = 0;
  double seconds = 0;  // since the process began; 0: not known
  Progress progress = Progress::not_known;
  bool marked = false;          // a completion marker was queued after it
  bool marker_written = false;  // by the GPU
};

struct DrawnStream {
  std::string name;
  std::uint32_t earlier = 0, later = 0;  // operations of it that are not drawn
  std::vector<DrawnOperation> operations;
};

// The operations around a failure or a hang.
struct Timeline {
  std::size_t columns = 0;
  std::vector<DrawnStream> streams;
  std::size_t other_streams = 0;  // that are not drawn
};

// The memory that a process held, up to the call that ran out of it.
struct MemoryCurve {
  struct Point {
    double seconds = 0;       // since the process began
    std::uint64_t bytes = 0;  // held from then on
  };
  std::vector<Point> points;
  double end = 0;  // when the call failed
};

struct FindingPictures {
  std::optional<Quotation> own;     // of the true line
  std::optional<Quotation> blamed;  // where the program noticed, if that is another line
  std::vector<Quotation> accesses;  // of a race: the two, in the order of issue
  std::optional<Timeline> timeline;
  std::optional<MemoryCurve> memory;
};

// One for each finding of the state's diagnosis, in its order.
std::vector<FindingPictures> pictures_of(SessionState& state);

}  // namespace cudadiag::diagnose
