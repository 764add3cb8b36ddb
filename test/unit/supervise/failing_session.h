// Builds sessions with one failing process, for tests of reruns.
#pragma once

#include "session/session.h"
#include "unit/analyse/picture_builder.h"

namespace cudadiag::supervise {

// Builds a stream with `open` unfinished operations. Each launches a different kernel: "kernel1", "kernel2" and so on.
inline session::Session failing_session(int open = 2, std::uint32_t code = 700) {
  analyse::PictureBuilder picture(code);
  const auto stream = picture.stream(0);
  for (int i = 1; i <= open; ++i) picture.issue_at(picture.site("kernel" + std::to_string(i)), stream);
  session::Session session;
  session.manifest.working_directory = "/";
  session::Pass record;
  record.kind = session::PassKind::record;
  record.folder = "record";
  record.seconds = 10;
  record.end.code = 1;
  session.manifest.passes.push_back(record);
  session.processes.push_back(picture.process);
  return session;
}

inline session::Pass rerun_pass(session::PassKind kind) {
  session::Pass pass;
  pass.kind = kind;
  pass.folder = session::word(kind);
  return pass;
}

}  // namespace cudadiag::supervise
