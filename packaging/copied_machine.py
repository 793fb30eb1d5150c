# SPDX-License-Identifier: LGPL-3.0-or-later
"""A copy of this machine to install in, and packages for it: what test-life needs.

The copy is an overlay whose lower layer is this machine and whose upper one is memory; it goes with the
test's mount namespace. apt knows one source there, a directory. Packages of the installed nfs-ganesha
are made of its own files, under other versions, with or without changes: nothing is fetched.
"""
import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "e2e"))

import e2e  # noqa: E402

REPOSITORY = "/repository"
APT = ("apt-get", "-q", "-y", "-o", "APT::Sandbox::User=root", "-o", "Dpkg::Use-Pty=0",
       "-o", "Dpkg::Options::=--force-confold")
QUIET = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}


def enter(visible):
    """This process goes on in the copy; the directories `visible` are the machine's own there. /run must be
    a file system of this test's own (e2e.enter)."""
    for name in ("upper", "work", "root"):
        os.makedirs(f"/run/copy/{name}")
    root = "/run/copy/root"
    result = subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                             "lowerdir=/,upperdir=/run/copy/upper,workdir=/run/copy/work", root],
                            check=False, capture_output=True, text=True)
    if result.returncode:
        e2e.skip(f"no overlay of this machine can be mounted: {result.stderr.strip()}")
    for directory in ("/proc", "/sys", *visible):
        os.makedirs(root + directory, exist_ok=True)
        e2e.run("mount", "--rbind", directory, root + directory)
    for directory in ("/run", "/tmp", "/dev"):
        e2e.run("mount", "-t", "tmpfs", "none", root + directory)
    for device in ("null", "zero", "full", "random", "urandom"):
        with open(f"{root}/dev/{device}", "wb"):
            e2e.run("mount", "--bind", f"/dev/{device}", f"{root}/dev/{device}")
    os.symlink("/proc/self/fd", f"{root}/dev/fd")
    os.chroot(root)
    os.chdir("/")
    os.mkdir("/run/ganesha")
    one_source()


def one_source():
    for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*")]:
        if os.path.exists(path):
            os.remove(path)
    with open("/etc/apt/sources.list", "w", encoding="ascii") as file:
        file.write(f"deb [trusted=yes] file:{REPOSITORY} ./\n")
    os.mkdir(REPOSITORY)


def offer(*debs):
    """The packages join those that apt can have."""
    for deb in debs:
        shutil.move(deb, REPOSITORY)
    with open(f"{REPOSITORY}/Packages", "w", encoding="utf-8") as file:
        subprocess.run(["dpkg-scanpackages", "-m", "."], cwd=REPOSITORY, check=True, stdout=file,
                       stderr=subprocess.DEVNULL)
    e2e.run(*APT, "update", env=QUIET)


