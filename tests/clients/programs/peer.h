/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the test programs of this folder: one device, one registered buffer, some RC queue
 * pairs, and their connection to another process by a few bytes over TCP. They use plain verbs, and
 * are built and linked with the system's rdma-core like a user's program.
 *
 * Functions return 0, or -1 after a line on standard error.
 */
#ifndef TESTS_CLIENTS_PEER_H
#define TESTS_CLIENTS_PEER_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define PEER_MAX_QPS 64

/* What each side sends to the other, for each queue pair. */
struct peer_address {
	uint32_t qpn;
	uint32_t psn;
	uint32_t rkey;
	uint32_t unused;
	uint64_t buffer;
	union ibv_gid gid;
};

struct peer {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[PEER_MAX_QPS];
	struct peer_address remote[PEER_MAX_QPS];
	unsigned qps;
	uint8_t *buffer;
	size_t length;
	int sock;
	int gid_index;
	uint8_t timeout; /* timeout of the QPs, as in struct ibv_qp_attr; 0: 14 */
	int no_timeout;	 /* the timeout is 0, whatever `timeout` is: nothing is sent again */
};

/* Opens the first device, registers `length` zeroed bytes, creates `qps` RC queue pairs. */
int peer_open(struct peer *p, unsigned qps, size_t length, int gid_index);

/* Accepts one TCP connection on port (host NULL), or tries for 10 s to connect to host. */
int peer_meet(struct peer *p, const char *host, int port);

/* Exchanges addresses over the connection and moves all queue pairs to RTS. */
int peer_connect(struct peer *p);

/* Send and receive whole messages over the TCP connection. */
int peer_tell(struct peer *p, const void *bytes, size_t length);
int peer_hear(struct peer *p, void *bytes, size_t length);

/* True if the other process has closed its connection or died. */
int peer_gone(const struct peer *p);

/* Polls one completion for up to `seconds`. 0; -1: none, or it failed. */
int peer_complete(struct peer *p, struct ibv_wc *wc, double seconds);

void peer_close(struct peer *p);

/* Seconds of CLOCK_MONOTONIC. */
double peer_now(void);

/* Fill and compare a pattern that depends on seed and position; -1: it differs. */
void peer_fill(uint8_t *bytes, size_t length, uint32_t seed);
int peer_compare(const uint8_t *bytes, size_t length, uint32_t seed);

#endif
