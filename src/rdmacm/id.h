/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Communication identifiers: what the library knows beyond struct rdma_cm_id, and what its parts
 * do for each other. Functions return 0 or errno unless said otherwise.
 *
 * Counters, lists and flags are under the connection's lock. The fields of struct rdma_cm_id are
 * written by the call or the event that changes them, as the application sees it.
 */
#ifndef ADV_RDMACM_ID_H
#define ADV_RDMACM_ID_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "rdmacm/channel.h"
#include "rdmacm/device.h"

struct adv_rdma_id {
	struct rdma_cm_id id; /* first: what the application has */
	struct adv_rdma_connection *connection;
	struct adv_rdma_channel *channel; /* the same as id.channel */
	uint32_t handle;
	struct adv_list by_handle;
	struct adv_list of_channel;
	pthread_cond_t acked;
	unsigned reported; /* events handed to the application */
	unsigned completed;
	bool sync;	    /* its channel is its own, and every call waits for its event */
	bool ended;	    /* the daemon knows it no more */
	bool removed;	    /* DEVICE_REMOVAL was reported */
	bool unaccepted;    /* made by a request that is not answered yet: it has no events */
	bool connecting;    /* connect or accept has been called */
	bool connected;	    /* ESTABLISHED was reported, or rdma_establish() has worked */
	bool disconnected;  /* DISCONNECTED was reported */
	bool connect_error; /* CONNECT_ERROR was reported by the library itself */
	struct adv_rdma_device *device; /* NULL until id.verbs is */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	struct ibv_ece local_ece;
	struct ibv_ece remote_ece;
	struct adv_list memberships;
	struct ibv_qp_init_attr *passive_qp; /* of an endpoint: for those that it will accept */
	void *connect_data;		     /* of struct rdma_addrinfo: goes before private data */
	uint8_t connect_len;
	bool resolving; /* rdma_resolve_addrinfo() until rdma_query_addrinfo() */
	struct rdma_addrinfo *resolved;
};

/* A multicast group that an id has joined. */
struct adv_rdma_membership {
	struct adv_list link;
	uint64_t handle;
	union adv_ucma_sockaddr addr;
	void *context;
	union ibv_gid mgid; /* this and the LID of MULTICAST_JOIN */
	uint16_t mlid;
	bool attached; /* the id's QP is */
	bool send_only;
	unsigned reported;
	unsigned completed;
};

struct adv_rdma_id *adv_rdma_id_of(struct rdma_cm_id *id);

/* Puts errno = err and returns -1; 0 where err is 0. */
int adv_rdma_result(int err);

/* True where no kind of QP but UD is meant. */
bool adv_rdma_is_ud(const struct rdma_cm_id *id);

/* As rdma_create_id(), with the QP type that rdma_create_ep() knows. */
int adv_rdma_id_create(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		       enum rdma_port_space ps, enum ibv_qp_type qp_type);

/* The id of a request that came to `listen`. With the lock held. NULL: no memory, and the
 * daemon's id is destroyed. */
struct adv_rdma_id *adv_rdma_id_of_request(struct adv_rdma_id *listen, uint32_t handle,
					   enum ibv_qp_type qp_type);

/* The id of this handle, or NULL. With the lock held. */
struct adv_rdma_id *adv_rdma_id_find(struct adv_rdma_connection *c, uint32_t handle);

/* Destroys the daemon's id; the library's stays. With the lock held. */
void adv_rdma_id_end(struct adv_rdma_id *id);

/* Waits until the application has acked all events: of the id, or of a membership of it. With the
 * lock held, which is free meanwhile; a cancellation point. */
void adv_rdma_id_wait(struct adv_rdma_id *id, const unsigned *completed, const unsigned *reported);

/* rdma_migrate_id() */
int adv_rdma_id_migrate(struct adv_rdma_id *id, struct rdma_event_channel *channel);

/* Asks about this id without the lock held; ENODEV where it has ended. */
int adv_rdma_id_ask(struct adv_rdma_id *id, struct adv_ucma_message *m);

/* Takes over what the daemon says of addresses and path, and binds id.verbs to the device when
 * it is known. Without the lock. 0 or errno: ENODEV, ENOMEM. */
int adv_rdma_id_set_route(struct adv_rdma_id *id, const struct adv_ucma_route *route);

/* The length of an address of a family that is supported, else 0. */
socklen_t adv_rdma_addr_len(const struct sockaddr *addr);

/* A synchronous id waits for its event, which becomes id.event; nothing is done for others.
 * errno: of the event's status; ECONNREFUSED for a rejection. */
int adv_rdma_complete(struct adv_rdma_id *id);

/* Acks id.event where there is one. */
void adv_rdma_drop_event(struct adv_rdma_id *id);

/* The QP of the id, moved with the attributes that the daemon knows. No QP: nothing to do. */
int adv_rdma_qp_to_init(struct adv_rdma_id *id);
int adv_rdma_qp_to_rtr(struct adv_rdma_id *id, uint8_t responder_resources);
int adv_rdma_qp_to_rts(struct adv_rdma_id *id, uint8_t initiator_depth);
int adv_rdma_qp_to_error(struct adv_rdma_id *id);

/* Attributes for `state` and their mask, as rdma_init_qp_attr(3). */
int adv_rdma_qp_attr(struct adv_rdma_id *id, enum ibv_qp_state state, struct ibv_qp_attr *attr,
		     int *mask);

/* The response to a connection request has come: makes the QP ready and tells the peer. */
int adv_rdma_finish_connect(struct adv_rdma_id *id);

#endif
