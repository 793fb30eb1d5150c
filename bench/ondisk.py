# SPDX-License-Identifier: LGPL-3.0-or-later
"""When written data is on the disk: the third time of a write, after the last WRITE's and the
COMMIT's answers.

A thread asks the kernel in short intervals how many pages of the files are dirty or under
write-back (cachestat, Linux 6.5), so what else the machine writes does not count; on older
kernels it asks for the whole machine's (/proc/vmstat), and a quiet machine is needed.
"""
import ctypes
import glob
import os
import threading
import time

INTERVAL = 0.05  # seconds between two looks
CACHESTAT = 451  # the system call's number, the same on all architectures
PAGE = os.sysconf("SC_PAGESIZE")

_libc = ctypes.CDLL(None, use_errno=True)


def _file_pages(path):
    """Pages of a file that are dirty or under write-back; None where the kernel cannot say."""
    area = (ctypes.c_uint64 * 2)(0, 0)  # to the end
    state = (ctypes.c_uint64 * 5)()     # cached, dirty, write-back, evicted, recently evicted
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        failed = _libc.syscall(CACHESTAT, fd, area, state, 0)
    finally:
        os.close(fd)
    return None if failed else state[1] + state[2]


def _machine_pages():
    with open("/proc/vmstat", encoding="ascii") as file:
        values = dict(line.split() for line in file)
    return int(values["nr_dirty"]) + int(values["nr_writeback"])


def can_tell_files():
    return _file_pages(os.path.abspath(__file__)) is not None


class Watch(threading.Thread):
    """Looks at the files of a pattern until stop(). `on_disk`: time.monotonic() of the first look
    that found nothing dirty any more, None while there is; `dirty_max`: bytes at most."""

    def __init__(self, pattern):
        super().__init__(daemon=True)
        self.pattern = pattern
        self.files = can_tell_files()
        self.base = 0 if self.files else _machine_pages() + 256  # a MiB of others' is no writer
        self.on_disk = None
        self.dirty = self.dirty_max = 0
        self.failed = None
        self.ending = threading.Event()
        self.start()

    def _pages(self):
        if not self.files:
            return max(0, _machine_pages() - self.base)
        pages = 0
        for path in glob.glob(self.pattern):
            try:
                pages += _file_pages(path)
            except FileNotFoundError:
                pass
        return pages

    def run(self):
        try:
            while not self.ending.wait(INTERVAL):
                now, self.dirty = time.monotonic(), PAGE * self._pages()
                self.dirty_max = max(self.dirty_max, self.dirty)
                if self.dirty:
                    self.on_disk = None
                elif self.on_disk is None:
                    self.on_disk = now
        except OSError as error:
            self.failed = str(error)

    def wait(self, seconds):
        """Until nothing is dirty, at most so long; then ends. Data written and on the disk
        between two looks counts as there at the later one."""
        end = time.monotonic() + seconds
        time.sleep(2 * INTERVAL)  # a look after the last answer
        while self.dirty and not self.failed and time.monotonic() < end:
            time.sleep(INTERVAL)
        self.stop()
        return self.on_disk

    def stop(self):
        self.ending.set()
        self.join()
