#include "symbolize/dwarf_scopes.h"

#include <dwarf.h>

namespace cudadiag::symbolize {

bool is_container(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
         tag == DW_TAG_union_type;
}

}  // namespace cudadiag::symbolize