def run(*command):
    """(exit status, everything it said)"""
    result = subprocess.run(command, check=False, env=QUIET, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return result.returncode, result.stdout


def version(package):
    status, text = run("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Version}", package)
    return text.split()[-1] if status == 0 and text.startswith("ii") else None


class Syslog(threading.Thread):
    """What comes to /dev/log."""

    def __init__(self):
        super().__init__(daemon=True)
        self.lines = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("/dev/log")
        self.start()

    def run(self):
        while True:
            self.lines.append(self.socket.recv(65536).decode(errors="replace"))

    def said(self, text):
        return e2e.wait_for(lambda: any(text in line for line in self.lines), 2)


class Distribution:
    """The installed packages of the source nfs-ganesha, as packages of other versions."""

    def __init__(self, work):
        self.work = f"{work}/distribution"
        listed = e2e.run("dpkg-query", "-W", "-f",
                         "${db:Status-Abbrev} ${source:Package} ${Package}\n").splitlines()
        self.packages = [line.split()[2] for line in listed
                         if re.match(r"ii +nfs-ganesha nfs-ganesha", line)]
        self.revision = version("nfs-ganesha")
        self.upstream = os.path.realpath("/usr/lib/ganesha/libganesha_nfsd.so").split(".so.")[1]
        for package in self.packages:
            self._unpack(package)

    def _unpack(self, package):
        tree = f"{self.work}/{package}"
        for path in e2e.run("dpkg-query", "-L", package).splitlines():
            if path == "/.":
                continue
            os.makedirs(os.path.dirname(tree + path), exist_ok=True)
            if os.path.islink(path) and os.path.isdir(path):
                continue  # /lib
            if os.path.isdir(path):
                os.makedirs(tree + path, exist_ok=True)
            elif os.path.lexists(path):
                shutil.copy2(path, tree + path, follow_symlinks=False)
        os.mkdir(f"{tree}/DEBIAN")
        for name in ("postinst", "prerm", "postrm", "preinst", "triggers", "conffiles"):
            for found in glob.glob(f"/var/lib/dpkg/info/{package}.{name}") + \
                    glob.glob(f"/var/lib/dpkg/info/{package}:*.{name}"):
                shutil.copy2(found, f"{tree}/DEBIAN/{name}")
        status = e2e.run("dpkg-query", "-s", package)
        with open(f"{tree}/DEBIAN/control", "w", encoding="utf-8") as file:
            file.write(re.sub(r"^(Status|Conffiles):.*\n( .*\n)*", "", status, flags=re.M))

    def debs(self, revision, change=None):
        """All of them as `revision`; change(tree) changes the files of one. Returns their paths."""
        made = []
        for package in self.packages:
            tree = f"{self.work}/{package}-{revision}"
            shutil.copytree(f"{self.work}/{package}", tree, symlinks=True)
            control = f"{tree}/DEBIAN/control"
            with open(control, encoding="utf-8") as file:
                text = file.read().replace(self.revision, revision)
            with open(control, "w", encoding="utf-8") as file:
                file.write(text)
            if change:
                change(tree)
            made.append(pack(tree))
        return made

    def another_upstream(self):
        """A version as long as the installed one, and newer."""
        major, _, minor = self.upstream.rpartition(".")
        if int(minor[-1]) < 9:
            return f"{major}.{int(minor) + 1}"
        return f"{int(major) + 1}.{minor}"


def pack(tree):
    deb = f"{tree}.deb"
    e2e.run("dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", tree, deb)
    shutil.rmtree(tree)
    return deb


def rename_core(tree, old, new):
    """In all files of a tree: the core library of upstream version `old` is that of `new`."""
    names = [f"libganesha_nfsd.so.{v}" for v in (old, new)]
    for directory, _, files in os.walk(tree):
        for path in (f"{directory}/{file}" for file in files):
            if os.path.islink(path):
                if os.readlink(path).endswith(names[0]):
                    target = os.readlink(path).replace(*names)
                    os.remove(path)
                    os.symlink(target, path)
                continue
            with open(path, "rb") as file:
                data = file.read()
            if data.startswith(b"\x7fELF") and names[0].encode() in data:
                with open(path, "wb") as file:
                    file.write(data.replace(names[0].encode(), names[1].encode()))
        for file in files:
            if file == names[0]:
                os.rename(f"{directory}/{file}", f"{directory}/{names[1]}")


def repack(deb, work, *changes, change=None):
    """Our own package with these (old, new) in its control file. Returns its path."""
    tree = f"{work}/repacked-{len(os.listdir(work))}"
    e2e.run("dpkg-deb", "-R", deb, tree)
    with open(f"{tree}/DEBIAN/control", encoding="utf-8") as file:
        text = file.read()
    for old, new in changes:
        assert re.search(old, text, re.M), (old, text)
        text = re.sub(old, new, text, flags=re.M)
    with open(f"{tree}/DEBIAN/control", "w", encoding="utf-8") as file:
        file.write(text)
    if change:
        change(tree)
    return pack(tree)
