// Finds out what reruns added, by comparing the diagnoses of a session before and after them.
#pragma once

#include <optional>

#include "diagnose/facts/model.h"

namespace cudadiag::diagnose {

// Describes the first failure that the reruns proved, or else the first asynchronous failure. The pointers point into
// the two diagnoses.
struct Gain {
  const Finding* before = nullptr;
  const Finding* after = nullptr;
  bool is_proof = false;   // the answer is proven now and was not before
  bool moved = false;      // the headline names a different line now
  bool narrowed = false;   // the new line was a candidate of the first answer, or a node of its graph
  bool elsewhere = false;  // a rerun also failed elsewhere
  bool says_more = false;  // the report has more facts about the failure than before
};

// Returns nullopt if either diagnosis has no findings, or if `before` begins with a race.
std::optional<Gain> gain(const Diagnosis& before, const Diagnosis& after);

bool is_race(const Finding& finding);
// Returns true if both diagnoses have the same races at the same lines.
bool same_races(const Diagnosis& before, const Diagnosis& after);

}  // namespace cudadiag::diagnose
