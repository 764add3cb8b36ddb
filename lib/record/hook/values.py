# Values that go into a suspect line's operators, taken before they are issued (python_hook.h).
