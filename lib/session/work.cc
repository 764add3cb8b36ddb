#include "session/work.h"

#include "base/text.h"

namespace cudadiag::session {
namespace {

constexpr base::Words<Work, 11> kWords = {{
    {Work::call, "call"},
    {Work::kernel, "kernel"},
    {Work::graph, "graph"},
    {Work::copy, "copy"},
    {Work::memset, "memset"},
    {Work::wait, "wait"},
    {Work::write, "write"},
    {Work::event, "event"},
    {Work::host_function, "host function"},
    {Work::allocation, "allocation"},
    {Work::free, "free"},
}};

}  // namespace

std::string_view word(Work work) { return base::word_of(kWords, work); }

std::optional<Work> work_of(std::string_view word) { return base::value_of(kWords, word); }

}  // namespace cudadiag::session
