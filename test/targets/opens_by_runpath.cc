// Opens a library that is found only through the program's RUNPATH.
#include <dlfcn.h>

#include <cstdio>

int main() { std::puts(dlopen("libplugin.so", RTLD_NOW) != nullptr ? "found" : dlerror()); }
