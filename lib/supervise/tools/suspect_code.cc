#include "supervise/tools/suspect_code.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "analyse/operation_arguments.h"
#include "supervise/tools/disassembly.h"
#include "supervise/tools/kernel_code.h"
#include "wire/cuda_codes.h"

namespace cudadiag::supervise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostKernels = 8;              // disassembling one takes a few tenths of a second
constexpr std::size_t kMostCodes = 4;                // different codes of one kernel
constexpr std::uint64_t kMostImage = 64u << 20;      // bytes
constexpr std::size_t kMostInstructions = 1u << 20;  // bytes

bool has_failed(const session::Process& process) {
  return std::ranges::any_of(process.record.errors, [](const session::FailedCall& error) {
    return wire::cuda::has(error.code, wire::cuda::bad_address);
  });
}

// The text is empty if the kernel's code cannot be read.
session::KernelCode code_in(const evidence::ElfImage& image, const std::string& kernel,
                            const std::string& disassembler) {
  session::KernelCode out;
  out.kernel = kernel;
  const auto code = kernel_code(image, kernel);
  if (!code || code->instructions.size() > kMostInstructions) return out;
  out.bank_offset = code->bank.offset;
  out.bank_size = code->bank.size;
  out.harmless_calls = code->calls == sass::Calls::harmless;
  out.text = disassembled(disassembler, code->architecture, code->instructions.all());
  return out;
}

}  // namespace

std::vector<std::string> suspected_kernels(diagnose::SessionState& state) {
  if (std::ranges::none_of(state.session().processes, has_failed)) return {};
  std::set<std::string> kernels;
  for (const analyse::Failure& failure : state.analysis().failures) {
    if (!analyse::is_asynchronous(failure.kind) || !wire::cuda::has(failure.code, wire::cuda::bad_address)) continue;
    for (const analyse::Candidate& candidate : failure.candidates) {
      const std::string* kernel = analyse::kernel_of(failure.process->record, *candidate.operation);
      if (candidate.node == nullptr && kernel != nullptr && kernels.size() < kMostKernels) kernels.insert(*kernel);
    }
  }
  return {kernels.begin(), kernels.end()};
}

std::vector<session::KernelCode> code_of(const std::vector<std::string>& kernels, const fs::path& modules,
                                         const std::string& disassembler) {
  std::vector<fs::path> images;
  std::error_code error;
  for (fs::directory_iterator it(modules, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".cubin") images.push_back(it->path());
  }
  std::sort(images.begin(), images.end());
  std::map<std::string, std::vector<session::KernelCode>> codes;
  for (const fs::path& file : images) {
    const std::string image = read_cubin(file, kMostImage);
    const auto elf = evidence::ElfImage::read({image.data(), image.size()});
    if (!elf) continue;
    const std::vector<std::string> names = kernels_of(*elf);
    for (const std::string& kernel : kernels) {
      if (std::ranges::find(names, kernel) == names.end()) continue;
      session::KernelCode code = code_in(*elf, kernel, disassembler);
      if (std::ranges::find(codes[kernel], code) == codes[kernel].end()) codes[kernel].push_back(std::move(code));
    }
  }
  std::vector<session::KernelCode> out;
  for (auto& [kernel, each] : codes) {
    const bool all_read = std::ranges::none_of(each, [](const session::KernelCode& code) { return code.text.empty(); });
    if (all_read && each.size() <= kMostCodes) std::ranges::move(each, std::back_inserter(out));
  }
  return out;
}

}  // namespace cudadiag::supervise
