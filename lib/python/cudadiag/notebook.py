"""%load_ext cudadiag: shows the report of a CUDA failure under the cell that noticed it.

`%load_ext cudadiag` prepares the recorder, and must run before CUDA is initialised. `%cudadiag` shows the report at any
time. `%%cudadiag` waits for the GPU after its cell, so that a failure shows up in the cell that caused it.
"""

import os

from . import command, context


class Recording:
    def __init__(self, shell):
        self.shell = shell
        self.shown = False
        self.warned = False
        variables, self.session = command.prepare()
        os.environ.update(variables)

    def after_cell(self, result):
        """Called by IPython. Shows the report if a cell raised an exception and a context is lost."""
        if not self.warned and context.is_unrecorded(self.session):
            self.warned = True
            print(f"cudadiag: {context.UNRECORDED}")
        if getattr(result, "error_in_exec", None) is not None and not self.shown and context.lost_with():
            self.show()

    def show(self):
        from IPython.display import display

        display({"text/html": command.page(self.session), "text/plain": command.text(self.session)}, raw=True)
        self.shown = True

    def magic(self, line, cell=None):
        if cell is None:
            return self.show()
        result = self.shell.run_cell(cell)
        code = context.lost_with()
        if code and not self.shown:
            self.show()
        if code and result.success:
            raise RuntimeError(f"this cell lost the CUDA context (error {code}); restart the kernel after reading the report")
        result.raise_error()
        return None


def load(shell):
    if context.is_initialized():
        raise RuntimeError("CUDA is already initialised. Restart the kernel, and run %load_ext cudadiag first")
    recording = Recording(shell)
    shell.events.register("post_run_cell", recording.after_cell)
    shell.register_magic_function(recording.magic, "line_cell", "cudadiag")
    print("cudadiag is recording this notebook, and reports a lost CUDA context under the cell that notices it")
