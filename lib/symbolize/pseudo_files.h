// Names that take the place of a file's name, for code that was typed, made of a string, or packed away.
#pragma once

#include <string>
#include <string_view>

namespace cudadiag::symbolize {

// IPython's name for the rest of a cell that begins with %%time or %%timeit. The argument of %time and %timeit on a
// line of their own has the same name; there the line around it says more.
bool is_cell_of_magic(std::string_view file);

// "cell In[3]" for `<ipython-input-3-0a1b>`, "cell ipykernel_12/345.py" for what a kernel calls its cells; else empty.
std::string cell_name(std::string_view file);

// Why no source can be shown of it; empty if the file itself should be there.
std::string why_no_source(std::string_view file);

}  // namespace cudadiag::symbolize
