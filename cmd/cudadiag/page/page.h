// `cudadiag report --html`: the page as a file, or on standard output.
#pragma once

#include <string>

#include "session/session.h"

namespace cudadiag::command {

struct PageRequest {
  std::string file;         // "-": standard output; empty: that, or at a terminal a file named after the session
  bool open = false;        // show it in a browser; then it is always a file
  bool keep_names = false;  // home folders, user and host names stay in it
  bool foreign = false;     // also show source lines of a session that may be somebody else's
};

// The exit status.
int write_page(const session::Session& session, const PageRequest& request);

}  // namespace cudadiag::command
