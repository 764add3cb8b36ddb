// Facts that only a try on the GPU can find out: children of this program ask the driver, and run a kernel that fails.
// CUDA is never initialised in this process: a driver that hangs or crashes must not take us along.
#pragma once

#include <string>
#include <vector>

#include "analyse/note_code.h"

namespace cudadiag::command {

struct DriverReport {
  bool library_found = false;
  std::string problem;  // empty if cuInit works
  std::string version;
  std::vector<std::string> gpus;
};

DriverReport ask_driver();

// The libcupti that the recorder takes in a process that has loaded none itself.
struct CuptiReport {
  std::string path, version;
  std::string problem;                                // empty if one was taken
  analyse::NoteCode note = analyse::NoteCode::other;  // the recorder's code of that
};

CuptiReport ask_recorder();

struct Proof {
  // not_known: something else is the problem, and has been named.
  enum class Outcome { works, problem, not_known };
  std::string what, found, fix;  // a fix where it is a problem
  Outcome outcome = fix.empty() ? Outcome::works : Outcome::problem;
};

// Runs the planted fault under `cudadiag run` and, without the recorder, with GPU core dumps on.
std::vector<Proof> prove_with_planted_fault();

// The hidden children: "driver" prints what ask_driver() reads, "fault" runs the planted fault.
int doctor_child(const std::string& mode);

}  // namespace cudadiag::command
