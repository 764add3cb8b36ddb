// Names that replace a file's name, for code that was typed, compiled from a string, or packed into an archive.
#pragma once

#include <string>
#include <string_view>

namespace cudadiag::symbolize {

// IPython's name for the rest of a cell that begins with %%time or %%timeit. The argument of a %time or %timeit line
// has the same name, but there the enclosing line says more.
bool is_cell_of_magic(std::string_view file);

// Returns "cell In[3]" for `<ipython-input-3-0a1b>`, "cell ipykernel_12/345.py" for a kernel's cell; otherwise "".
std::string cell_name(std::string_view file);

// Returns why the source cannot be shown; empty if the file itself should exist.
std::string why_no_source(std::string_view file);

}  // namespace cudadiag::symbolize
