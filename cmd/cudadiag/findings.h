// From a session to what is said about it.
#pragma once

#include <functional>
#include <string>

#include "report/report.h"
#include "report/text.h"
#include "session/session.h"

namespace cudadiag::command {

// The report on `session`, restricted to failures of processes that `wanted` takes.
report::Report examine(const session::Session& session,
                       const std::function<bool(const session::Process&)>& wanted = {});

// The same for a session that lies somewhere and may be somebody else's: then without source lines, and the report says
// why. `trusted`: the user says that it is not.
report::Report examine_found(const session::Session& session, bool trusted);

// One sentence on the oldest work that is known to have been unfinished for a second or more when its process ended, if
// there is any.
void tell_unfinished(const session::Session& session, bool kept);

// What an earlier run has left there is no report of this one, which may not come to write its own.
void empty_older_report(const std::string& path);

// Says so where it cannot be written.
void write_json_file(const report::Report& report, const std::string& path);

// What to wait for in a run that is to catch what this session saw (wire/window.h).
session::Result<std::string> window_of_session(const std::string& session, const std::optional<std::string>& output);

}  // namespace cudadiag::command
