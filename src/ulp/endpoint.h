/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The accepting end of RDMA connections: a listener, the devices of its connections, and endpoints,
 * which are connections with posted receives and work requests. Only the public interface of
 * libibverbs and librdmacm is used. Everything runs in the loop's thread.
 */
#ifndef ADV_ULP_ENDPOINT_H
#define ADV_ULP_ENDPOINT_H

#include <rdma/rdma_cma.h>

#include "ulp/loop.h"

struct adv_listener;
struct adv_endpoint;

/* An RDMA device with at least one connection so far. */
struct adv_device {
	struct adv_list link;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct adv_watch watch;
	void *user; /* set by `device` of the listener's operations */
};

struct adv_listener_ops {
	/* Makes what the user has for each device. False: connections of it are refused. */
	bool (*device)(void *user, struct adv_device *d);
	void (*device_gone)(void *user, struct adv_device *d);
	/* A peer asks for a connection. The user calls adv_endpoint_accept(), or the request is
	 * rejected. `param` is valid during the call. */
	void (*request)(void *user, struct adv_device *d, struct rdma_cm_id *id,
			const struct rdma_conn_param *param);
};

/* Listens at an address. NULL: errno. */
struct adv_listener *adv_listener_create(struct adv_loop *l, const struct sockaddr *at,
					 const struct adv_listener_ops *ops, void *user);
/* Its endpoints are gone. */
void adv_listener_destroy(struct adv_listener *l);

/* A posted receive. */
struct adv_receive {
	uint8_t *data;
	uint32_t length; /* of the received message */
};

/* Work requests that are posted together. The last one is signaled, the others are not. */
struct adv_work {
	struct adv_list link;
	struct ibv_send_wr *first; /* valid until `done` */
	unsigned count;
	/* ok: all of them succeeded. */
	void (*done)(struct adv_work *w, bool ok);
};

struct adv_endpoint_config {
	unsigned receives;
	uint32_t receive_size; /* bytes */
	unsigned work_max;     /* work requests in the send queue; no adv_work has more */
	const void *private_data;
	uint8_t private_data_length;
	/* A message was received. The receive belongs to the user until adv_endpoint_repost(). */
	void (*received)(void *user, struct adv_receive *r);
	/* The connection has ended. All work is done, nothing is called any more, and all receives
	 * are gone. */
	void (*closed)(void *user);
	void *user;
};

/* Accepts a request. False: the id is not changed. */
bool adv_endpoint_accept(struct adv_loop *l, struct adv_device *d, struct rdma_cm_id *id,
			 const struct rdma_conn_param *param,
			 const struct adv_endpoint_config *config, struct adv_endpoint **out);
/* Ends the connection soon: `closed` is called later. May be called more than once. */
void adv_endpoint_close(struct adv_endpoint *e);
void adv_endpoint_repost(struct adv_endpoint *e, struct adv_receive *r);
/* Posts work, or has it wait until the send queue has room. `done` is called later. */
void adv_endpoint_post(struct adv_endpoint *e, struct adv_work *w);

#endif
