/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trouble GID PORT: accepts one connection, posts no receive requests, waits until it is killed.
 * trouble GID PORT HOST MODE: connects to it, posts requests by MODE until one fails, and then
 * waits until it is killed.
 *
 * - write: WRITEs of 8 KiB, one after another
 * - send: SENDs of 64 bytes, one after another
 * - rkey: one WRITE with an R_Key that the peer does not have
 * - bounds: one WRITE whose buffer exceeds its memory region
 * - unpolled: one WRITE, whose completion the program never polls
 *
 * Prints "ready" after it is connected, and "failed STATUS" for a failed request.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

#define LENGTH	   8192
#define SEND_BYTES 64
/* Local ACK Timeout 2^18 x 4.096 us, 1.07 s: the retries last long enough to look at them. */
#define TIMEOUT 18

static int post(struct peer *p, const char *mode)
{
	bool is_send = strcmp(mode, "send") == 0;
	struct ibv_sge sge = {(uintptr_t)p->buffer, is_send ? SEND_BYTES : LENGTH, p->mr->lkey};
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = is_send ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED};

	wr.wr.rdma.remote_addr = p->remote[0].buffer;
	wr.wr.rdma.rkey = p->remote[0].rkey;
	if (strcmp(mode, "rkey") == 0)
		wr.wr.rdma.rkey ^= 0x5a5a0000;
	if (strcmp(mode, "bounds") == 0)
		sge.addr += LENGTH / 2;
	return ibv_post_send(p->qp[0], &wr, &bad);
}

/* Posts requests one after another until one fails. */
static void post_until_failure(struct peer *p, const char *mode)
{
	struct ibv_wc wc = {.status = IBV_WC_SUCCESS};

	while (wc.status == IBV_WC_SUCCESS) {
		int n = 0;

		if (post(p, mode))
			exit(1);
		while (n == 0) {
			n = ibv_poll_cq(p->cq, 1, &wc);
			usleep(100);
		}
		if (n < 0)
			exit(1);
	}
	printf("failed %s\n", ibv_wc_status_str(wc.status));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 4 ? argv[4] : "wait";
	struct peer p;

	if (argc < 3 || peer_open(&p, 1, LENGTH, atoi(argv[1])))
		return 1;
	p.timeout = TIMEOUT;
	if (peer_meet(&p, argc > 3 ? argv[3] : NULL, atoi(argv[2])) || peer_connect(&p))
		return 1;
	puts("ready");
	fflush(stdout);
	if (strcmp(mode, "unpolled") == 0 && post(&p, mode))
		return 1;
	if (strcmp(mode, "unpolled") != 0 && strcmp(mode, "wait") != 0)
		post_until_failure(&p, mode);
	for (;;)
		pause();
}
