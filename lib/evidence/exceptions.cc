#include "evidence/exceptions.h"

#include <iterator>

namespace cudadiag::evidence {
namespace {

// Indexed by exception code. The names are those that NVIDIA's debugger uses.
constexpr const char* kNames[] = {nullptr,
                                  "Lane Illegal Address",
                                  "Lane User Stack Overflow",
                                  "Device Hardware Stack Overflow",
                                  "Warp Illegal Instruction",
                                  "Warp Out-of-range Address",
                                  "Warp Misaligned Address",
                                  "Warp Invalid Address Space",
                                  "Warp Invalid PC",
                                  "Warp Hardware Stack Overflow",
                                  "Device Illegal Address",
                                  "Lane Misaligned Address",
                                  "Warp Assert",
                                  "Lane Syscall Error",
                                  "Warp Illegal Address",
                                  "Lane Non-migratable Atomic",
                                  "Lane Invalid Atomic",
                                  "Cluster Out-of-range Address",
                                  "Cluster Block Not Present",
                                  "Warp Stack Canary",
                                  "Warp Tensor Memory Access Check",
                                  "Warp Tensor Memory Leak",
                                  "Warp Call Requires Newer Driver",
                                  "Warp Misaligned PC",
                                  "Warp PC Overflow",
                                  "Warp Misaligned Register",
                                  "Warp Illegal Instruction Encoding",
                                  "Warp Illegal Instruction Parameter",
                                  "Warp Out-of-range Register",
                                  "Warp Invalid Constant Address",
                                  "Warp MMU Fault",
                                  "Warp Arrive",
                                  "Cluster Poison",
                                  "Warp API Stack Error",
                                  "Warp Block Not Present",
                                  "Warp User Stack Overflow",
                                  "TMA Syscall Error"};

}  // namespace

std::string exception_name(std::uint32_t code) {
  if (code < std::size(kNames) && kNames[code] != nullptr) return kNames[code];
  return "exception " + std::to_string(code);
}

}  // namespace cudadiag::evidence
