# SPDX-License-Identifier: LGPL-3.0-or-later
"""Core libraries of Ganesha that the plugin does not fit, made of the installed one: with another idea
of a structure, without a symbol, of another version. The server and FSAL_VFS go on working with them.
"""
import glob
import os
import re
import shutil

import e2e

# A method more at the end of the table: what a core with another layout does.
SLOT_MORE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
void fsal_default_obj_ops_init(void *ops)
{
	static char before[65536];
	void (*next)(void *) = (void (*)(void *))dlsym(RTLD_NEXT, __func__);
	int end = sizeof(before) - 1;

	memset(before, 0x5a, sizeof(before));
	next(before);
	while (before[end] == 0x5a)
		end--;
	next(ops);
	if (%(larger)s)
		memset((char *)ops + end + 1, 0, sizeof(void *));
}
"""
# Only the probe has room for it: in tables of others' it would be a crash of the server's own.
FOR_THE_PROBE = "((unsigned char *)ops)[end + 1 + sizeof(void *)] == 0xa5"


def library():
    """The installed core library, the file itself."""
    found = glob.glob("/usr/lib/ganesha/libganesha_nfsd.so.*") + \
        glob.glob("/usr/lib64/libganesha_nfsd.so.*") + \
        glob.glob("/usr/lib/*/ganesha/libganesha_nfsd.so.*")
    return os.path.realpath(found[0])


def patch(path, old, new):
    """One name among a library's strings by another as long."""
    with open(path, "rb") as file:
        data = file.read()
    old, new = (b"\0" + name.encode() + b"\0" for name in (old, new))
    assert len(old) == len(new) and data.count(old) == 1, (path, old, data.count(old))
    with open(path, "wb") as file:
        file.write(data.replace(old, new))


def symbols(path, option):
    lines = e2e.run("nm", "-D", option, path).splitlines()
    return {re.sub("@.*", "", line.split()[-1]) for line in lines}


def only_ours(plugin):
    """A symbol of the core's that the plugin needs, and neither the server nor FSAL_VFS do."""
    ours = symbols(plugin, "--undefined-only") & symbols(library(), "--defined-only")
    for other in [shutil.which("ganesha.nfsd"), *e2e.distribution_fsals()]:
        ours -= symbols(other, "--undefined-only")
    with open(library(), "rb") as file:
        data = file.read()
    return min(s for s in ours if data.count(b"\0" + s.encode() + b"\0") == 1)


def without_symbol(directory, symbol):
    """The core in `directory`, with that symbol under another name."""
    fake = shutil.copy(library(), directory)
    patch(fake, symbol, symbol[:-1] + "_")


def with_slot(directory):
    """The core in `directory`, with a method more in fsal_obj_ops."""
    name = os.path.basename(library())
    real = name.replace("nfsd", "real")
    shutil.copy(library(), f"{directory}/{real}")
    patch(f"{directory}/{real}", name, real)
    with open(f"{directory}/slot.c", "w", encoding="ascii") as file:
        file.write(SLOT_MORE % {"larger": FOR_THE_PROBE})
    e2e.run("cc", "-shared", "-fPIC", "-O1", f"-Wl,-soname,{name}", "-Wl,-rpath,$ORIGIN",
            "-o", f"{directory}/{name}", f"{directory}/slot.c", "-Wl,--no-as-needed",
            f"{directory}/{real}")
    os.remove(f"{directory}/slot.c")
