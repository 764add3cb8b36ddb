// The head of a page: its policy, under which a browser loads and runs nothing, and its looks.
#pragma once

#include <string_view>

namespace cudadiag::report {

std::string_view page_head();

}  // namespace cudadiag::report
