// Finds the statement that changed host memory between two calls of a thread, from the text of the program's sources.
//
// A statement is named only if it writes through an index, a pointer or a known function, and if no other statement
// that the thread may have executed between the calls can write to memory that is not its own. A statement that calls a
// function of the program can. Statements that only call CUDA cannot, because the recorder would have seen their call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "diagnose/facts/report_model.h"
#include "diagnose/line_resolver.h"
#include "session/process_record.h"
#include "session/session.h"
#include "symbolize/source_frame.h"

namespace cudadiag::diagnose {

// Returns the only statement between two calls of a thread that can have written to memory which is not its own, as far
// as the text of the sources shows. Nullopt if there is none, or if there may be others. The thread made the call with
// the call `before` next after the call `after`.
struct PlacedCall {
  std::uint32_t site = 0;
  Location location;  // its true line
  symbolize::SourceStack stack;
};
std::optional<Location> writing_statement(const session::ProcessRecord& record, const PlacedCall& after,
                                          const PlacedCall& before);

// Adds the calls between which the host changed the memory, and the host's line if it follows from them. Returns what
// the finding's text says about them.
std::string add_host_line(Finding& finding, const session::Race& race, const session::Process& process,
                          const ResolveSite& resolve, const std::string& directory);

}  // namespace cudadiag::diagnose
