"""sandboxed.py FILE: a service that forbids itself system calls, as a sandbox does. Writes its process id to the file."""

import ctypes
import os
import signal
import struct
import sys

NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2
RETURN, ALLOW = 0x06, 0x7fff0000

libc = ctypes.CDLL(None)
text = ctypes.create_string_buffer(struct.pack("HBBI", RETURN, 0, 0, ALLOW))
if libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(SET_SECCOMP, FILTER, struct.pack("HxxxxxxP", 1, ctypes.addressof(text))):
    sys.exit("cannot install a filter")
os.setsid()
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
signal.pause()
