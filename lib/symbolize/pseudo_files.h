// Recognises file names of code that is not in a plain file: typed, compiled from a string, or in an archive.
#pragma once

#include <string>
#include <string_view>

namespace cudadiag::symbolize {

// Returns whether IPython gives this file name to the code of a cell that begins with %%time or %%timeit. Code after
// %time or %timeit on one line gets the same name, but reports then show the line that contains the command.
bool is_cell_of_magic(std::string_view file);

// Returns "cell In[3]" for `<ipython-input-3-0a1b>`, and "cell ipykernel_12/345.py" for a cell that ran in ipykernel;
// otherwise "".
std::string cell_name(std::string_view file);

// Returns why the source cannot be shown.
std::string why_no_source(std::string_view file);

}  // namespace cudadiag::symbolize
