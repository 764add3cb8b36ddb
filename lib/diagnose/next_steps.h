// Advice for an error, if only its kind and code are known. The advice says where to look, but never what is wrong.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::diagnose {

// Returns advice for a call whose error the program never checked. The text contains choices for causes::in_dialect().
std::string check_what_it_returns(const analyse::Failure& failure);

// Advice for an error that the program noticed only when it checked a different call.
inline constexpr const char* kClearTheError =
    "clear the error where you handle it (cudaGetLastError): otherwise the next check mistakes it for the error of "
    "another call";

// Returns true if cudadiag reran the program to get a GPU core dump, and the user did not interrupt that rerun.
bool asked_for_dump(const session::Manifest& manifest);

std::vector<std::string> next_steps(const analyse::Failure& failure, const session::Manifest& manifest);

}  // namespace cudadiag::diagnose
