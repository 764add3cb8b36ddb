// An inference server: the workers of a pool all start at once, each with its own stream and with memory from the
// stream-ordered pool. The byte count of one request does not fit into an int.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <queue>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Request {
  int id, tokens, width;
};

struct Answer {
  int id;
  float score;
};

__global__ void embed(float* states, int tokens, int width, int seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < tokens) states[i * 4] = float((i * 31 + seed + width) % 97) / 97;
}

__global__ void mix(float* states, int tokens) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= tokens) return;
  float v = states[i * 4];
  for (int k = 0; k < 2000; k++) v = v * 0.999f + 0.0005f;
  states[i * 4] = v;
}

__global__ void pool(float* out, const float* states, int tokens) {
  __shared__ float sums[256];
  float sum = 0;
  for (int i = threadIdx.x; i < tokens; i += 256) sum += states[i * 4];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = sums[0] / tokens;
}

class Worker {
 public:
  Worker() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&score_, sizeof(float));
    cudaMallocHost(&answer_, sizeof(float));
  }
  ~Worker() {
    cudaFreeHost(answer_);
    cudaFree(score_);
    cudaStreamDestroy(stream_);
  }

  Answer serve(const Request& request) {
    float* states = nullptr;
    int bytes = request.tokens * request.width * 4;
    cudaMallocAsync(&states, bytes, stream_);
    int blocks = (request.tokens + 255) / 256;
    embed<<<blocks, 256, 0, stream_>>>(states, request.tokens, request.width, request.id);  // TRUE LINE
    mix<<<blocks, 256, 0, stream_>>>(states, request.tokens);
    pool<<<1, 256, 0, stream_>>>(score_, states, request.tokens);
    cudaMemcpyAsync(answer_, score_, sizeof(float), cudaMemcpyDeviceToHost, stream_);
    cudaFreeAsync(states, stream_);
    cudaError_t e = cudaStreamSynchronize(stream_);  // BLAMED
    if (e != cudaSuccess)
      throw std::runtime_error("request " + std::to_string(request.id) + ": " + cudaGetErrorString(e));
    return {request.id, *answer_};
  }

 private:
  cudaStream_t stream_ = nullptr;
  float *score_ = nullptr, *answer_ = nullptr;
};

class Server {
 public:
  explicit Server(int workers) {
    for (int i = 0; i < workers; i++) threads_.emplace_back([this] { work(); });
  }
  ~Server() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  std::future<Answer> submit(Request request) {
    std::packaged_task<Answer(Worker&)> task([request](Worker& worker) { return worker.serve(request); });
    auto answer = task.get_future();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push(std::move(task));
    }
    changed_.notify_one();
    return answer;
  }

 private:
  void work() {
    Worker worker;
    for (;;) {
      std::packaged_task<Answer(Worker&)> task;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop();
      }
      task(worker);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::packaged_task<Answer(Worker&)>> tasks_;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

int main() {
  std::vector<std::future<Answer>> answers;
  int failed = 0;
  {
    Server server(4);
    for (int i = 0; i < 64; i++) {
      Request request{i, 500 + i * 13 % 700, 4096};
      if (i == 37) request = {i, 70000, 40000};  // tokens * width does not fit into an int
      answers.push_back(server.submit(request));
    }
    for (auto& answer : answers) {
      try {
        answer.get();
      } catch (const std::exception& e) {
        if (!failed++) fprintf(stderr, "inference: %s\n", e.what());
      }
    }
  }
  fprintf(stderr, "inference: %d of %zu requests failed\n", failed, answers.size());
  return failed ? 1 : 0;
}
