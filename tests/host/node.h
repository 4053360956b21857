/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A device with one RC queue pair and one region, and what it was told through callbacks. */
#ifndef ADV_TESTS_HOST_NODE_H
#define ADV_TESTS_HOST_NODE_H

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "host/device.h"

#define NODE_BUFFER (1 << 20)

/* ns: what takes longer hangs. */
#define PATIENCE 120000000000ull

#define WAIT_UNTIL(condition)                                                                      \
	do {                                                                                       \
		uint64_t give_up_ = adv_clock_ns() + PATIENCE;                                     \
		while (!(condition)) {                                                             \
			assert_true(adv_clock_ns() < give_up_);                                    \
			usleep(1000);                                                              \
		}                                                                                  \
	} while (0)

struct node {
	struct adv_device *d;
	struct adv_pd *pd;
	struct adv_cq *cq;
	struct adv_qp *qp;
	struct adv_mr *mr;
	uint8_t *buffer;
	sem_t completion; /* posted by the callback */
	atomic_uint gid_changes;
	atomic_uint port_downs;
	atomic_uint port_ups;
	atomic_uint fatals;
	atomic_uint async[IBV_EVENT_WQ_FATAL + 1]; /* events of objects, by type */
};

/* The device would start adverbd; but it does so in a way that TSan takes for races. Exits the test
 * where it does not come to listen. */
int node_start_daemon(void **state);
/* Ends it: these two are a group's setup and teardown. */
int node_stop_daemon(void **state);

void node_open(struct node *n);
void node_close(struct node *n);
/* Each to the other, or one to itself, over the first GID. */
void node_connect(struct node *a, struct node *b);

/* Makes QPs until one's number is not its slot's own, but of a block; returns that one. */
struct adv_qp *node_outgrow(struct node *n);

/* Posts one signalled WRITE from n's buffer[from..] to the peer's buffer[to..]. */
int node_write(struct node *n, struct node *peer, uint64_t wr_id, uint32_t from, uint32_t to,
	       uint32_t length);
/* Posts one receive of length bytes at offset. */
void node_recv(struct node *n, uint64_t wr_id, uint32_t offset, uint32_t length);
/* Posts one signalled SEND. */
int node_send(struct node *n, uint64_t wr_id, uint32_t offset, uint32_t length);

/* Polls, receiving meanwhile. Fails the test after ten seconds. */
void node_poll(struct node *n, struct ibv_wc *wc);
/* Looks for a completion and does not receive: another thread must receive. */
bool node_look(struct node *n, struct ibv_wc *wc);
void node_wait(struct node *n, struct ibv_wc *wc);

/* Fails the test unless a's buffer[i..] and b's buffer[j..] are the same. */
void node_compare(struct node *a, uint32_t i, struct node *b, uint32_t j, uint32_t length);

unsigned open_descriptors(void);
unsigned threads(void);

#endif
