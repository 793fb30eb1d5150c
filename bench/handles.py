#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Whether FSAL_VFS can export a directory here: it opens files by their handles.

    handles.lacking(directory)      # None, or what is missing, in words

    bench/handles.py DIR...         # prints the first that will do; else why none will, status 77

Not every file system has handles (an overlay, a container's root, has none), and to open by them
takes the capability CAP_DAC_READ_SEARCH, which containers have only when they are given it.
"""
import ctypes
import errno
import os
import sys

AT_FDCWD = -100
MAX_HANDLE = 128


class _Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int),
                ("opaque", ctypes.c_ubyte * MAX_HANDLE)]


REASONS = {
    errno.EOPNOTSUPP: "its file system has no file handles, which an NFS server needs (an overlay, "
                      "as a container's root is, has none)",
    errno.EPERM: "opening files by their handles, as FSAL_VFS does, is not permitted: it takes the "
                 "capability CAP_DAC_READ_SEARCH (docker run --cap-add DAC_READ_SEARCH)",
}
REASONS[errno.EOVERFLOW] = REASONS[errno.ENOSYS] = REASONS[errno.EOPNOTSUPP]


def _words(error):
    return REASONS.get(error, os.strerror(error))


def lacking(directory):
    """Tries it: a handle of the directory, which is then opened by it."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle, mount = _Handle(bytes=MAX_HANDLE), ctypes.c_int()
    if libc.name_to_handle_at(AT_FDCWD, os.fsencode(directory), ctypes.byref(handle),
                              ctypes.byref(mount), 0):
        return _words(ctypes.get_errno())
    try:
        below = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as reason:
        return reason.strerror
    opened = libc.open_by_handle_at(below, ctypes.byref(handle), os.O_RDONLY)
    error = ctypes.get_errno()
    os.close(below)
    if opened < 0:
        return _words(error)
    os.close(opened)
    return None


def main():
    reasons = []
    for directory in sys.argv[1:]:
        reason = lacking(directory) if os.access(directory, os.W_OK) else "it cannot be written to"
        if not reason:
            print(directory)
            return 0
        reasons.append(f"{directory}: {reason}")
    print("\n".join(reasons), file=sys.stderr)
    return 77


if __name__ == "__main__":
    sys.exit(main())
