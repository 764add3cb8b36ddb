#include "unit/report/sample_reports.h"

#include <fmt/core.h>

#include <fstream>
#include <sstream>

namespace cudadiag::report {

using namespace diagnose;
namespace {

Location in_python(const char* file, int line, const char* function, const char* source) {
  return {file, function, symbolize::Language::python, source, "", line};
}

Finding illegal_access() {
  Finding finding;
  finding.kind = analyse::Kind::async_error;
  finding.code = 700;
  finding.name = "CUDA_ERROR_ILLEGAL_ADDRESS";
  finding.runtime_name = "cudaErrorIllegalAddress";
  finding.title = "illegal memory access";
  finding.text = "A kernel read or wrote memory that is not its own.";
  finding.evidence = {analyse::Fact::one_running, "markers leave one operation"};
  finding.fix = {"check the pointers"};
  finding.pid = 4711;
  finding.host = "node7";
  return finding;
}

}  // namespace

Diagnosis python_report() {
  Finding finding = illegal_access();
  finding.location = in_python("/home/u/train.py", 41, "forward", "y = self.emb(idx)");
  finding.source.excerpt = {
      {40, "def forward(self, idx):"}, {41, "  y = self.emb(idx)"}, {42, "  return self.head(y)"}};
  finding.noticed.at = in_python("/home/u/train.py", 88, "step", "loss.item()");
  finding.noticed.api = "cudaMemcpyAsync";
  finding.noticed.when = Moment{1795256141.5, 41.5};
  Launch launch;
  launch.operation = session::Work::kernel;
  launch.kernel = "void gather<16, long>(long*, int)";
  launch.mangled = "_Z6gatherILi16ElEvPli";
  launch.grid = {4096, 1, 1};
  launch.block = {192, 1, 1};
  launch.device = 0;
  launch.process_ordinal = 90210;
  launch.stream_ordinal = 90210;
  launch.site_ordinal = 1847;
  launch.counted = "of this line";
  launch.thread = 4711;
  finding.launch = launch;
  finding.stack.python = {{"/home/u/train.py", 41, "forward", true},
                          {"/usr/lib/python3/torch/nn/module.py", 1500, "_call_impl", false},
                          {"/home/u/train.py", 88, "step", true},
                          {"/home/u/train.py", 112, "main", true}};
  Diagnosis report;
  report.verdict = analyse::Verdict::cuda_failure;
  report.findings = {finding};
  report.processes = {{4711, 4700, {"python", "train.py"}, {}, 1, {}}};
  report.passes = {{session::PassKind::record, "bracketed", 62, 90300, 0}};
  report.command = {"python", "train.py", "--name", "two words"};
  report.started = "2026-11-21T10:15:00Z";
  report.driver = "580.159.04";
  report.cuda = "13.0";
  report.gpus = {"NVIDIA H200"};
  report.session = "/home/u/.local/state/cudadiag/20261121-101500-4711";
  report.working_directory = "/home/u";
  return report;
}

Diagnosis native_report() {
  Finding finding = illegal_access();
  finding.location = {
      "/home/u/smooth.cu", "smooth(float*)", symbolize::Language::cplusplus, "smooth_kernel<<<8, 32>>>(x);", "", 12};
  finding.caller = in_python("/home/u/solver.py", 27, "smooth_step", "lib.smooth(x)");
  finding.related = {{Role::caller, *finding.caller}};
  finding.via = "ctypes, libsmooth.so";
  finding.evidence = {analyse::Fact::several_running, "two streams were cut off"};
  finding.noticed.at_exit = true;
  Launch copy;
  copy.operation = session::Work::copy;
  copy.stream = 0x1f00;
  finding.launch = copy;
  CandidateLine first{finding.location, copy, "next after the last finished (3 launches on this line)", 3};
  CandidateLine second{in_python("/home/u/solver.py", 30, "norm", "n = norm(x)"), copy, "next on the other stream", 1};
  finding.candidates = {first, second};
  Diagnosis report;
  report.verdict = analyse::Verdict::cuda_failure;
  report.findings = {finding};
  report.session = "/tmp/it's here";
  report.working_directory = "/home/u";
  return report;
}

Diagnosis refused_report() {
  Finding finding = illegal_access();
  finding.kind = analyse::Kind::unchecked_error;
  finding.code = 9;
  finding.name.clear();
  finding.title = "invalid configuration";
  finding.evidence.add(analyse::Fact::rule);
  finding.location = {"", "scale", symbolize::Language::cplusplus, "", "/opt/app/libscale.so", 0};
  finding.noticed.api = "cudaLaunchKernel";
  finding.noticed.at = finding.location;
  Diagnosis report;
  report.verdict = analyse::Verdict::cuda_failure;
  report.findings = {finding, finding, finding};
  report.findings[1].pid = 4712;
  report.findings[2].pid = 4713;
  return report;
}

Diagnosis crowded_report() {
  Diagnosis report = python_report();
  Finding& finding = report.findings[0];
  std::string words;
  for (int i = 0; i < 60; ++i) words += fmt::format("reason{} ", i);
  finding.text = words;
  finding.evidence.retell(words);
  finding.fix = {words, words, words};
  finding.evidence.add(analyse::Fact::several_running);
  finding.caller = finding.location;
  for (int i = 0; i < 40; ++i) finding.candidates.push_back({finding.location, *finding.launch, words, 1});
  for (int i = 0; i < 60; ++i) finding.stack.python.push_back({"/home/u/deep.py", i + 1, words, true});
  finding.device = device_report().findings[0].device;
  finding.device->message = words;
  Memory& memory = finding.tools.memory.emplace();
  memory.mode = "write";
  memory.bytes = 4;
  memory.address = 0x7f0000001010;
  memory.allocation = 0x7f0000000000;
  memory.allocation_bytes = 4096;
  memory.text = words;
  finding.tools.witnesses = {words, words};
  Argument argument;
  argument.name = words;
  argument.origin = session::NameSource::variable;
  finding.watched.assign(16, {finding.location, 7, 4711, {argument}});
  finding.inputs = Inputs{"/home/u/inputs", "aten::embedding", 4096, 2, {words, words}, "reproduces"};
  finding.saved_launch = SavedLaunch{words, {20, 18, 1, 1}};
  finding.related = {{Role::forward, finding.location, analyse::Fact::noted}, {Role::started, finding.location}};
  TensorMemory& tensors = finding.memory_use.emplace().tensors.emplace();
  tensors.holders.assign(40, {4096, 2, finding.location, words});
  tensors.exceptions.assign(4, {words, finding.location, 4096});
  report.findings.assign(10, Finding(finding));
  return report;
}

Diagnosis device_report() {
  Diagnosis report = python_report();
  Device device;
  device.exception = "Warp Assert";
  device.function = "leaf(long)";
  device.file = "/pytorch/aten/src/ATen/native/cuda/IndexKernelUtils.cu";
  device.line = 16;
  device.callers = {{"/pytorch/aten/src/ATen/native/cuda/Gather.cuh", "gather<16, long>(long*, int)",
                     symbolize::Language::cuda, "", "", 80}};
  device.block = {77, 0, 0};
  device.thread = {3, 0, 0};
  device.threads = 576;
  device.blocks = 3;
  device.asserted = true;
  device.message = "ind >= 0 && ind < size";
  device.assertions = 1;
  device.join = "same kernel, grid and block";
  report.findings[0].device = device;
  report.passes.push_back({session::PassKind::device, "core dump read", 64, 0, 0});
  return report;
}

Diagnosis explained_report() {
  Diagnosis report = python_report();
  Argument index;
  index.name = "idx";
  index.origin = session::NameSource::variable;
  index.dtype = "int64";
  index.device = "cuda:0";
  index.shape = {8, 512};
  index.strides = {512, 1};
  index.min = std::int64_t{0};
  index.max = std::int64_t{30050};
  index.bound = 30000;
  index.outside = 3;
  index.first_outside = {0, 77};
  index.first_value = std::int64_t{30050};
  Argument out;
  out.name = "parameter 0";
  out.origin = session::NameSource::kernel;
  out.pointer = 0x7f0000001200;
  PointedMemory allocation;
  allocation.address = 0x7f0000001000;
  allocation.bytes = 4096;
  allocation.offset = 0x200;
  allocation.device = 0;
  allocation.is_freed = true;
  allocation.freed = in_python("/home/u/train.py", 39, "forward", "del cache");
  out.allocation = allocation;
  out.bytes = 64;
  report.findings[0].arguments = {index, out};
  MemoryUse memory;
  memory.asked = 6u << 20;
  memory.free = 4u << 20;
  memory.total = 1u << 30;
  memory.held = 900u << 20;
  memory.holders = {
      {800u << 20, 2, in_python("/home/u/train.py", 12, "main", "a = ..."), "PyTorch's caching allocator"}};
  memory.others = {{4800, "python3", 100u << 20}};
  report.findings[0].memory_use = memory;
  report.findings[0].cause = {"index-out-of-range",
                              "idx[0,77] = 30050, but the table has 30000 rows",
                              {{"index", "30050"}, {"rows", "30000"}},
                              "https://pytorch.org/docs",
                              true,
                              {0}};
  return report;
}

Diagnosis example_report() {
  const char* file = "/home/u/train.py";
  Diagnosis report = explained_report();
  report.command = {"python", "train.py"};
  report.started = "2026-11-30T14:54:33Z";
  report.passes = {{session::PassKind::record, "bracketed", 6.2, 40, 0},
                   {session::PassKind::confirm, "proven", 6.4, 40, 0}};
  Finding& finding = report.findings[0];
  finding.code = 710;
  finding.name = "CUDA_ERROR_ASSERT";
  finding.title = "device-side assert";
  finding.text = "An assertion in a kernel failed.";
  finding.evidence = {analyse::Fact::ran_alone, "in a rerun, call 1 of this line ran alone on the GPU and failed"};
  finding.location = in_python(file, 12, "Model.forward", "y = self.emb(idx)");
  finding.source.excerpt = {
      {11, "    def forward(self, idx):"}, {12, "        y = self.emb(idx)"}, {13, "        return self.head(y)"}};
  finding.noticed.at = in_python(file, 13, "Model.forward", "return self.head(y)");
  finding.noticed.api = "cuKernelGetFunction";
  finding.noticed.library = "libcublasLt.so.13";
  finding.noticed.when.reset();
  finding.memory_use.reset();
  finding.launch->kernel = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int)";
  finding.launch->block = {32, 1, 1};
  finding.launch->stream = 1;
  finding.launch->site_ordinal = 1;
  finding.stack.python = {{file, 12, "Model.forward", true}};
  finding.stack.python.resize(27, {"/usr/lib/python3/torch/nn/module.py", 1500, "_call_impl", false});
  finding.stack.python.push_back({file, 19, "<module>", true});
  finding.arguments.resize(1);
  finding.arguments[0].outside = 1;
  finding.arguments[0].min = 7;
  finding.arguments[0].pointer = 0x7fa4a7e00600;
  finding.origin = {{{session::DeliveredOrigin::Role::copied,
                      "",
                      30050,
                      {},
                      {},
                      in_python(file, 18, "<module>", "idx[0, 77] = 30050")}},
                    {0, 77},
                    analyse::Fact::measured};
  finding.cause->text = "idx[0,77] = 30050, but the table has 30000 rows (valid 0..29999)";
  finding.cause->link.clear();
  finding.fix = {"resize the embedding to len(tokenizer) (model.resize_token_embeddings)",
                 "or find the bad ids: assert idx.min() >= 0 and idx.max() < 30000"};
  Device& device = finding.device.emplace();
  device.file = "/pytorch/aten/src/ATen/native/cuda/IndexKernelUtils.cu";
  device.line = 16;
  device.block = {77, 0, 0};
  device.thread = {0, 0, 0};
  device.threads = 32;
  device.blocks = 1;
  device.assertions = 1;
  device.message = "ind >=0 && ind < ind_dim_size && \"vectorized gather kernel index out of bounds\"";
  device.join = "the assertion was printed in a rerun, in a function with the kernel's name";
  return report;
}

Diagnosis clean_report() { return {}; }

Diagnosis undetailed_report() {
  Diagnosis report = device_report();
  report.findings[0].device = Device{};
  return report;
}

Diagnosis parted_ranks_report() {
  Diagnosis report = clean_report();
  RankLine first, second;
  first.rank = 0;
  first.has_come = true;
  first.seconds = 1.5;
  second.ended = "status 1";
  report.ranks = {5, RanksDifference::absence, {first, second}};
  report.ranks->uneven = {3, 4711, 1, 8, 4};
  return report;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace cudadiag::report
