// Prints launch.json of two launches for schema_test.py, one per line.
#include <algorithm>
#include <cstdio>
#include <string>

#include "replay/saved_launch.h"
#include "unit/replay/sample_launch.h"

int main() {
  using namespace cudadiag;
  for (const replay::SavedLaunch& launch : {test::sample_launch(), replay::SavedLaunch{}}) {
    std::string text = replay::write_launch(launch);
    std::erase(text, '\n');
    std::puts(text.c_str());
  }
}
