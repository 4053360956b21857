/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two ends of a connection in one process, each with an event channel, against a real adverbd.
 * Everything goes through the public headers: the tests are programs like any other.
 */
#ifndef ADV_TESTS_RDMACM_ENDS_H
#define ADV_TESTS_RDMACM_ENDS_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define PATIENCE_MS 60000 /* what takes longer hangs */

struct ends {
	struct rdma_event_channel *channel; /* of the active end */
	struct rdma_event_channel *passive; /* of the listener, and of what it accepts */
	struct rdma_cm_id *listener;
	struct rdma_cm_id *client;
	struct rdma_cm_id *server; /* NULL until a request has come */
};

/* An address of this text; `port` in host order. */
struct sockaddr *address(const char *text, uint16_t port);

/* A listener on `text` and a client id whose route to it is resolved. `ps` TCP or UDP. */
void ends_open(struct ends *e, const char *text, enum rdma_port_space ps);
/* Destroys what there is, QPs too. */
void ends_close(struct ends *e);
/* A QP with CQs of its own for an id. */
void make_qp(struct rdma_cm_id *id, enum ibv_qp_type type);
/* Connects with QPs at both ends: ESTABLISHED has been seen by both. */
void ends_connect(struct ends *e);
/* Takes CONNECT_REQUEST; e->server is the id. The event is acked. */
void ends_request(struct ends *e);

/* The next event of a channel, within 30 s, which must be of this type. To be acked. */
struct rdma_cm_event *next_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* The same, acked; its status. */
int expect_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* Asserts that no event comes for a while. */
void expect_no_event(struct rdma_event_channel *channel);
/* A shell command that must work. */
void run(const char *command);
/* Until adverbd has noticed that the machine has this address. */
void wait_for_address(const char *text);

#define FAILS(err, call)                                                                           \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, err);                                                      \
	} while (0)

#endif
