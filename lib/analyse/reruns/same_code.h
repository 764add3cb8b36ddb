// Matches a rerun's failure with that of the first run, by the code that issued the operations.
#pragma once

#include <cstdint>
#include <vector>

#include "analyse/analysis.h"
#include "wire/rerun/site_key.h"

namespace cudadiag::analyse {

// The key of the first candidate's site; 0 if there is none.
wire::site_key::Key lead_key(const Failure& failure);

// Returns the number of the failing call at its site. Before the hook reads values, calls in the rerun have a different
// site, with the key `whole`; this counts them too. If native stacks are not recorded, all calls have the same site.
std::uint32_t ordinal_again(const Failure& again, wire::site_key::Key whole);

struct SameCode {
  std::vector<Candidate> candidates;
  bool very_call = false;  // the candidate is exactly that call
  // The candidates share only the program's own lines with `again`: in the rerun, libraries took a different path from
  // there. The number of calls on that path says nothing about the calls of the first run.
  bool other_way = false;
};

// Returns the candidates that were issued by the same code as `again`. If some have the same call number as `again`,
// returns only those, one for each thread. Call numbers differ between runs of programs with threads or random data.
SameCode same_code(const Failure& failure, const Failure& again);

// Returns whether the two failures have a candidate of the same code.
bool shares_code(const Failure& failure, const Failure& again);

}  // namespace cudadiag::analyse
