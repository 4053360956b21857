/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "lab_far.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct hello {
	uint32_t psn;
	uint32_t qp_num;
};

static int other; /* socket to the other process */

static void tell(const void *p, size_t length)
{
	lab_need(write(other, p, length) == (ssize_t)length, "write to the other process");
}

static void hear(void *p, size_t length)
{
	lab_need(read(other, p, length) == (ssize_t)length, "read from the other process");
}

static void open_end(struct lab *l, struct ibv_qp *peer)
{
	struct ibv_qp_init_attr attr;
	struct hello own, theirs;

	lab_device(l);
	attr = lab_create_attr(l);
	l->a = ibv_create_qp(l->pd, &attr);
	lab_need(l->a != NULL, "ibv_create_qp");
	lab_to_init(l->a);
	own = (struct hello){l->psn, l->a->qp_num};
	tell(&own, sizeof(own));
	hear(&theirs, sizeof(theirs));
	l->psn ^= theirs.psn;
	peer->qp_num = theirs.qp_num;
}

static void run_child(struct lab *l, struct ibv_qp *peer)
{
	char done = 0;

	open_end(l, peer);
	lab_to_rtr(l, l->a, peer);
	lab_to_rts(l, l->a);
	tell(&done, 1);
	hear(&done, 1);
	lab_close(l);
	exit(0);
}

void lab_far(struct lab *l, struct ibv_qp *peer)
{
	int pair[2];
	pid_t child;
	char done;

	lab_need(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	child = fork();
	lab_need(child >= 0, "fork");
	other = pair[child != 0];
	close(pair[child == 0]);
	if (child == 0)
		run_child(l, peer);
	open_end(l, peer);
	lab_name("own", "qp 0x%06x", l->a->qp_num);
	hear(&done, 1);
}

void lab_far_close(struct lab *l)
{
	int status;

	tell("", 1);
	lab_need(wait(&status) > 0 && status == 0, "the other process");
	lab_close(l);
}
