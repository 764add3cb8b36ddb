#include "supervise/tools/suspect_code.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "diagnose/access_by_code.h"
#include "supervise/tools/disassembly.h"
#include "supervise/tools/kernel_code.h"
#include "wire/cuda_codes.h"

namespace cudadiag::supervise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostKernels = 4;              // disassembling one takes a few tenths of a second
constexpr std::size_t kMostCodes = 4;                // different codes of one kernel
constexpr std::uint64_t kMostImage = 64u << 20;      // bytes
constexpr std::size_t kMostInstructions = 1u << 20;  // bytes

bool has_failed(const session::Process& process) {
  return std::ranges::any_of(process.record.errors, [](const session::FailedCall& error) {
    return wire::cuda::has(error.code, wire::cuda::bad_address);
  });
}

// Returns "" unless exactly one kernel can have caused the failure.
std::string suspected_kernel(const analyse::Failure& failure) {
  const session::Operation* operation = diagnose::only_kernel(failure);
  if (operation == nullptr) return "";
  const session::ProcessRecord& record = failure.process->record;
  const session::Site* site = session::by_id(record.sites, operation->site);
  const std::string* name = site == nullptr ? nullptr : session::by_id(record.functions, site->function);
  return name == nullptr ? "" : *name;
}

// Returns nullopt if the image does not contain the kernel. The text is empty if its code cannot be read.
std::optional<session::KernelCode> code_in(const fs::path& file, const std::string& kernel,
                                           const std::string& disassembler) {
  const std::string image = read_cubin(file, kMostImage);
  const auto elf = evidence::ElfImage::read({image.data(), image.size()});
  if (!elf || std::ranges::count(kernels_of(*elf), kernel) == 0) return std::nullopt;
  session::KernelCode out;
  out.kernel = kernel;
  const auto code = kernel_code(*elf, kernel);
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
    if (std::string kernel = suspected_kernel(failure); !kernel.empty() && kernels.size() < kMostKernels) {
      kernels.insert(std::move(kernel));
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
  std::vector<session::KernelCode> out;
  for (const std::string& kernel : kernels) {
    std::vector<session::KernelCode> codes;
    for (const fs::path& image : images) {
      auto code = code_in(image, kernel, disassembler);
      if (code && std::ranges::count(codes, *code) == 0) codes.push_back(std::move(*code));
    }
    const bool all_read =
        std::ranges::none_of(codes, [](const session::KernelCode& code) { return code.text.empty(); });
    if (all_read && codes.size() <= kMostCodes) std::ranges::move(codes, std::back_inserter(out));
  }
  return out;
}

}  // namespace cudadiag::supervise
