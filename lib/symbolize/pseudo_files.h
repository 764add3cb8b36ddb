// Recognises names that stand for a file, for code that was typed, compiled from a string, or packed into an archive.
#pragma once

#include <string>
#include <string_view>

namespace cudadiag::symbolize {

// Returns whether this is IPython's name for the rest of a cell that begins with %%time or %%timeit. The code after
// %time or %timeit on a line has the same name, but there the enclosing line says more.
bool is_cell_of_magic(std::string_view file);

// Returns "cell In[3]" for `<ipython-input-3-0a1b>`, and "cell ipykernel_12/345.py" for a cell that ran in ipykernel;
// otherwise "".
std::string cell_name(std::string_view file);

// Returns why the source cannot be shown; empty if the file itself should exist.
std::string why_no_source(std::string_view file);

}  // namespace cudadiag::symbolize
