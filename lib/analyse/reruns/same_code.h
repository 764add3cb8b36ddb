// Matches a rerun's failure with that of the first run, by the code that issued the operations.
#pragma once

#include <cstdint>
#include <vector>

#include "analyse/analysis.h"
#include "wire/rerun/site_key.h"

namespace cudadiag::analyse {

// The key of the first candidate's site; 0: there is none.
wire::site_key::Key lead_key(const Failure& failure);

// Which call of its site failed in the rerun. The site's calls before the hook took values are another site's there,
// with the key `whole`; where no native stacks are recorded, it is the same site's.
std::uint32_t ordinal_again(const Failure& again, wire::site_key::Key whole);

struct SameCode {
  std::vector<Candidate> candidates;
  bool very_call = false;  // it is the one candidate
  // They share the program's own lines with `again` alone: libraries took another path from there in the rerun. The
  // number of calls on that path says nothing about the first run's calls.
  bool other_way = false;
};

// The candidates that were issued by the code that issued `again`: the same call if it is among them; if several
// threads run the code, each one's call of that number; else all. Counts differ between runs of programs with threads
// or random data.
SameCode same_code(const Failure& failure, const Failure& again);

// Whether some candidate of one is code of the other's.
bool shares_code(const Failure& failure, const Failure& again);

}  // namespace cudadiag::analyse
