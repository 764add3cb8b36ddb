// Measures how many nanoseconds the recorder adds to a launch on the simulated driver. Each variant runs in a separate
// process, which is this program or launches.py, and the variants take turns. The cost of one part of the recorder is
// the difference between two variants. Only the CPU time of the launching thread is measured, so the threads of the
// simulated GPU do not distort it.
#include <benchmark/benchmark.h>
#include <cuda.h>
#include <cupti.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kFrames = 16;
constexpr int kLaunches = 256;  // launches between two synchronisations; fewer than the simulated stream's queue holds
constexpr int kRounds = 5;

void check(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "bench_record: %s failed with %d\n", what, code);
  std::exit(1);
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <int frames>
[[gnu::noinline]] double seconds_of_launches(CUfunction kernel) {
  if constexpr (frames > 1) {
    const double seconds = seconds_of_launches<frames - 1>(kernel);
    benchmark::ClobberMemory();  // keeps this frame on the stack
    return seconds;
  } else {
    const double begin = thread_seconds();
    int codes = 0;
    for (int i = 0; i < kLaunches; ++i) {
      codes |= cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
    }
    const double seconds = thread_seconds() - begin;
    check(codes, "cuLaunchKernel");
    return seconds;
  }
}

void launch(benchmark::State& state) {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuModuleLoadData(&module, "bench"), "cuModuleLoadData");
  check(cuModuleGetFunction(&kernel, module, "empty"), "cuModuleGetFunction");
  seconds_of_launches<kFrames>(kernel);  // warm-up: the first launches of a line are recorded in more detail
  check(cuCtxSynchronize(), "cuCtxSynchronize");
  for (auto unused : state) {
    static_cast<void>(unused);
    state.SetIterationTime(seconds_of_launches<kFrames>(kernel));
    check(cuCtxSynchronize(), "cuCtxSynchronize");
  }
}
BENCHMARK(launch)->UseManualTime()->Iterations(400)->Repetitions(3);

void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

int measure(bool empty_callbacks, char** argv) {
  check(cuInit(0), "cuInit");
  CUpti_SubscriberHandle subscriber = nullptr;
  if (empty_callbacks) {
    check(cuptiSubscribe(&subscriber, ignore, nullptr), "cuptiSubscribe");
    check(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
          "cuptiEnableCallback");
  }
  std::string format = "--benchmark_format=json";
  char* options[] = {argv[0], format.data()};
  int count = 2;
  benchmark::Initialize(&count, options);
  return benchmark::RunSpecifiedBenchmarks() == 1 ? 0 : 1;
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) check(errno, "popen");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  if (pclose(pipe) != 0) {
    std::fprintf(stderr, "bench_record: %s\n%s", command.c_str(), text.c_str());
    std::exit(1);
  }
  return text;
}

double native_ns(const std::string& command) {
  const std::string text = output_of(command);
  const auto result = nlohmann::json::parse(text.substr(text.find('{')));
  for (const auto& run : result.at("benchmarks")) {
    if (run.value("aggregate_name", "") == "median") return run.at("real_time").get<double>() / kLaunches;
  }
  check(1, "reading the benchmark's median");
  return 0;
}

double python_ns(const std::string& command) {
  const std::string text = output_of(command);
  return std::strtod(text.c_str() + text.find("ns ") + 3, nullptr);
}

using Samples = std::map<std::string, std::vector<double>>;

Samples measure_every_way(const std::string& program) {
  const std::string run = BUILD_FOLDER "/bin/cudadiag run ";
  const std::string native = program + " --measure", python = "python3 " PYTHON_LAUNCHES;
  const std::string no_stacks = "--no-python-stacks --no-native-stacks ", off = "--markers off ";
  Samples samples;
  for (int round = 0; round < kRounds; ++round) {
    samples["plain"].push_back(native_ns(native));
    samples["empty"].push_back(native_ns(program + " --measure-empty-callbacks"));
    samples["bare"].push_back(native_ns(run + off + no_stacks + "-- " + native));
    samples["native"].push_back(native_ns(run + off + "--no-python-stacks -- " + native));
    samples["sparse"].push_back(native_ns(run + no_stacks + "-- " + native));
    samples["dense"].push_back(native_ns(run + "--markers dense " + no_stacks + "-- " + native));
    samples["python off"].push_back(python_ns(run + off + no_stacks + "-- " + python));
    samples["python on"].push_back(python_ns(run + off + "--no-native-stacks -- " + python));
  }
  return samples;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

nlohmann::json row(const std::string& what, const std::vector<double>& added, double plain) {
  const auto [least, most] = std::minmax_element(added.begin(), added.end());
  const double middle = median(added);
  std::printf("%-34s %7.0f ns  [%.0f, %.0f]\n", what.c_str(), middle, *least, *most);
  return {{"case", "recorder"},
          {"what", what},
          {"median", middle},
          {"min", *least},
          {"max", *most},
          {"unit", "ns"},
          {"ratio_to_plain", (plain + middle) / plain}};
}

std::vector<double> over(const std::vector<double>& more, const std::vector<double>& less) {
  std::vector<double> added(kRounds);
  for (int i = 0; i < kRounds; ++i) added[i] = more[i] - less[i];
  return added;
}

nlohmann::json rows_of(const Samples& samples) {
  const auto between = [&](const char* more, const char* less) { return over(samples.at(more), samples.at(less)); };
  const double plain = median(samples.at("plain"));
  const auto callback = between("empty", "plain"), ring = between("bare", "empty"), native = between("native", "bare"),
             python = between("python on", "python off");
  std::vector<double> together(kRounds);
  for (int i = 0; i < kRounds; ++i) together[i] = callback[i] + ring[i] + native[i] + python[i];
  std::printf("launch without the recorder        %7.0f ns\n", plain);
  return {row("own work per launch", together, plain),
          row("callback: an empty one", callback, plain),
          row("ring: the record and its streams", ring, plain),
          row("native stack, 16 frames", native, plain),
          row("Python stack, 16 frames", python, plain),
          row("markers: sparse, the default", between("sparse", "bare"), plain),
          row("markers: dense", between("dense", "bare"), plain)};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  if (way.starts_with("--measure")) return measure(way == "--measure-empty-callbacks", argv);
  setenv("LD_LIBRARY_PATH", BUILD_FOLDER "/sim", 1);
  setenv("CUDADIAG_CUPTI", BUILD_FOLDER "/sim/libcupti.so.13", 1);
  utsname system{};
  uname(&system);
  std::puts("Added to a launch on the simulated driver, thread time, median [least, most]:");
  const nlohmann::json rows = rows_of(measure_every_way(argv[0]));
  const nlohmann::json result = {{"machine",
                                  {{"gpu", "simulated"},
                                   {"system", std::string(system.sysname) + " " + system.release},
                                   {"cores", std::thread::hardware_concurrency()}}},
                                 {"rows", rows}};
  std::ofstream(BUILD_FOLDER "/bench_record.json") << result.dump(1) << "\n";
}
