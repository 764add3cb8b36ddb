# Runs the hook's package from memory. Its modules are not in sys.modules: the target cannot find them, and the target's
# modules cannot replace them. Two variables are passed in: `sources`, which maps module names to their source, and
# `given`, the contents of the module `recorder`. Module names are unique in the package, so an import ignores the
# folder. A package that start.py started before the recorder is not run again: it gets the recorder's functions.
import builtins
import sys


class Package:
    def __init__(self, sources, given):
        self.sources, self.given, self.modules = sources, given, {}
        # All code of the hook shares this string object, by which the recorder identifies the hook's frames.
        self.file = sys._getframe().f_code.co_filename
        self.builtins = dict(vars(builtins), __import__=self.find)

    def find(self, name, names=None, variables=None, wanted=(), level=0):
        """The package's __import__. A relative import refers to the package's own modules."""
        if level == 0:
            return builtins.__import__(name, names, variables, wanted, level)
        last = name.rpartition(".")[2]
        if last in self.sources:
            return self.module(last)
        for each in wanted:  # modules of a folder
            self.module(each)
        return self

    def __getattr__(self, name):
        if name not in self.sources:
            raise AttributeError(name)
        return self.module(name)

    def module(self, name):
        if name not in self.modules:
            made = self.modules[name] = type(sys)("cudadiag_hook." + name)
            made.__builtins__ = self.builtins
            exec(compile(self.sources[name], self.file, "exec", 0, True), vars(made))
            if name == "recorder":
                vars(made).update(self.given)
        return self.modules[name]


package = vars(sys).pop("_cudadiag_hook", None)
if package is None:
    package = Package(sources, given)
else:
    vars(package.recorder).update(given)
package.suspect_settings.start()
