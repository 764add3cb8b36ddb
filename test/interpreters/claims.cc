// An interpreter that says it is another release: what a build with another layout looks like to the recorder.
#include <cstdlib>

extern "C" const char* Py_GetVersion() { return std::getenv("CLAIMED_PYTHON"); }
