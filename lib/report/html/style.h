// The head of a page: its style, and a content security policy under which a browser loads and runs nothing.
#pragma once

#include <string_view>

namespace cudadiag::report {

std::string_view page_head();

}  // namespace cudadiag::report
