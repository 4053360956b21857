/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A test's device with one RC queue pair and one region, and a record of its callbacks. */
#ifndef ADV_TESTS_RUNTIME_DEVICE_NODE_H
#define ADV_TESTS_RUNTIME_DEVICE_NODE_H

#include <pthread.h>
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
#include "runtime/device/device.h"

#define NODE_BUFFER (1 << 20)

/* ns; an operation that takes longer is taken for a hang */
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
	sem_t completion; /* posted by the completion callback */
	atomic_uint gid_changes;
	atomic_uint port_downs;
	atomic_uint port_ups;
	atomic_uint fatals;
	atomic_uint async[IBV_EVENT_WQ_FATAL + 1]; /* number of events of objects, by type */
};

/* Setup of a group: starts adverbd. The device would also start it, but in a way that TSan reports
 * as races. If adverbd does not begin to listen, ends the test process. */
int node_start_daemon(void **state);
/* Teardown of a group: ends adverbd. */
int node_stop_daemon(void **state);

void node_open(struct node *n);
void node_close(struct node *n);
/* Connects the QPs of a and b to each other over the first GID. If a and b are the same, connects
 * the QP to itself. */
void node_connect(struct node *a, struct node *b);

/* Creates QPs until the number of one is in a block and not in the slot. Returns that QP. */
struct adv_qp *node_outgrow(struct node *n);

/* Posts one signalled WRITE from n's buffer[from..] to the peer's buffer[to..]. */
int node_write(struct node *n, struct node *peer, uint64_t wr_id, uint32_t from, uint32_t to,
	       uint32_t length);
/* Posts one receive of length bytes at offset. */
void node_recv(struct node *n, uint64_t wr_id, uint32_t offset, uint32_t length);
/* Posts one signalled SEND. */
int node_send(struct node *n, uint64_t wr_id, uint32_t offset, uint32_t length);

/* Polls until a completion is available, and receives meanwhile. Fails the test after ten seconds.
 */
void node_poll(struct node *n, struct ibv_wc *wc);
/* True if a completion is available, which it dequeues. Does not receive: another thread must
 * receive. */
bool node_look(struct node *n, struct ibv_wc *wc);
/* Calls node_look() until it returns true. */
void node_wait(struct node *n, struct ibv_wc *wc);

/* Starts a thread that waits for an event which does not come. */
pthread_t node_start_waiting(struct node *n);
void node_stop_waiting(pthread_t thread);

/* Fails the test if a's buffer[i..] and b's buffer[j..] differ. */
void node_compare(struct node *a, uint32_t i, struct node *b, uint32_t j, uint32_t length);

unsigned open_descriptors(void);
unsigned threads(void);

#endif
