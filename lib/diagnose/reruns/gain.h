// The gain of reruns: a diagnosis of a session before them, compared with one after them.
#pragma once

#include <optional>

#include "diagnose/diagnosis.h"

namespace cudadiag::diagnose {

// About the failure that the reruns were for: the first that they proved, else the first asynchronous one. A refused
// call needs no rerun. Pointers into the two diagnoses.
struct Gain {
  const Finding* before = nullptr;
  const Finding* after = nullptr;
  bool is_proof = false;   // the answer is proven now, and was not
  bool moved = false;      // another line leads
  bool narrowed = false;   // the line that leads was one of the first answer's candidates, or a node of its graph
  bool elsewhere = false;  // a rerun failed at something else as well
  bool says_more = false;  // the report has something of the failure that it did not have
};

// Nothing: one of the two has no failure, or they are about races.
std::optional<Gain> gain(const Diagnosis& before, const Diagnosis& after);

bool is_race(const Finding& finding);
// The races are the same, and at the same lines.
bool same_races(const Diagnosis& before, const Diagnosis& after);

}  // namespace cudadiag::diagnose
