// Advice for an error, if only its kind and code are known. It says where to look, never what is wrong.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::diagnose {

// Returns advice for a call whose error the program never checked. It contains choices for causes::in_dialect(), as all
// steps may.
std::string check_what_it_returns(const analyse::Failure& failure);

// For an error that the check after another call found.
inline constexpr const char* kClearTheError =
    "clear the error where you handle it (cudaGetLastError): otherwise the next check mistakes it for the error of "
    "another call";

// Returns whether cudadiag reran the program for a GPU core dump and the user did not interrupt it.
bool asked_for_dump(const session::Manifest& manifest);

std::vector<std::string> next_steps(const analyse::Failure& failure, const session::Manifest& manifest);

}  // namespace cudadiag::diagnose
