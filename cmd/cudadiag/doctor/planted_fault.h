// Finds out what only a test on a GPU can show. Child processes query the driver, and run a kernel that fails. This
// process itself never initialises CUDA, so a driver that hangs or crashes does not affect it.
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

// The libcupti that the recorder would use in a process that has not loaded one.
struct CuptiReport {
  std::string path, version;
  std::string problem;                                // empty if there is one
  analyse::NoteCode note = analyse::NoteCode::other;  // the recorder's code for the problem
};

CuptiReport ask_recorder();

struct Proof {
  // not_known: another problem, which has been reported already, prevents the test.
  enum class Outcome { works, problem, not_known };
  std::string what, found, fix;  // `fix` is empty unless there is a problem
  Outcome outcome = fix.empty() ? Outcome::works : Outcome::problem;
};

// Runs the planted fault twice: under `cudadiag run`, and then without the recorder but with GPU core dumps switched
// on.
std::vector<Proof> prove_with_planted_fault();

// Runs a hidden command in a child: "driver" prints what ask_driver() reads, and "fault" runs the planted fault.
// Returns the exit status.
int doctor_child(const std::string& mode);

}  // namespace cudadiag::command
