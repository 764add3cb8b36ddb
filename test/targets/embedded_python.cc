// A Python interpreter is linked into the program, reduced to the symbols that the recorder looks up. It is not
// involved in the launches.
// Plan: fault kernel=scale nth=2 code=700
#include "driver.h"

extern "C" {
const char* Py_GetVersion() { return "3.12.1 (main)"; }
void* PyGILState_GetThisThreadState() { return nullptr; }
int Py_IsInitialized() { return 1; }
char PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64];
}

[[gnu::noinline]] static void step(CUfunction scale, CUstream stream) {
  LAUNCH(scale, stream);
  LAUNCH(scale, stream);  // TRUE LINE
}

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  step(driver.kernel("scale"), stream);
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
}
