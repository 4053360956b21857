/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Forks with a device open and memory registered, without ibv_fork_init(). */
#include <sys/wait.h>
#include <unistd.h>

#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	pid_t child;

	if (MENDED)
		lab_need(!ibv_fork_init(), "ibv_fork_init");
	lab_device(&l);
	child = fork(); /* finds fork-without-init: mr */
	if (!child)
		_exit(0);
	lab_need(child > 0 && waitpid(child, NULL, 0) == child, "fork");
	lab_close(&l);
	return 0;
}
