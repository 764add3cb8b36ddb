"""cudadiag's Python code inside the target. The recorder runs it from memory with ../load.py, in passes that need it.

The package never prints. All its changes to the target are made by `lines`, `autograd_nodes`, `thread_starts`,
`allocator_snapshot` and `dispatch_mode`, or with `replace` of `whole_program`.

The modules of this folder follow all operators of a program: where each one is called, and which ones use the same
bytes with no order between them. The folders:
  bad_values     elements that are not finite, or out of range: where they come from, and where they are used
  suspect_lines  the lines that a rerun watches: the arguments of their operators, and related data
  tensor_data    tensors: their bytes, their elements, and what operators require of them
"""
