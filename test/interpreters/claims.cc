// An interpreter that claims to be a different release, so that its layout differs from what the recorder expects.
#include <cstdlib>

extern "C" const char* Py_GetVersion() { return std::getenv("CLAIMED_PYTHON"); }
