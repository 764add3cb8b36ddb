// Never touches CUDA. The first argument is the exit status.
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  std::puts("no GPU needed");
  return argc > 1 ? std::atoi(argv[1]) : 0;
}
