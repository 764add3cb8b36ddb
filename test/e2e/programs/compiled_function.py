"""A function that a compiler made into one kernel, as torch.compile does. Without the compiler, each line launches."""

import os
import sys

import cuda

cuda.start()
stream = cuda.stream()
(fused, parameters), (scale, _), (gather, _), (other, _) = map(cuda.kernel, ("fused", "scale", "gather", "other"))


class Model:
    def forward(self):
        scale(stream, parameters, None)
        gather(stream, parameters, None)  # TRUE LINE


def compiled():
    """Model as Dynamo leaves it: with the same file and name, but it calls code of Inductor."""
    names = {"fused": fused, "stream": stream, "parameters": parameters}
    for path, text in (("<string>", "def launcher():\n    fused(stream, parameters, None)\n"),
                       ("/tmp/torchinductor_u/ab/cab.py", "def call():\n    launcher()\n"),
                       ("/site-packages/torch/_inductor/output_code.py", "def run():\n    call()\n"),
                       ("/site-packages/torch/_dynamo/eval_frame.py", "def _fn():\n    run()\n"),
                       (__file__, "class Model:\n    def forward(self):\n        _fn()\n")):
        exec(compile(text, path, "exec"), names)
    return names["Model"]()


eager = os.environ.get("TORCH_COMPILE_DISABLE") == "1"
model = Model() if eager else compiled()
for step in range(5):
    model.forward()  # CALL LINE
    other(stream, parameters, None)
failed = cuda.driver.cuCtxSynchronize()
sys.exit(5 if eager and "FAILS_EAGERLY" in os.environ else 1 if failed else 0)
