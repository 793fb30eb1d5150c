# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a guest can do as a client of NFS, for guest_worker.py: mounts, ca-nfs-agent on them with
prices of its server's or made up ones, the knobs as they are, what the kernel counts of a mount.
"""
import glob
import os
import random
import re
import signal
import subprocess
import threading
import time

MOUNT = "/mnt/nfs"
DEBUGFS = "/sys/kernel/debug"
HERE = os.path.dirname(os.path.realpath(__file__))
REPLIES = "/tmp/replies"
FULL = "/tmp/meminfo"
LIMITS = ("dirty_background_ratio", "dirty_ratio")
BYTES = ("programs_read", "programs_written", "direct_read", "direct_written", "server_read",
         "server_written", "pages_read", "pages_written")
TIDE = 20  # pairs of prices
SAMPLE = 0.1  # s between two looks at knobs
LONG = 600  # s: what must come comes sooner, on a machine that was stopped for minutes too

_agent = None


def mount_options(port, mport, options=""):
    wanted = f"vers=3,tcp,nolock,port={port},mountport={mport},mountproto=tcp"
    return f"{wanted},{options}" if options else wanted


def mount(port, mport, export, at=MOUNT, options=""):
    os.makedirs(at, exist_ok=True)
    wanted = mount_options(port, mport, options)
    done = subprocess.run(["mount.nfs", f"{os.environ['SERVER']}:{export}", at, "-o", wanted],
                          check=False, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"mount {export} at {at}: {done.stderr.strip()}")
    if not os.path.exists(f"{DEBUGFS}/bdi"):  # as on most machines: the agent looks there
        subprocess.run(["mount", "-t", "debugfs", "debugfs", DEBUGFS], check=False,
                       capture_output=True)


def unmount(at=MOUNT):
    subprocess.run(["umount", at], check=True)


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")


def look_full():
    """To who asks the kernel from now on memory is taken by cached data, as where a machine has run for long. It is not: full
    ones of these guests (Linux 6.1.176) now and then show programs what a page held before what their READ has brought,
    whatever the server."""
    said = re.sub(r"(MemFree:) *\d+", r"\1 8192", _read("/proc/meminfo"))
    with open(FULL, "w", encoding="ascii") as file:
        file.write(said)
    subprocess.run(["mount", "--bind", FULL, "/proc/meminfo"], check=True)


def _read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def bdi(at=MOUNT):
    for line in reversed(_read("/proc/self/mountinfo").splitlines()):
        if line.split()[4] == at:
            return f"/sys/class/bdi/{line.split()[2]}"
    raise OSError(f"{at}: not mounted")


def knobs(at=MOUNT):
    """Those that an agent may turn."""
    found = {os.path.basename(path): _read(path).strip() for path in glob.glob(f"{bdi(at)}/*")
             if os.path.isfile(path) and os.access(path, os.W_OK)
             and not path.endswith("_bytes")}  # newer kernels move these by themselves
    return {**found, **{name: _read(f"/proc/sys/vm/{name}").strip() for name in LIMITS}}


def watch_knobs(stop, at=MOUNT):
    """Until it is stopped: {knob: [least, most]} of those that are numbers."""
    seen = {}
    while True:
        for name, text in knobs(at).items():
            if re.fullmatch(r"-?\d+", text):
                low, high = seen.get(name, (int(text), int(text)))
                seen[name] = [min(low, int(text)), max(high, int(text))]
        if stop.wait(SAMPLE):
            return seen


def parse_mountstats(text, at):
    """{bytes by BYTES, "ops": {"READ": how many, ...}} of the mount at `at`; None without one."""
    sections = re.split(r"^device ", text, flags=re.M)
    ours = [s for s in sections if f" mounted on {at} with fstype nfs" in s.split("\n")[0]]
    if not ours:
        return None
    numbers = re.search(r"^\s*bytes:\s*([\d \t]+)", ours[-1], re.M)[1].split()
    ops = re.findall(r"^\s+([A-Z]+): (\d+) ", ours[-1], re.M)
    return {**dict(zip(BYTES, map(int, numbers))), "ops": {name: int(n) for name, n in ops}}


def counted(at=MOUNT):
    return parse_mountstats(_read("/proc/self/mountstats"), at)


def memory():
    """Bytes, by the names of /proc/meminfo that matter here."""
    found = dict(re.findall(r"^(\w+):\s+(\d+) kB", _read("/proc/meminfo"), re.M))
    return {name: int(found[name]) * 1024 for name in ("MemTotal", "MemFree", "MemAvailable",
                                                       "Dirty", "Writeback", "Cached")}


# ---- the agent ---------------------------------------------------------------------------------

class Agent:
    def __init__(self, program, arguments):
        self.lines, self.began = [], time.monotonic()
        self.process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(f"{time.monotonic() - self.began:7.2f} {line.rstrip()}")


def agent_start(program, arguments=(), at=MOUNT):
    global _agent
    if _agent:
        raise RuntimeError("an agent is running already")
    mounts = [at] if isinstance(at, str) else at
    _agent = Agent(program, [*arguments, *mounts])
    agent_waits(mounts[0], LONG)  # before it speaks of a mount a signal would end it


def agent_waits(text, seconds):
    """Whether it has said that, or comes to within so many seconds."""
    end = time.monotonic() + seconds
    while not any(text in line for line in list(_agent.lines)):
        if time.monotonic() > end or _agent.process.poll() is not None:
            return False
        time.sleep(0.05)
    return True


def agent_age():
    """s: what its lines begin with, now."""
    return time.monotonic() - _agent.began


def agent_signal(number):
    _agent.process.send_signal(number)


def agent_end(number=signal.SIGTERM):
    """(exit status, what it said, what --explain had to say before)"""
    global _agent
    ending, _agent = _agent, None
    if not ending:
        return None
    explained = ""
    if number == signal.SIGTERM:
        explained = agent_run(ending.process.args[0], ("--explain",))[1]
    ending.process.send_signal(number)
    try:
        ending.process.wait(LONG)
    finally:
        ending.process.kill()
    ending.reader.join(5)
    return ending.process.returncode, ending.lines, explained


def agent_run(program, arguments):
    """(exit status, what it says) of a call that ends by itself."""
    done = subprocess.run([program, *arguments], check=False, capture_output=True, text=True,
                          timeout=LONG)
    return done.returncode, done.stdout + done.stderr


def agent_cost(seconds):
    """Of a running agent and its children over so many seconds: processor time in s, and the
    memory that is its own in the end (bytes; also all that is mapped in)."""
    pid = _agent.process.pid
    before = _spent(pid)
    time.sleep(seconds)
    rolled = dict(re.findall(r"^(\w+):\s+(\d+) kB", _read(f"/proc/{pid}/smaps_rollup"), re.M))
    status = dict(re.findall(r"^(\w+):\s+(\d+) kB", _read(f"/proc/{pid}/status"), re.M))
    children = [_rss(child) for child in _children(pid)]
    return {"cpu_s": _spent(pid) - before, "rss": int(status.get("VmRSS", 0)) * 1024,
            "pss": int(rolled.get("Pss", 0)) * 1024, "children": len(children),
            "children_rss": sum(children)}


def _children(pid):
    return _read(f"/proc/{pid}/task/{pid}/children").split()


def _rss(pid):
    found = re.search(r"^VmRSS:\s+(\d+) kB", _read(f"/proc/{pid}/status"), re.M)
    return int(found[1]) * 1024 if found else 0


def _spent(pid):
    """s of processor time, that of children which were waited for with it."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


