/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The child of fork() uses its parent's objects. */
#include <sys/wait.h>
#include <unistd.h>

#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_wc wc;
	pid_t child;

	lab_need(!ibv_fork_init(), "ibv_fork_init");
	lab_device(&l);
	child = fork();
	if (!child) {
		if (!MENDED)
			ibv_poll_cq(l.cq, 1, &wc); /* finds fork-child-uses-device: cq */
		_exit(0);
	}
	lab_need(child > 0 && waitpid(child, NULL, 0) == child, "fork");
	lab_close(&l);
	return 0;
}
