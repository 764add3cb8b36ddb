// Host cost of launching: ./launches empty|graph|replay|threads prints the median ns per launch of its own rounds;
// of replay, until the GPU is done.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

__global__ void nothing() {}

constexpr int kRounds = 200, kBatch = 500, kThreads = 8;

// ns per call over batches that fit the launch queue, so that the host never waits for the GPU inside one.
template <typename F>
std::vector<double> rounds(cudaStream_t s, int batch, F call, bool until_done = false) {
  std::vector<double> ns;
  for (int round = 0; round < kRounds; round++) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < batch; i++) call(s);
    std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    cudaStreamSynchronize(s);
    if (until_done) spent = std::chrono::steady_clock::now() - start;
    if (round >= kRounds / 10) ns.push_back(spent.count() / batch);
  }
  return ns;
}

cudaGraphExec_t graph_of_hundred(cudaStream_t s) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  for (int i = 0; i < 100; i++) nothing<<<1, 32, 0, s>>>();
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  return exec;
}

int main(int, char** argv) {
  std::string what = argv[1];
  auto launch = [](cudaStream_t s) { nothing<<<1, 32, 0, s>>>(); };
  std::vector<cudaStream_t> streams(kThreads);
  for (auto& s : streams) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), launch(s);
  cudaDeviceSynchronize();
  std::vector<double> all;
  if (what == "empty") all = rounds(streams[0], kBatch, launch);
  if (what == "graph" || what == "replay") {
    cudaGraphExec_t exec = graph_of_hundred(streams[0]);
    all = rounds(
        streams[0], 10, [exec](cudaStream_t s) { cudaGraphLaunch(exec, s); }, what == "replay");
  }
  if (what == "threads") {
    std::vector<std::vector<double>> each(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; i++) threads.emplace_back([&, i] { each[i] = rounds(streams[i], kBatch, launch); });
    for (auto& t : threads) t.join();
    for (auto& ns : each) all.insert(all.end(), ns.begin(), ns.end());
  }
  if (all.empty() || cudaDeviceSynchronize() != cudaSuccess) return 1;
  std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
  printf("median %.1f\n", all[all.size() / 2]);
}
