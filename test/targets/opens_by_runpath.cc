// Opens a library that its own RUNPATH alone leads to.
#include <dlfcn.h>

#include <cstdio>

int main() { std::puts(dlopen("libplugin.so", RTLD_NOW) != nullptr ? "found" : dlerror()); }
