/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trouble GID PORT: accepts one connection, posts no receive requests, waits until it is killed.
 * trouble GID PORT HOST MODE: connects to it, posts requests by MODE until one fails, and then
 * waits until it is killed.
 *
 * - write: WRITEs of 8 KiB, one after another
 * - send: SENDs of 64 bytes, one after another
 * - sends: 16 SENDs at once
 * - rkey, read-rkey, add-rkey: one request with an R_Key that the peer does not have
 * - write-bounds: one WRITE that exceeds the peer's memory region
 * - bounds: one WRITE whose buffer exceeds its own memory region
 * - unpolled: one WRITE, whose completion the program never polls
 * - unsignaled: as many unsignaled WRITEs as the send queue has room for
 * - no-timeout: WRITEs as in mode write, of a queue pair with timeout 0
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
#define DEPTH	   16 /* of the queues, see peer.c */
/* Local ACK Timeout 2^18 x 4.096 us, 1.07 s: the retries last long enough to look at them. */
#define TIMEOUT 18

static const struct mode {
	const char *name;
	enum ibv_wr_opcode opcode;
	int count;	     /* requests that are posted at once */
	bool unsignaled;     /* none of them */
	bool waits;	     /* after it has posted once, the program only waits */
	uint32_t wrong_rkey; /* bits that are changed */
	uint32_t beyond;     /* bytes between the begin of the buffer and that of the request */
	uint32_t peer_beyond;
	bool no_timeout;
} modes[] = {
	{.name = "write", .opcode = IBV_WR_RDMA_WRITE, .count = 1},
	{.name = "send", .opcode = IBV_WR_SEND, .count = 1},
	{.name = "sends", .opcode = IBV_WR_SEND, .count = DEPTH},
	{.name = "rkey", .opcode = IBV_WR_RDMA_WRITE, .count = 1, .wrong_rkey = 0x5a5a0000},
	{.name = "read-rkey", .opcode = IBV_WR_RDMA_READ, .count = 1, .wrong_rkey = 0x5a5a0000},
	{.name = "add-rkey",
	 .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
	 .count = 1,
	 .wrong_rkey = 0x5a5a0000},
	{.name = "write-bounds",
	 .opcode = IBV_WR_RDMA_WRITE,
	 .count = 1,
	 .peer_beyond = LENGTH / 2},
	{.name = "bounds", .opcode = IBV_WR_RDMA_WRITE, .count = 1, .beyond = LENGTH / 2},
	{.name = "unpolled", .opcode = IBV_WR_RDMA_WRITE, .count = 1, .waits = true},
	{.name = "unsignaled",
	 .opcode = IBV_WR_RDMA_WRITE,
	 .count = DEPTH,
	 .unsignaled = true,
	 .waits = true},
	{.name = "no-timeout", .opcode = IBV_WR_RDMA_WRITE, .count = 1, .no_timeout = true},
};

static const struct mode *find_mode(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, name) == 0)
			return &modes[i];
	fprintf(stderr, "trouble: no mode '%s'\n", name);
	exit(1);
}

static uint32_t length_of(const struct mode *m)
{
	if (m->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return sizeof(uint64_t);
	return m->opcode == IBV_WR_SEND ? SEND_BYTES : LENGTH;
}

static void post(struct peer *p, const struct mode *m)
{
	struct ibv_sge sge = {(uintptr_t)p->buffer + m->beyond, length_of(m), p->mr->lkey};
	uint64_t addr = p->remote[0].buffer + m->peer_beyond;
	uint32_t rkey = p->remote[0].rkey ^ m->wrong_rkey;
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = m->opcode,
				 .send_flags = m->unsignaled ? 0 : IBV_SEND_SIGNALED};

	if (m->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = rkey;
	}
	for (int i = 0; i < m->count; i++)
		if (ibv_post_send(p->qp[0], &wr, &bad))
			exit(1);
}

/* Posts requests one after another until one fails. */
static void post_until_failure(struct peer *p, const struct mode *m)
{
	struct ibv_wc wc = {.status = IBV_WC_SUCCESS};

	while (wc.status == IBV_WC_SUCCESS) {
		post(p, m);
		for (int i = 0; i < m->count && wc.status == IBV_WC_SUCCESS; i++) {
			int n;

			while ((n = ibv_poll_cq(p->cq, 1, &wc)) == 0)
				usleep(100);
			if (n < 0)
				exit(1);
		}
	}
	printf("failed %s\n", ibv_wc_status_str(wc.status));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct mode *m = argc > 4 ? find_mode(argv[4]) : NULL;
	struct peer p;

	if (argc < 3 || peer_open(&p, 1, LENGTH, atoi(argv[1])))
		return 1;
	p.timeout = TIMEOUT;
	p.no_timeout = m && m->no_timeout;
	if (peer_meet(&p, argc > 3 ? argv[3] : NULL, atoi(argv[2])) || peer_connect(&p))
		return 1;
	puts("ready");
	fflush(stdout);
	if (m && m->waits)
		post(&p, m);
	else if (m)
		post_until_failure(&p, m);
	for (;;)
		pause();
}
