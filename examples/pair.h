/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two processes, a client and a server, with one queue pair each. Lesson 3 explains this file. A
 * function that fails prints the reason and ends the program.
 */
#ifndef PAIR_H
#define PAIR_H

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "lesson.h"

#define MEMORY 4096 /* bytes of each end */

struct pair {
	pid_t server; /* the server's process; 0 in the server */
	int sock;     /* to the other process */
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	char *memory; /* the memory of mr, MEMORY bytes */
	struct end peer;
	struct ibv_qp_attr attr; /* of the connection */
};

static inline int is_client(const struct pair *p)
{
	return p->server != 0;
}

/* Prints a line that begins with the name of this end. */
__attribute__((format(printf, 2, 3))) static inline void say(const struct pair *p,
							     const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	printf("%s: ", is_client(p) ? "client" : "server");
	vprintf(format, arguments);
	putchar('\n');
	va_end(arguments);
}

/* Waits until the other end calls this, too. Each call is one step of both ends. */
static inline void meet(const struct pair *p)
{
	char byte = 0;

	fflush(stdout);
	check(send(p->sock, &byte, 1, MSG_NOSIGNAL) == 1, "send");
	if (recv(p->sock, &byte, 1, 0) != 1)
		errx(1, "the other end has ended");
}

/* Starts the server's process. Both processes return, each with a socket to the other. */
static inline void pair_fork(struct pair *p)
{
	int socks[2];

	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, socks), "socketpair");
	p->server = fork();
	check(p->server >= 0, "fork");
	p->sock = socks[is_client(p)];
	check(!close(socks[!is_client(p)]), "close");
	if (!is_client(p)) /* the server ends with the client */
		check(!prctl(PR_SET_PDEATHSIG, SIGTERM), "prctl");
}

/* Creates the objects of this end. */
static inline void pair_create(struct pair *p)
{
	p->context = open_device();
	p->pd = ibv_alloc_pd(p->context);
	check(p->pd != NULL, "ibv_alloc_pd");
	p->channel = ibv_create_comp_channel(p->context);
	check(p->channel != NULL, "ibv_create_comp_channel");
	p->cq = ibv_create_cq(p->context, 64, NULL, p->channel, 0);
	check(p->cq != NULL, "ibv_create_cq");
	p->memory = calloc(1, MEMORY);
	check(p->memory != NULL, "calloc");
	p->mr = ibv_reg_mr(p->pd, p->memory, MEMORY,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	check(p->mr != NULL, "ibv_reg_mr");
	p->qp = create_qp(p->pd, p->cq);
}

/* Starts both ends. They know each other, but their queue pairs are not connected yet. */
static inline void pair_open(struct pair *p)
{
	struct end mine;

	setvbuf(stdout, NULL, _IOLBF, 0);
	pair_fork(p);
	pair_create(p);
	mine = describe(p->qp);
	mine.rkey = p->mr->rkey;
	mine.address = (uintptr_t)p->memory;
	check(send(p->sock, &mine, sizeof(mine), MSG_NOSIGNAL) == sizeof(mine), "send");
	if (recv(p->sock, &p->peer, sizeof(p->peer), MSG_WAITALL) != sizeof(p->peer))
		errx(1, "the other end has ended");
	p->attr = attributes(p->context, &mine, &p->peer);
}

/* Connects the queue pairs. Returns when both are ready. */
static inline void pair_connect(struct pair *p)
{
	connect_qp(p->qp, &p->attr);
	meet(p);
}

/* Posts a receive request for a part of this end's memory. Its wr_id is the offset. */
static inline void post_receive(const struct pair *p, size_t offset, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)p->memory + offset, length, p->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = offset, .sg_list = &sge, .num_sge = 1}, *bad;

	errno = ibv_post_recv(p->qp, &wr, &bad);
	check(!errno, "ibv_post_recv");
}

/* Posts a request of the send queue with the first `length` bytes of this end's memory. */
static inline void post(const struct pair *p, struct ibv_send_wr wr, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)p->memory, length, p->mr->lkey};
	struct ibv_send_wr *bad;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	errno = ibv_post_send(p->qp, &wr, &bad);
	check(!errno, "ibv_post_send");
}

/* Both ends stay for the seconds of the program's argument. */
static inline void pair_stay(const struct pair *p, int argc, char **argv)
{
	meet(p);
	if (is_client(p))
		stay(argc, argv);
	meet(p);
}

/* Ends both ends: destroys all objects. Returns the exit status of the program. */
static inline int pair_close(struct pair *p)
{
	int status = 0;

	check(!ibv_destroy_qp(p->qp), "ibv_destroy_qp");
	check(!ibv_dereg_mr(p->mr), "ibv_dereg_mr");
	check(!ibv_destroy_cq(p->cq), "ibv_destroy_cq");
	check(!ibv_destroy_comp_channel(p->channel), "ibv_destroy_comp_channel");
	check(!ibv_dealloc_pd(p->pd), "ibv_dealloc_pd");
	check(!ibv_close_device(p->context), "ibv_close_device");
	free(p->memory);
	check(!close(p->sock), "close");
	if (is_client(p))
		check(waitpid(p->server, &status, 0) == p->server, "waitpid");
	return status != 0;
}

#endif
