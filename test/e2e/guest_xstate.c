/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A library for User-mode Linux (LD_PRELOAD, see user_mode_linux) on processors with AMX.
 *
 * It sets its processes' floating point registers by PTRACE_SETREGSET from 2,696 bytes, which is all that processors had
 * when it was written, and the host refuses less than all that its own has: EFAULT, and the guest's first process
 * dies. Here what is given is put over the beginning of what the process has, and all of that is set.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

/* Bytes of a process's state at most; those with AMX have 11,008. User-mode Linux sets registers on one thread. */
#define STATE_MAX (64 << 10)

static unsigned char whole[STATE_MAX] __attribute__((aligned(64)));

typedef long ptrace_call(enum __ptrace_request, ...);

static long set_part(ptrace_call *real, long pid, void *set, const struct iovec *part)
{
	struct iovec all = {whole, sizeof(whole)};

	if (real(PTRACE_GETREGSET, pid, set, &all) < 0)
		return -1;
	if (part->iov_len > all.iov_len) {
		errno = EFAULT;
		return -1;
	}
	memcpy(whole, part->iov_base, part->iov_len);
	return real(PTRACE_SETREGSET, pid, set, &all);
}

long ptrace(enum __ptrace_request request, ...)
{
	ptrace_call *real = (ptrace_call *)dlsym(RTLD_NEXT, "ptrace");
	void *address, *data;
	va_list arguments;
	long pid, done;

	va_start(arguments, request);
	pid = va_arg(arguments, long);
	address = va_arg(arguments, void *);
	data = va_arg(arguments, void *);
	va_end(arguments);
	done = real(request, pid, address, data);
	if (done >= 0 || errno != EFAULT || request != PTRACE_SETREGSET ||
	    address != (void *)NT_X86_XSTATE)
		return done;
	return set_part(real, pid, address, data);
}
