// The machine code of kernels: read from cubins, disassembled with NVIDIA's disassembler, and stored for reports, which
// run no tools. The disassembler comes with the toolkit rather than the driver, so nothing may depend on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/session_state.h"
#include "evidence/core_facts.h"
#include "evidence/elf_image.h"
#include "sass/kernel_accesses.h"
#include "session/found_races.h"
#include "session/saved_results.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Returns what nvdisasm prints for these machine instructions: "/*0070*/ @P0 LDG.E R5, desc[UR4][R4.64] ;" and so on.
// `tool` is its path, and `architecture` is in its form: "SM90a". Returns "" if it does not exist, fails, takes longer
// than ten seconds or prints more than 64 MiB. It needs half a second to start, so the latest texts are kept.
// Thread-safe.
std::string disassembled(const std::string& tool, const std::string& architecture, std::string_view instructions);
std::string disassembled(const evidence::FunctionCode& code, const std::string& tool);
// Returns the failing instruction in `text`, the output of nvdisasm: "STG.E desc[UR4][R2.64], R5". Empty if it is
// missing.
std::string failing_instruction(const evidence::FunctionCode& code, const std::string& text);

// Stores the disassembled code of the failing kernel next to `dump`, a dump in the current pass of `writer`. A report
// computes the failing address from it, and runs no tools itself. Stores nothing if the dump is missing or lacks this
// code, or if `command` has no nvdisasm. Returns the reason if storing fails.
std::optional<base::Error> store_failing_code(const std::string& dump, session::SessionWriter& writer,
                                              const std::vector<std::string>& command);

struct KernelInstructions {
  std::string architecture;  // in nvdisasm's form: "SM90a"
  sass::ParameterBank bank;
  std::vector<std::uint32_t> parameters;  // the offset of each parameter, relative to the first
  sass::Calls calls = sass::Calls::anything;
  evidence::Bytes instructions;         // points into the image's file
  std::uint32_t shared_bytes = 0;       // see session::KernelCode
  std::set<std::uint64_t> relocated{};  // offsets of instructions that change when the code is loaded
};

// Marks the relocated instructions in the text (sass::kRelocated).
std::string disassembled(const KernelInstructions& code, const std::string& tool);

// Returns the contents of a cubin that the recorder stored, decompressed if necessary. Returns "" if it has more than
// `most` bytes, or if the library that decompresses it is missing.
std::string read_cubin(const std::filesystem::path& file, std::uint64_t most);
// Returns the mangled names of the kernels in the image.
std::vector<std::string> kernels_of(const evidence::ElfImage& image);
std::optional<KernelInstructions> kernel_code(const evidence::ElfImage& image, const std::string& kernel);

// Finds the source lines of two instructions of a kernel in the images in `modules`, and stores them in the race.
void add_lines(session::KernelRace& race, const std::string& kernel, const std::filesystem::path& modules);

// Returns the mangled names of the kernels among the candidates of failures with an address error, and of those nodes
// of graphs about which only the code says whether they use memory of another tensor.
std::vector<std::string> suspected_kernels(diagnose::SessionState& state);

// Returns all code of these kernels. `modules` is the folder where the recorder stores images. Omits a kernel if some
// of its code cannot be read. `disassembler` is the path of nvdisasm.
std::vector<session::KernelCode> code_of(const std::vector<std::string>& kernels, const std::filesystem::path& modules,
                                         const std::string& disassembler);

}  // namespace cudadiag::supervise
