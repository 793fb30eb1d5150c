/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One blocking call in a child process. See async_call.h. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "async_call.h"

static void __attribute__((noreturn))
child(pid_t parent, async_run run, const void *arg, void *result)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close_range(0, ~0U, 0); /* who reads our output must not wait for this child */
	run(arg, result);
	_exit(EXIT_SUCCESS);
}

static void release(struct async_call *c)
{
	munmap(c->shared, c->size);
	*c = (struct async_call){0};
}

bool async_call_start(struct async_call *c, async_run run, const void *arg, size_t size)
{
	const pid_t parent = getpid();
	void *shared;

	if (c->child)
		return false;
	shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return false;
	*c = (struct async_call){.child = fork(), .shared = shared, .size = size};
	if (c->child == 0)
		child(parent, run, arg, shared);
	if (c->child > 0)
		return true;
	release(c);
	return false;
}

bool async_call_done(struct async_call *c, void *result)
{
	int status;
	bool good;

	if (!c->child || waitpid(c->child, &status, WNOHANG) != c->child)
		return false;
	good = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
	if (good)
		memcpy(result, c->shared, c->size);
	release(c);
	return good; /* else somebody has killed it: there is no result */
}

bool async_call_drop(struct async_call *c, struct async_stuck *stuck)
{
	if (!c->child)
		return true;
	kill(c->child, SIGKILL);
	async_stuck_reap(stuck);
	if (waitpid(c->child, NULL, WNOHANG) == 0) {
		if (stuck->count == ASYNC_STUCK_MAX)
			return false;
		stuck->children[stuck->count++] = c->child;
	}
	release(c);
	return true;
}

void async_stuck_reap(struct async_stuck *stuck)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < stuck->count; i++)
		if (waitpid(stuck->children[i], NULL, WNOHANG) == 0)
			stuck->children[left++] = stuck->children[i];
	stuck->count = left;
}
