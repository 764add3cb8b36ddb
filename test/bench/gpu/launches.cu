// Measures the host's cost of launching: "./launches empty|threads [switch]" or "./launches graph|replay
// [NODES|switch]". Prints the median ns per launch over several rounds. In replay, a round lasts until the GPU is done.
// With switch, half of the rounds run with a subscriber's callbacks (switched_cupti.cc) or the recorder's wrappers
// (switched_hooks.cc), and half without. The program then prints the median ratio of the two, and its 95 % interval. A
// graph has 100 nodes by default.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

__global__ void nothing() {}

constexpr int kRounds = 200, kBatch = 500, kThreads = 8, kSwitchedPairs = 1000;

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
  return all[all.size() / 2];
}

// Returns ns per call.
template <typename F>
double batch_ns(int batch, F call) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < batch; i++) call();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / batch;
}

// Measures ns per call in batches that fit the launch queue, so that the host never waits for the GPU within a batch.
template <typename F>
std::vector<double> rounds(cudaStream_t s, int batch, F call, bool until_done = false) {
  std::vector<double> ns;
  for (int round = 0; round < kRounds; round++) {
    auto start = std::chrono::steady_clock::now();
    double spent = batch_ns(batch, [&] { call(s); });
    cudaStreamSynchronize(s);
    std::chrono::duration<double, std::nano> whole = std::chrono::steady_clock::now() - start;
    if (round >= kRounds / 10) ns.push_back(until_done ? whole.count() / batch : spent);
  }
  return ns;
}

cudaGraphExec_t graph_of(int nodes, cudaStream_t s) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  for (int i = 0; i < nodes; i++) nothing<<<1, 32, 0, s>>>();
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  return exec;
}

// Prints the median of the values, and its 95 % interval from the ranks between which a sample's median may lie.
void print_ratio(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  const double middle = all.size() / 2.0, half = 0.98 * std::sqrt(all.size());
  const size_t low = static_cast<size_t>(middle - half), high = static_cast<size_t>(middle + half);
  printf("ratio %.4f %.4f %.4f\n", all[all.size() / 2], all[low], all[high]);
}

// Returns the ratios of neighbouring rounds: the time with a subscriber's callbacks or the wrappers, divided by the
// time without them. Each stream has its own thread.
template <typename F>
std::vector<double> switched_ratios(const std::vector<cudaStream_t>& streams, int batch, F call) {
  auto callbacks = reinterpret_cast<void (*)(std::uint32_t)>(dlsym(RTLD_DEFAULT, "switch_callbacks"));
  std::vector<double> each(streams.size()), ratios;
  pthread_barrier_t turn;
  pthread_barrier_init(&turn, nullptr, static_cast<unsigned>(streams.size()) + 1);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < streams.size(); i++) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 2 * kSwitchedPairs; round++) {
        pthread_barrier_wait(&turn);
        for (int warm = 1; warm >= 0; warm--) {  // warm-up: switching has evicted data from the caches
          each[i] = batch_ns(warm ? batch / 10 : batch, [&] { call(streams[i]); });
          cudaStreamSynchronize(streams[i]);
        }
        pthread_barrier_wait(&turn);
      }
    });
  }
  std::mt19937 dice(1);
  for (int pair = 0; pair < kSwitchedPairs; pair++) {
    double ns[2];
    for (int turns = 0, on = static_cast<int>(dice() % 2); turns < 2; turns++, on = 1 - on) {
      callbacks(static_cast<std::uint32_t>(on));
      pthread_barrier_wait(&turn);
      pthread_barrier_wait(&turn);
      ns[on] = median(each);
    }
    ratios.push_back(ns[1] / ns[0]);
  }
  for (auto& t : threads) t.join();
  return ratios;
}

int main(int argc, char** argv) {
  std::string what = argv[1];
  auto launch = [](cudaStream_t s) { nothing<<<1, 32, 0, s>>>(); };
  std::vector<cudaStream_t> streams(kThreads);
  for (auto& s : streams) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), launch(s);
  cudaDeviceSynchronize();
  const bool of_graph = what == "graph" || what == "replay";
  if (argc > 2 && argv[2] == std::string("switch")) {
    if (what != "threads") streams.resize(1);
    if (of_graph) {
      cudaGraphExec_t exec = graph_of(100, streams[0]);
      print_ratio(switched_ratios(streams, 10, [exec, what](cudaStream_t s) {
        cudaGraphLaunch(exec, s);
        if (what == "replay") cudaStreamSynchronize(s);
      }));
    } else {
      print_ratio(switched_ratios(streams, kBatch, launch));
    }
    return cudaDeviceSynchronize() != cudaSuccess;
  }
  std::vector<double> all;
  if (what == "empty") all = rounds(streams[0], kBatch, launch);
  if (of_graph) {
    cudaGraphExec_t exec = graph_of(argc > 2 ? std::stoi(argv[2]) : 100, streams[0]);
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
  printf("median %.1f\n", median(all));
}
