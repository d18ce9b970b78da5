"""Asks a health check that lies nowhere: an archive on standard input holds it, and all that it is
told. It runs in the container.

Nobody can open that input but this process, which has a right more than all others there (a badge);
what it starts has neither.
"""

import os
import sys

BADGE = 28
"""CAP_LEASE, as the container's first process gives it to whoever judges."""

archive = f"/proc/self/fd/{os.dup(0)}"
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
sys.path.insert(0, archive)

import ctypes  # noqa: E402
import zipimport  # noqa: E402

ctypes.CDLL(None).prctl(24, BADGE, 0, 0, 0)  # PR_CAPBSET_DROP: of what it starts
module = sys.argv[1]
sys.argv[1:] = [zipimport.zipimporter(archive).get_data("given.json").decode()]
if module == "examining":
    sys.path.append("/usr/lib/python3/dist-packages")
__import__(module)
