"""Like a script runner: compiles each statement at its own line of one file, and frees the code after running it. Each
statement gets the memory of the previous one, and only its line distinguishes the two."""

import sys

import cuda

cuda.start()
launch, parameters = cuda.kernel("smooth")
stream = cuda.stream()
if sys.argv[1] == "lines":
    for line in range(1, 11):
        exec(compile("\n" * (line - 1) + "launch(stream, parameters, None)\n", "/statements", "exec"))
elif sys.argv[1] == "files":
    for line in range(1, 11):
        exec(compile("launch(stream, parameters, None)\n", "/statement/%d" % line, "exec"))
else:
    for line in range(1, 11):
        names = {}
        exec("def f_%d(*arguments):\n    launch(*arguments)" % line, globals(), names)
        names.popitem()[1](stream, parameters, None)
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
