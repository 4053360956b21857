/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Both ends of a librdmacm connection in one process, on one event channel. Errors end the program,
 * see lab.h.
 */
#ifndef TESTS_CHECK_LAB_CM_H
#define TESTS_CHECK_LAB_CM_H

#include <rdma/rdma_cma.h>

#include "lab.h"

/* Zero-initialize it. */
struct lab_cm {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *client;
	struct rdma_cm_id *server; /* the id of the last connect request */
};

/* Creates the channel, and a listener on a free port of 127.0.0.1. */
void lab_cm_listen(struct lab_cm *cm);

/* Creates the client's id and resolves the listener's address and the route. */
void lab_cm_resolve(struct lab_cm *cm);

/* Creates an RC QP of an id, with CQs of its own. */
void lab_cm_qp(struct rdma_cm_id *id);

/* Parameters for rdma_connect() and rdma_accept(). */
struct rdma_conn_param lab_cm_param(void);

/* Returns the next event, which must be of this type. The caller acknowledges it. */
struct rdma_cm_event *lab_cm_event(struct lab_cm *cm, enum rdma_cm_event_type type);

/* Gets and acknowledges the next event. Sets cm->server at a connect request. */
void lab_cm_expect(struct lab_cm *cm, enum rdma_cm_event_type type);

/* lab_cm_listen() to the established connection; both QPs exist. */
void lab_cm_open(struct lab_cm *cm);

/* Disconnects, and acknowledges the events. */
void lab_cm_disconnect(struct lab_cm *cm);

/* Destroys the ids with their QPs, and the channel. */
void lab_cm_close(struct lab_cm *cm);

#endif
