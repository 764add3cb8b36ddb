// Describes the failed operation for a finding: kernel, shape, stream, device and ordinals. Also finds the memory that
// its arguments point to.
#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

#include "analyse/operation_arguments.h"
#include "analyse/recorded_memory.h"
#include "base/text.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/failure/finding_builder.h"
#include "diagnose/line_resolver.h"
#include "session/process_record.h"
#include "wire/operation.h"

namespace cudadiag::diagnose {

namespace {

using session::Work;

using session::Process;

// Returns null if `index` is past the end. An index that means "none" is larger than any table.
template <typename T>
const T* at(const std::vector<T>& table, std::uint32_t index) {
  return index < table.size() ? &table[index] : nullptr;
}

void add_place(Launch& launch, const Process& process, std::uint32_t stream, std::uint32_t context) {
  if (const session::Stream* entry = at(process.record.streams, stream)) {
    launch.stream = entry->handle;
    context = entry->context;
  }
  if (const session::Context* entry = at(process.record.contexts, context)) launch.device = entry->device;
}

bool is_watched_by_hooks(const Process& process) {
  return session::value_of(process.record, session::Property::watched_by) == "hooks";
}

// Returns nullopt if records are lost, because any lost record may be that of a kernel. Also returns nullopt after the
// launch of a graph, because graphs launch kernels too.
std::optional<std::uint64_t> kernel_ordinal(const session::ProcessRecord& record, const session::Operation& operation) {
  using wire::operation::Kind;
  if (operation.kernels != 0) return operation.kernels;
  if (operation.kind != Kind::kernel || record.operations.size() != record.operations_issued) return std::nullopt;
  std::uint64_t ordinal = 0;
  for (const session::Operation& other : record.operations) {
    if (other.kind == Kind::graph) return std::nullopt;
    if (other.kind == Kind::kernel) ++ordinal;
    if (&other == &operation) return ordinal;
  }
  return std::nullopt;
}

// A conditional node runs one of its body graphs.
Work work_of_node(const session::GraphNode& node) {
  constexpr Work kTypes[] = {Work::kernel, Work::copy, Work::memset};  // by CUgraphNodeType
  if (node.type < std::size(kTypes)) return kTypes[node.type];
  return node.type == wire::graph_node::kConditional ? Work::graph : Work::call;
}

}  // namespace

Launch launch_of(const Process& process, const analyse::Candidate& candidate, const std::string& mangled) {
  const session::Operation& operation = *candidate.operation;
  Launch launch;
  launch.by_hooks = is_watched_by_hooks(process);
  launch.operation = work_of(operation.kind);
  name_kernel(launch, mangled);
  launch.grid = operation.grid;
  launch.block = operation.block;
  launch.shared_bytes = operation.shared_bytes;
  launch.process_ordinal = candidate.process_ordinal;
  if (operation.ordinal != 0) launch.stream_ordinal = operation.ordinal;
  if (operation.site_ordinal != 0) launch.site_ordinal = operation.site_ordinal;
  if (const session::Thread* thread = at(process.record.threads, operation.thread)) launch.thread = thread->tid;
  if (operation.replay != 0) launch.replay = operation.replay;
  launch.kernel_ordinal = kernel_ordinal(process.record, operation);
  add_place(launch, process, operation.stream, 0xffffffff);
  return launch;
}

Launch node_launch_of(const Process& process, const analyse::Candidate& candidate, const std::string& mangled) {
  const session::GraphNode& node = *candidate.node;
  Launch launch = launch_of(process, candidate, mangled);
  launch.graph_node = NodeNumber{candidate.node_index, candidate.nodes_of_graph, candidate.nodes};
  launch.site_ordinal.reset();
  if (!candidate.alike) return launch;
  launch.operation = work_of_node(node);
  // If the record shows which nodes were changed, all other nodes are as they were created.
  const std::uint32_t flags = candidate.operation->graph_flags;
  const bool told = (flags & wire::operation::kGraphUntold) == 0;
  const bool as_made = (flags & wire::operation::kGraphAltered) == 0 || (told && candidate.changed == 0);
  if (as_made && candidate.same_shape) {
    launch.grid = node.grid;
    launch.block = node.block;
    launch.shared_bytes = node.shared_bytes;
  }
  return launch;
}

Launch launch_of(const Process& process, const session::FailedCall& error, const std::string& mangled) {
  Launch launch;
  launch.by_hooks = is_watched_by_hooks(process);
  launch.operation = (error.flags & wire::error::kLaunch) != 0 ? Work::kernel : Work::call;
  name_kernel(launch, mangled);
  launch.grid = error.grid;
  launch.block = error.block;
  launch.shared_bytes = error.shared_bytes;
  if (const auto* refused = analyse::refused_operation(process.record, error)) launch.cluster = refused->cluster;
  launch.thread = error.tid;
  add_place(launch, process, error.stream, error.context);
  return launch;
}

std::size_t calls_of_line(const Finding& finding) {
  std::size_t calls = 0;
  for (const CandidateLine& candidate : finding.candidates) {
    const Location& line = finding.candidates.front().location;
    if (&candidate.location == &line || same_line(candidate.location, line)) calls += candidate.launches;
  }
  return calls;
}

PossibleKernels possible_kernels(const Finding& finding) {
  std::set<std::string_view> kernels;
  for (const CandidateLine& candidate : finding.candidates) {
    if (!candidate.launch.mangled.empty()) kernels.insert(candidate.launch.mangled);
  }
  const bool graphs = std::ranges::any_of(
      finding.candidates, [](const CandidateLine& candidate) { return candidate.launch.operation == Work::graph; });
  return {kernels.size(), graphs || finding.unlisted > 0 || (finding.candidates_lost && !finding.evidence.proves())};
}

namespace {

using State = analyse::Whereabouts::State;

// The maximum number of memory holders whose stacks are resolved. Resolving a stack takes time.
constexpr std::size_t kMostHolders = 200;
constexpr std::size_t kMostRelated = 4;

// Returns the library whose memory pool made the allocation. A library is recognised by part of its module's path.
std::string owner_of(const symbolize::SourceStack& stack) {
  constexpr std::pair<std::string_view, std::string_view> kAllocators[] = {
      {"libc10_cuda", "PyTorch's caching allocator"},
      {"/cupy/cuda/memory", "CuPy's memory pool"},
      {"/xla_cuda_plugin", "JAX's memory pool"},
      {"/xla_extension", "JAX's memory pool"}};
  for (const symbolize::NativeFrame& frame : stack.native) {
    for (const auto& [module, owner] : kAllocators) {
      if (frame.module.find(module) != std::string::npos) return std::string(owner);
    }
  }
  return "";
}

bool is_same(const Location& a, const Location& b) {
  const Location &x = a.nearest(), &y = b.nearest();
  return a.file == b.file && a.line == b.line && a.function == b.function && x.file == y.file && x.line == y.line;
}

void relate(Finding& finding, Role role, const std::optional<Location>& location) {
  if (!location || (location->file.empty() && location->function.empty())) return;
  const auto same = [&](const Related& other) { return other.role == role && is_same(other.location, *location); };
  if (std::ranges::none_of(finding.related, same)) finding.related.push_back({role, *location});
}

void add_arguments(Finding& finding, const analyse::Failure& failure, const ResolveSite& resolve) {
  const analyse::OperationArguments given = analyse::arguments_of(failure);
  std::size_t related = 0;
  for (const analyse::OperationArgument& from : given.arguments) {
    Argument& argument = finding.arguments.emplace_back();
    argument.name = from.name;
    argument.origin = session::NameSource::kernel;
    argument.parameter = from.parameter;
    argument.parameter_byte = from.parameter_byte;
    argument.loaded = from.loaded;
    argument.value = from.value;
    argument.pointer = from.pointer;
    argument.bytes = from.bytes;
    if (from.where.allocation != nullptr) argument.allocation = allocation_of(from, *given.process, resolve);
    if (from.matters() && related < kMostRelated) {
      ++related;
      relate(finding, Role::allocated, argument.allocation->allocated);
      relate(finding, Role::freed, argument.allocation->freed);
    }
  }
}

void add_holder(MemoryUse& memory, const analyse::MemoryHolder& holder, Location location, std::string owner) {
  const auto same = std::ranges::find_if(memory.holders, [&](const MemoryHolder& other) {
    return other.owner == owner && is_same(other.location, location);
  });
  if (same == memory.holders.end()) {
    memory.holders.push_back({holder.bytes, holder.count, std::move(location), std::move(owner)});
  } else {
    same->bytes += holder.bytes;
    same->count += holder.count;
  }
}

// Returns the PCI bus id of the device on which the call was made; empty if unknown.
std::string bus_id_of(const session::ProcessRecord& record, const session::FailedCall& call) {
  const auto device = session::device_of(record, call.context);
  return device ? session::pci_bus_id(record, *device) : "";
}

void add_others(MemoryUse& memory, const std::vector<session::GpuProcess>& processes, const std::string& bus_id) {
  for (const session::GpuProcess& process : processes) {
    if (!bus_id.empty() && process.device == bus_id)
      memory.others.push_back({process.pid, process.name, process.bytes});
  }
  std::ranges::stable_sort(memory.others, std::greater<>(), &OtherProcess::bytes);
}

void add_holders(Finding& finding, const analyse::Failure& failure, const session::Manifest& manifest,
                 const ResolveSite& resolve) {
  if (failure.kind != analyse::Kind::out_of_memory || failure.reported == nullptr) return;
  const session::ProcessRecord& record = failure.process->record;
  const session::FailedCall& call = *failure.reported;
  const analyse::MemoryUse use = analyse::memory_use(record, call);
  MemoryUse memory;
  memory.of_host = analyse::wanted_host_memory(call);
  memory.asked = call.bytes;
  if (call.device_total != 0 && !memory.of_host) {
    memory.free = call.device_free;
    memory.total = call.device_total;
  }
  memory.held = use.bytes;
  memory.peak = use.peak;
  memory.whole = analyse::knows_all_allocations(record) && record.forgotten_allocations == 0;
  for (std::size_t i = 0; i < std::min(use.holders.size(), kMostHolders); ++i) {
    auto [location, stack] = resolve(*failure.process, use.holders[i].site);
    add_holder(memory, use.holders[i], std::move(location), owner_of(stack));
  }
  std::ranges::stable_sort(memory.holders, std::greater<>(), &MemoryHolder::bytes);
  if (!memory.of_host) add_others(memory, manifest.gpu_processes, bus_id_of(record, call));
  finding.memory_use = std::move(memory);
}

}  // namespace

PointedMemory allocation_of(const analyse::OperationArgument& argument, const session::Process& process,
                            const ResolveSite& resolve) {
  const session::Allocation& from = *argument.where.allocation;
  PointedMemory allocation;
  allocation.address = from.address;
  allocation.bytes = argument.where.bytes;
  allocation.offset = *argument.pointer - from.address;
  if (from.kind < wire::allocation::Kind::pinned) allocation.device = session::device_of(process.record, from.context);
  allocation.out_of_reach = argument.out_of_reach;
  const bool freed = argument.where.state == State::freed;
  allocation.is_freed = freed;
  if (from.site != 0) {
    auto [location, stack] = resolve(process, from.site);
    allocation.allocated = std::move(location);
    allocation.owner = owner_of(stack);
  }
  if (freed && from.freed_site != 0) allocation.freed = resolve(process, from.freed_site).first;
  return allocation;
}

void add_later_free(PointedMemory& memory, const session::Allocation& from, const session::Operation& launch,
                    const session::Process& process, const ResolveSite& resolve) {
  const bool in_other_stream = from.freed_stream != wire::allocation::kNone && from.freed_stream != launch.stream;
  if (from.kind == wire::allocation::Kind::ordered && from.freed > launch.ticks && in_other_stream)
    memory.freed_later = resolve(process, from.freed_site).first;
}

void add_last_write(Access& access, const session::Process& process, const session::Operation& launch,
                    const session::Allocation& table, const ResolveSite& resolve) {
  constexpr std::size_t kColumns = 60;
  const session::ProcessRecord& record = process.record;
  const auto* last = analyse::last_writer(record, launch, table, analyse::AllocationMap(record, launch.ticks));
  if (last == nullptr || session::by_id(record.sites, last->site) == nullptr) return;
  const std::string* kernel = session::kernel_at(record, last->site);
  const bool is_kernel = last->kind == wire::operation::Kind::kernel;
  if (is_kernel && kernel == nullptr) return;
  access.written_by = is_kernel ? short_kernel_name(base::demangle(*kernel), kColumns) + "()"
                      : last->kind == wire::operation::Kind::copy ? "a copy"
                                                                  : "a memset";
  access.written = resolve(process, last->site).first;
}

void add_memory(Finding& finding, const analyse::Failure& failure, const session::Manifest& manifest,
                const ResolveSite& resolve) {
  add_arguments(finding, failure, resolve);
  add_holders(finding, failure, manifest, resolve);
}

void keep_related(Finding& finding) {
  const PointedMemory* memory = finding.access && finding.access->allocation ? &*finding.access->allocation : nullptr;
  if (memory == nullptr) return;
  std::erase_if(finding.related, [&](const Related& each) {
    const std::optional<Location>& own = each.role == Role::allocated ? memory->allocated : memory->freed;
    const bool of_memory = each.role == Role::allocated || each.role == Role::freed;
    return of_memory && (!own || !is_same(each.location, *own));
  });
}

}  // namespace cudadiag::diagnose
