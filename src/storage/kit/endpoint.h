/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA connections, accepted or made: their devices, and endpoints, which are connections with
 * posted receives and work requests. Only the public interface of libibverbs and librdmacm is used.
 * Everything runs in the loop's thread.
 */
#ifndef ADV_STORAGE_KIT_ENDPOINT_H
#define ADV_STORAGE_KIT_ENDPOINT_H

#include <rdma/rdma_cma.h>

#include "storage/kit/loop.h"

struct adv_connections;
struct adv_endpoint;
struct adv_endpoint_config;

/* An RDMA device with at least one connection so far. */
struct adv_kit_device {
	struct adv_list link;
	struct adv_loop *loop;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct adv_watch watch;
	struct adv_sleeper sleeper;
	void *user; /* set by `device` of the connections' operations */
};

enum adv_connections_change {
	/* The connection manager has ended, or the device of the address that is listened at is
	 * gone. Connections have ended with it. It is tried to continue. */
	ADV_CONNECTIONS_LOST,
	ADV_CONNECTIONS_AGAIN, /* connections can be made and accepted again */
	/* That has failed for the time of `patience_ms`, and is not tried any more. */
	ADV_CONNECTIONS_FAILED,
};

struct adv_connections_ops {
	/* Makes what the user has for each device. False: its connections are refused, or end. */
	bool (*device)(void *user, struct adv_kit_device *d);
	/* The device is gone, or all of them are destroyed. No endpoint uses it any more, and no
	 * new one can: the user ends what still does. */
	void (*device_gone)(void *user, struct adv_kit_device *d);
	/* A peer requests a connection. The user calls adv_endpoint_accept(), or the request is
	 * rejected. `param` is valid during the call. NULL if the user does not listen. */
	void (*request)(void *user, struct adv_kit_device *d, struct rdma_cm_id *id,
			const struct rdma_conn_param *param);
	/* A request was rejected, such as because adv_endpoint_accept() failed. err: why;
	 * ECONNABORTED: the peer gave up. */
	void (*refused)(void *user, struct rdma_cm_id *id, int err);
	/* err: why, if it has failed. */
	void (*changed)(void *user, enum adv_connections_change change, int err);
	unsigned patience_ms;
};

/* NULL: errno. */
struct adv_connections *adv_connections_create(struct adv_loop *l,
					       const struct adv_connections_ops *ops, void *user);
/* Listens at an address. 0, or -1 and errno. Call it once at most. After its device is gone, or the
 * connection manager has ended, it is listened at again. */
int adv_connections_listen(struct adv_connections *c, const struct sockaddr *at);
/* Begins to connect to an address: `connected` or `closed` is called later. `config->private_data`
 * is valid until then. False: errno; ENODEV: there is no connection manager now. */
bool adv_connections_connect(struct adv_connections *c, const struct sockaddr *to,
			     const struct adv_endpoint_config *config, struct adv_endpoint **out);
/* Call it after the end of all endpoints. */
void adv_connections_destroy(struct adv_connections *c);

/* A posted receive. */
struct adv_receive {
	uint8_t *data;
	uint32_t length; /* of the received message */
};

/* Work requests that are posted together. The last one is signaled, the others are not. */
struct adv_kit_work {
	struct adv_list link;
	struct ibv_send_wr *first; /* valid until `done` */
	unsigned count;
	/* ok: all of them succeeded. */
	void (*done)(struct adv_kit_work *w, bool ok);
};

struct adv_endpoint_config {
	unsigned receives;
	uint32_t receive_size; /* bytes */
	unsigned work_max;     /* work requests in the send queue; no adv_kit_work has more */
	const void *private_data;
	uint8_t private_data_length;
	/* adv_connections_connect() only: the connection is made; its device is `d`. The private
	 * data of the peer is valid during the call. */
	void (*connected)(void *user, struct adv_kit_device *d, const void *private_data,
			  size_t length);
	/* A message was received. The receive belongs to the user until adv_endpoint_repost(). */
	void (*received)(void *user, struct adv_receive *r);
	/* The connection has ended, or could not be made. All work is done, nothing is called any
	 * more, and all receives are gone. */
	void (*closed)(void *user);
	void *user;
};

/* Accepts a request. False: the id is not changed. */
bool adv_endpoint_accept(struct adv_loop *l, struct adv_kit_device *d, struct rdma_cm_id *id,
			 const struct rdma_conn_param *param,
			 const struct adv_endpoint_config *config, struct adv_endpoint **out);
/* Ends the connection soon: `closed` is called later. May be called more than once. */
void adv_endpoint_close(struct adv_endpoint *e);
void adv_endpoint_repost(struct adv_endpoint *e, struct adv_receive *r);
/* Posts work of a connection that is made, or has it wait until the send queue has room. `done` is
 * called later. */
void adv_endpoint_post(struct adv_endpoint *e, struct adv_kit_work *w);

#endif
