// `cudadiag report --html`: writes the page to a file or to standard output.
#pragma once

#include <string>

#include "session/session.h"

namespace cudadiag::command {

struct PageRequest {
  std::string file;         // "-" for standard output; empty to choose: that, or a file if it is a terminal
  bool open = false;        // show it in a browser, which needs a file
  bool keep_names = false;  // keep home folders, user names and host names
  bool foreign = false;     // also show source lines of a session that may belong to somebody else
};

// Returns the exit status.
int write_page(const session::Session& session, const PageRequest& request);

}  // namespace cudadiag::command