# ---- a server that says what it likes ----------------------------------------------------------

def _codec():
    """The program of the specification."""
    with open(f"{HERE}/../../doc/fsstat-prices.md", encoding="utf-8") as document:
        found = {}
        exec(re.search(r"^```python\n(.*?)^```", document.read(), re.M | re.S)[1], found)
    return found


def _moving(kind, draw, price, turn):
    """The pair of prices number `turn`: of a server that lies, that jumps, whose load comes and goes, or that stands still."""
    if kind == "high":
        return 1.0, 1.0
    if kind == "low":
        return 0.0, 0.0
    if kind == "frozen":
        return price
    if kind == "tidal":
        return (0.8 + draw.random() / 5 if turn // TIDE % 2 == 0 else draw.random() / 1000,) * 2
    return (draw.choice((0.0, 1.0, draw.random())), draw.random())


def say_prices(stop, kind, every=0.1, seed=1, lasting=1.0):
    """Writes replies for --replies REPLIES, until it is stopped: "high" and "low" always the same
    prices; "jumping": others each `lasting` seconds; "moody": as jumping, but now and then low for
    ten times as long; "tidal": high and low in turn, for TIDE times as long; "frozen": not even the marks go on."""
    encode, draw = _codec()["encode"], random.Random(seed)
    price, until, mark, turn = (0.9, 0.9), 0, 1, 0
    while True:
        if time.monotonic() > until and kind != "frozen":
            calm = kind == "moody" and draw.random() < 0.2
            price = (0.0, 0.0) if calm else _moving(kind, draw, price, turn)
            until = time.monotonic() + lasting * (10 if calm else 1)
            turn += 1
        mark = mark if kind == "frozen" else draw.randint(1, 3)
        total, _, avail = encode(6553600, 6000000, 6000000, *price, mark)
        with open(f"{REPLIES}.new", "w", encoding="ascii") as file:
            file.write(f"{total} {avail}\n")
        os.rename(f"{REPLIES}.new", REPLIES)
        if stop.wait(every):
            return
