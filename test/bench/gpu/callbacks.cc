// An injection library that subscribes to CUPTI like the recorder, but with callbacks that do almost nothing. Its cost
// is the minimum for any tool that watches launches. CUDADIAG_BENCH_CALLBACKS selects the calls that get callbacks:
//
//    none, driver-launches, launches, all
//    recorder     the calls that the recorder subscribes to
//    count        like recorder, and prints the number of calls at exit
//    count-all    like all, and prints the number of calls at exit
#include <cupti.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "record/calls/call_rules.h"
#include "record/hooks/cupti_api.h"

namespace {

using cudadiag::record::CuptiApi;

constexpr std::uint32_t kMostCalls = 2048;
constexpr CUpti_CallbackDomain kDomains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API};

struct Counts {
  std::atomic<std::uint64_t> calls, failures;
  std::atomic<std::uint32_t> code;  // code of the latest failure
};

CuptiApi& cupti() {
  static CuptiApi api;
  return api;
}
Counts g_counts[2][kMostCalls];

bool is_launch(std::string_view name) {
  return name.starts_with("cuLaunch") || name.starts_with("cudaLaunch") || name.starts_with("cuGraphLaunch") ||
         name.starts_with("cudaGraphLaunch");
}

bool chosen(std::string_view way, CUpti_CallbackDomain domain, std::string_view name) {
  if (name.empty() || way == "none") return false;
  if (way == "all" || way == "count-all") return true;
  if (way == "recorder" || way == "count") return !cudadiag::record::only_asks(name);
  return is_launch(name) && (way == "launches" || domain == CUPTI_CB_DOMAIN_DRIVER_API);
}

void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void CUPTIAPI count(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* raw) {
  const auto& data = *static_cast<const CUpti_CallbackData*>(raw);
  if (data.callbackSite != CUPTI_API_EXIT || id >= kMostCalls) return;
  Counts& counts = g_counts[domain == CUPTI_CB_DOMAIN_RUNTIME_API][id];
  counts.calls.fetch_add(1, std::memory_order_relaxed);
  const auto* code = static_cast<const std::uint32_t*>(data.functionReturnValue);
  if (code == nullptr || *code == 0) return;
  counts.failures.fetch_add(1, std::memory_order_relaxed);
  counts.code.store(*code, std::memory_order_relaxed);
}

void print() {
  struct Line {
    std::uint64_t calls, failures;
    std::uint32_t code;
    std::string_view name;
  };
  std::vector<Line> lines;
  std::uint64_t all = 0, launches = 0;
  for (int domain = 0; domain < 2; ++domain) {
    for (std::uint32_t id = 0; id < kMostCalls; ++id) {
      const Counts& counts = g_counts[domain][id];
      if (counts.calls == 0) continue;
      lines.push_back({counts.calls, counts.failures, counts.code, cupti().call_name(kDomains[domain], id)});
      all += counts.calls;
      if (domain == 0 && is_launch(lines.back().name)) launches += counts.calls;
    }
  }
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.calls > b.calls; });
  const double per = launches == 0 ? 1 : static_cast<double>(launches);
  std::fprintf(stderr, "watched calls per launch: %.3f (%llu launches)\n", static_cast<double>(all) / per,
               static_cast<unsigned long long>(launches));
  for (const Line& line : lines) {
    std::fprintf(stderr, "%10llu  %7.3f  %-44s", static_cast<unsigned long long>(line.calls),
                 static_cast<double>(line.calls) / per, line.name.data());
    if (line.failures > 0) {
      std::fprintf(stderr, "%llu failed, the last with %u", static_cast<unsigned long long>(line.failures), line.code);
    }
    std::fputc('\n', stderr);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* given = std::getenv("CUDADIAG_BENCH_CALLBACKS");
  const std::string_view way = given == nullptr ? "none" : given;
  const bool counting = way.starts_with("count");
  char detail[512];
  if (cupti().subscribe(counting ? count : ignore, detail, sizeof detail) != CuptiApi::Outcome::subscribed) {
    std::fprintf(stderr, "callbacks: not subscribed: %s\n", detail);
    return 1;
  }
  for (const auto domain : kDomains) {
    for (std::uint32_t id = 1; id < kMostCalls; ++id) {
      if (chosen(way, domain, cupti().call_name(domain, id))) cupti().enable(domain, id);
    }
  }
  if (counting) std::atexit(print);
  return 1;
}
