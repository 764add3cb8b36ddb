# sim_names(HEADER PATTERN OUTPUT): writes `{NUMBER, "NAME"},` for each enumerator of HEADER that PATTERN matches;
# PATTERN's first group is the name, its second the number.
function(sim_names header pattern output)
  find_file(SIM_HEADER_${output} ${header} HINTS ${CUDA_INCLUDE_DIR} ${CUPTI_INCLUDE_DIR} REQUIRED NO_CACHE)
  file(STRINGS ${SIM_HEADER_${output}} lines REGEX "${pattern}")
  set(table "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*${pattern}.*" "{\\2, \"\\1\"}," entry "${line}")
    string(APPEND table "${entry}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/names/${output}.inc CONTENT "${table}" @ONLY)
endfunction()

sim_names(cuda.h "(CUDA_SUCCESS|CUDA_ERROR_[A-Z0-9_]+) *= *([0-9]+)" driver_errors)
sim_names(driver_types.h "(cudaSuccess|cudaError[A-Za-z0-9]+) *= *([0-9]+)" runtime_errors)
sim_names(cupti_driver_cbid.h "CUPTI_DRIVER_TRACE_CBID_(cu[A-Za-z0-9_]+) *= *([0-9]+)" driver_calls)
sim_names(cupti_runtime_cbid.h "CUPTI_RUNTIME_TRACE_CBID_(cuda[A-Za-z0-9_]+) *= *([0-9]+)" runtime_calls)
