// Checks a GPU and its driver, above all for `cudadiag doctor`. Child processes query the driver and run a failing
// kernel. This process never initialises CUDA, so a driver that hangs or crashes cannot affect it.
#pragma once

#include <string>
#include <vector>

#include "analyse/notes.h"

namespace cudadiag::command {

struct DriverReport {
  bool library_found = false;
  std::string problem;  // empty if cuInit succeeds
  std::string version;
  std::vector<std::string> gpus;
  bool mps = false;  // the driver shares a GPU through MPS
};

DriverReport ask_driver();

// The libcupti that the recorder would load in a process that has not loaded one itself.
struct CuptiReport {
  std::string path, version;
  std::string problem;                                // why no libcupti is usable; empty if one is
  analyse::NoteCode note = analyse::NoteCode::other;  // the recorder's code for `problem`
  bool by_hooks = false;                              // the recorder works without it
};

CuptiReport ask_recorder();

struct Proof {
  // not_known: the test could not run, because of a problem that has already been reported
  enum class Outcome { works, problem, not_known };
  std::string what, found, fix;  // `fix` is empty if there is no problem
  Outcome outcome = fix.empty() ? Outcome::works : Outcome::problem;
};

// Runs a failing kernel twice: under `cudadiag run`, and then without the recorder but with GPU core dumps enabled.
std::vector<Proof> prove_with_planted_fault();

// Runs a hidden command in a child process and returns its exit status. The command "driver" prints the data that
// ask_driver() reads. The command "fault" runs the failing kernel.
int doctor_child(const std::string& mode);

}  // namespace cudadiag::command
