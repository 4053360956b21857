/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lesson 10: WRITEs as fast as possible. Usage: congestion [SECONDS] */
#include <time.h>
#include "pair.h"

#define OUTSTANDING 8
#define INTERVAL    0.5 /* seconds between two lines */

static double now(void)
{
	struct timespec time;

	check(!clock_gettime(CLOCK_MONOTONIC, &time), "clock_gettime");
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Writes to the server for one interval. Returns the rate in Gb/s. */
static double write_for_an_interval(struct pair *p)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {.remote_addr = p->peer.address, .rkey = p->peer.rkey}};
	double begin = now(), end;
	long completed = 0;

	for (int i = 0; i < OUTSTANDING; i++)
		post(p, wr, MEMORY);
	do { /* each completion makes room for the next request */
		complete_well(p->cq, "a WRITE");
		completed++;
		post(p, wr, MEMORY);
		end = now();
	} while (end - begin < INTERVAL);
	for (int i = 0; i < OUTSTANDING; i++)
		complete_well(p->cq, "a WRITE");
	return (double)completed * MEMORY * 8 / (end - begin) / 1e9;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 1);
	struct pair p;

	pair_open(&p);
	pair_connect(&p);
	if (is_client(&p)) {
		while (now() < end)
			say(&p, "%.2f Gb/s", write_for_an_interval(&p));
	}
	meet(&p);
	return pair_close(&p);
}
