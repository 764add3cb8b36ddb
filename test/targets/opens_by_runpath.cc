// Opens a library that is found only through the program's RUNPATH: libplugin.so, or the one that the argument names.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  std::puts(dlopen(argc > 1 ? argv[1] : "libplugin.so", RTLD_NOW) != nullptr ? "found" : dlerror());
}
