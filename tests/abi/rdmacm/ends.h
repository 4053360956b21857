/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two ends of a connection in one process, each with an event channel, at a real adverbd. The code
 * uses only the public headers, as any program does.
 */
#ifndef ADV_TESTS_ABI_RDMACM_ENDS_H
#define ADV_TESTS_ABI_RDMACM_ENDS_H

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

#define PATIENCE_MS 60000 /* a test that takes longer hangs */

struct ends {
	struct rdma_event_channel *channel; /* channel of the active end */
	struct rdma_event_channel *passive; /* channel of the listener and of accepted ids */
	struct rdma_cm_id *listener;
	struct rdma_cm_id *client;
	struct rdma_cm_id *server; /* NULL until a request arrives */
};

/* Parses an address; `port` in host byte order. */
struct sockaddr *address(const char *text, uint16_t port);

/* Makes a listener on `text` and a client id whose route to it is resolved. `ps` is TCP or UDP. */
void ends_open(struct ends *e, const char *text, enum rdma_port_space ps);
/* Destroys all existing objects of *e, including QPs. */
void ends_close(struct ends *e);
/* Makes a QP with its own CQs for an id. */
void make_qp(struct rdma_cm_id *id, enum ibv_qp_type type);
/* Connects the two ends, with QPs. Returns when both ends have got ESTABLISHED. */
void ends_connect(struct ends *e);
/* Waits for CONNECT_REQUEST and acknowledges it. e->server is then the id of the request. */
void ends_request(struct ends *e);

/* Returns the next event of a channel, within 30 s. The test fails if the event has another type.
 * The caller acknowledges the event. */
struct rdma_cm_event *next_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* As take_event(), but acknowledges the event and returns its status. */
int expect_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* Asserts that no event arrives for a while. */
void expect_no_event(struct rdma_event_channel *channel);
/* Runs a shell command, which must succeed. */
void run(const char *command);
/* Waits until adverbd knows that the machine has this address. */
void wait_for_address(const char *text);

#define FAILS(err, call)                                                                           \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, err);                                                      \
	} while (0)

#endif
