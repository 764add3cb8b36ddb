// `cudadiag report --html`: writes the page to a file or to standard output.
#pragma once

#include <string>

#include "session/session.h"

namespace cudadiag::command {

struct PageRequest {
  // "-" is standard output. If empty, the page goes to a file if `open` is set or standard output is a terminal, and we
  // choose the file's name.
  std::string file;
  bool open = false;        // show the page in a browser; this needs a file
  bool keep_names = false;  // keep home folders, user names and host names
  bool foreign = false;     // also show source lines of a session that may belong to another user
};

// Returns the exit status.
int write_page(const session::Session& session, const PageRequest& request);

}  // namespace cudadiag::command
