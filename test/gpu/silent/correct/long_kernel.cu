// One kernel that takes two seconds.
// No public report.
#include "../bounded.cuh"

int main() {
  busy<<<1, 1, 0, new_stream()>>>(ticks(2));
  return finished();
}
