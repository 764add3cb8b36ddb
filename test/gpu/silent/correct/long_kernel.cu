// One kernel that takes two seconds.
// Without a report.
#include "../bounded.cuh"

int main() {
  busy<<<1, 1, 0, new_stream()>>>(ticks(2));
  return finished();
}
