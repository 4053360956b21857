/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sleeper [-p port] [-t seconds] [host]
 *
 * One-sided operations on an idle process. Without host: registers memory, connects, and sleeps in
 * one nanosleep(2) without calling verbs. With host: writes into the memory of the sleeping
 * process, reads from it, adds to a word of it, and reports the elapsed time. The sleeper then
 * compares its memory. Exit status: 0 on success.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

#define AREA	   (1u << 20) /* bytes written, and bytes read */
#define WRITE_AT   0u
#define READ_AT	   AREA
#define COUNTER_AT (2 * AREA)
#define TOTAL	   (2 * AREA + 4096)
#define WRITE_SEED 11u
#define READ_SEED  22u
#define ADDED	   42u

static int asleep(double seconds)
{
	struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

	if (nanosleep(&t, NULL)) {
		perror("nanosleep was interrupted");
		return -1;
	}
	return 0;
}

static int sleeper(struct peer *p, double seconds)
{
	double took = 0;
	uint64_t counter;

	peer_fill(p->buffer + READ_AT, AREA, READ_SEED);
	if (peer_connect(p) || asleep(seconds))
		return -1;
	if (peer_compare(p->buffer + WRITE_AT, AREA, WRITE_SEED))
		return -1;
	memcpy(&counter, p->buffer + COUNTER_AT, sizeof(counter));
	if (counter != ADDED) {
		fprintf(stderr, "invalid data: counter is %llu\n", (unsigned long long)counter);
		return -1;
	}
	if (peer_hear(p, &took, sizeof(took)))
		return -1;
	printf("slept %.1f s; the peer needed %.3f s of it\n", seconds, took);
	return took < seconds ? 0 : -1;
}

static int operate(struct peer *p, enum ibv_wr_opcode opcode, uint32_t at, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)p->buffer + at, length, p->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 1,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = p->remote[0].buffer + at;
		wr.wr.atomic.rkey = p->remote[0].rkey;
		wr.wr.atomic.compare_add = ADDED;
	} else {
		wr.wr.rdma.remote_addr = p->remote[0].buffer + at;
		wr.wr.rdma.rkey = p->remote[0].rkey;
	}
	errno = ibv_post_send(p->qp[0], &wr, &bad);
	if (errno) {
		perror("ibv_post_send");
		return -1;
	}
	return peer_complete(p, &wc, 30);
}

static int waker(struct peer *p)
{
	double start;
	double took;

	peer_fill(p->buffer + WRITE_AT, AREA, WRITE_SEED);
	if (peer_connect(p))
		return -1;
	usleep(200000); /* by then the other process sleeps */
	start = peer_now();
	if (operate(p, IBV_WR_RDMA_WRITE, WRITE_AT, AREA) ||
	    operate(p, IBV_WR_RDMA_READ, READ_AT, AREA) ||
	    operate(p, IBV_WR_ATOMIC_FETCH_AND_ADD, COUNTER_AT, 8))
		return -1;
	took = peer_now() - start + 0.2;
	if (peer_compare(p->buffer + READ_AT, AREA, READ_SEED))
		return -1;
	printf("wrote and read %u bytes of a sleeping process in %.3f s\n", AREA, took - 0.2);
	return peer_tell(p, &took, sizeof(took));
}

int main(int argc, char **argv)
{
	struct peer p;
	double seconds = 3;
	int port = 18700;
	int result = 1;
	int option;

	while ((option = getopt(argc, argv, "p:t:")) != -1) {
		if (option == 'p')
			port = atoi(optarg);
		else if (option == 't')
			seconds = atof(optarg);
		else
			return 2;
	}
	if (!peer_open(&p, 1, TOTAL, 0) && !peer_meet(&p, argv[optind], port))
		result = argv[optind] ? waker(&p) : sleeper(&p, seconds);
	peer_close(&p);
	printf("%s\n", result ? "failed" : "ok");
	return result ? 1 : 0;
}
