// The head of a page: its content security policy, under which a browser loads and runs nothing, and its style.
#pragma once

#include <string_view>

namespace cudadiag::report {

std::string_view page_head();

}  // namespace cudadiag::report
