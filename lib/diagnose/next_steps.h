// Advice for an error of which only the kind and the code are known. It never says what is wrong, only where to look.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::diagnose {

// Advice for a call whose error was never checked. Worded for causes::in_dialect(), as all steps are.
std::string check_what_it_returns(const analyse::Failure& failure);

// Advice for an error that another call's check found.
inline constexpr const char* kClearTheError =
    "clear the error where you handle it (cudaGetLastError): otherwise the next check mistakes it for another call's";

// Whether a rerun for a GPU core dump was made, and not given up by the user.
bool asked_for_dump(const session::Manifest& manifest);

std::vector<std::string> next_steps(const analyse::Failure& failure, const session::Manifest& manifest);

}  // namespace cudadiag::diagnose
