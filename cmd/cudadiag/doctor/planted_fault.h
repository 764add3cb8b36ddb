// Facts that only a test on a GPU can show. Child processes query the driver, and run a kernel that fails. This
// process never initialises CUDA, because a driver that hangs or crashes must not affect it.
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

// The libcupti that the recorder uses in a process that has not loaded one itself.
struct CuptiReport {
  std::string path, version;
  std::string problem;                                // empty if one was found
  analyse::NoteCode note = analyse::NoteCode::other;  // the recorder's code for the problem
};

CuptiReport ask_recorder();

struct Proof {
  // not_known: another problem prevents the test and has already been reported.
  enum class Outcome { works, problem, not_known };
  std::string what, found, fix;  // `fix` is set if there is a problem
  Outcome outcome = fix.empty() ? Outcome::works : Outcome::problem;
};

// Runs the planted fault twice: under `cudadiag run`, and without the recorder but with GPU core dumps enabled.
std::vector<Proof> prove_with_planted_fault();

// The hidden child commands: "driver" prints what ask_driver() reads, "fault" runs the planted fault.
int doctor_child(const std::string& mode);

}  // namespace cudadiag::command
