// Matches a rerun's failure with that of the first run, by the code that issued the operations.
#pragma once

#include <cstdint>
#include <vector>

#include "analyse/analysis.h"
#include "wire/rerun/site_key.h"

namespace cudadiag::analyse {

// The key of the first candidate's site; 0 if there is none.
wire::site_key::Key lead_key(const Failure& failure);

// Returns the number of the failing call at its site. In the rerun, calls from before the hook read values have a
// different site, with the key `whole`. If native stacks are not recorded, all calls have the same site.
std::uint32_t ordinal_again(const Failure& again, wire::site_key::Key whole);

struct SameCode {
  std::vector<Candidate> candidates;
  bool very_call = false;  // the candidate is exactly that call
  // The candidates share only the program's own lines with `again`, because libraries took a different path from there
  // in the rerun. The number of calls on that path says nothing about the first run's calls.
  bool other_way = false;
};

// Returns the candidates that were issued by the same code as `again`. If calls with the number of that call are among
// them, returns only these, one for each thread. Counts differ between runs of programs with threads or random data.
SameCode same_code(const Failure& failure, const Failure& again);

// Returns whether both have a candidate of the same code.
bool shares_code(const Failure& failure, const Failure& again);

}  // namespace cudadiag::analyse
