// Captures, and what breaks them: ./broken_captures KIND. A broken capture ends the program with status 1, unless the
// program gives the capture up.
#include <cstdio>
#include <string>
#include <thread>

__global__ void add(int* p) { atomicAdd(p, 1); }

// Handles the failure, because the memory is not needed yet.
void allocate(const char* who) {
  void* q = nullptr;
  cudaError_t e = cudaMalloc(&q, 64 << 20);  // TRUE LINE allocated, TRUE LINE thread
  printf("%s: %s\n", who, e == cudaSuccess ? "allocated" : cudaGetErrorName(cudaGetLastError()));
}

int check(const char* what, cudaError_t e) {
  printf("%s: %s\n", what, e == cudaSuccess ? "went well" : cudaGetErrorName(e));
  return e != cudaSuccess;
}

// Launches on another stream that the capture includes through an event.
void fork(cudaStream_t from, cudaStream_t to, cudaEvent_t event, int* p) {
  cudaEventRecord(event, from);
  cudaStreamWaitEvent(to, event, 0);
  add<<<1, 1, 0, to>>>(p);
}

int main(int, char** argv) {
  std::string kind = argv[1];
  bool ordered = kind == "default_stream" || kind == "probing";
  cudaStream_t s, side;
  cudaEvent_t event;
  cudaGraph_t graph = nullptr;
  int *p, host = 0;
  cudaStreamCreateWithFlags(&s, ordered ? cudaStreamDefault : cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaMalloc(&p, 4096), cudaMemset(p, 0, 4096);
  add<<<1, 1, 0, s>>>(p);
  cudaDeviceSynchronize();
  auto mode = kind == "local_thread" ? cudaStreamCaptureModeThreadLocal : cudaStreamCaptureModeGlobal;
  cudaStreamBeginCapture(s, mode);  // CAPTURE
  add<<<1, 1, 0, s>>>(p);
  if (kind == "synchronised" || kind == "given_up") cudaStreamSynchronize(s);  // TRUE LINE synchronised
  if (kind == "default_stream") add<<<1, 1>>>(p);                              // TRUE LINE default_stream
  if (kind == "allocated") allocate("this thread");
  if (kind == "thread" || kind == "local_thread") std::thread(allocate, "another thread").join();
  if (kind == "event") {
    cudaEventRecord(event, s);
    cudaEventQuery(event);  // TRUE LINE event
  }
  if (kind == "unjoined") fork(s, side, event, p);
  if (kind == "probing") {
    cudaStreamCaptureStatus status;
    cudaStreamIsCapturing(s, &status), cudaStreamIsCapturing(nullptr, &status), cudaGetLastError();
  }
  add<<<1, 1, 0, s>>>(p);
  cudaError_t e = cudaStreamEndCapture(s, &graph);  // BLAMED, TRUE LINE unjoined
  cudaGetLastError();
  if (kind != "given_up" && check("capture", e)) return 1;
  if (e != cudaSuccess) add<<<1, 2, 0, s>>>(p);
  cudaGraphExec_t replayable;
  if (e == cudaSuccess) cudaGraphInstantiate(&replayable, graph, 0), cudaGraphLaunch(replayable, s);
  cudaMemcpyAsync(&host, p, sizeof host, cudaMemcpyDeviceToHost, s);
  int failed = check("the end", cudaDeviceSynchronize());
  printf("%d additions\n", host);
  return failed;
}
