/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Communication identifiers: the library's state of an id, besides struct rdma_cm_id. Functions
 * return 0 or errno unless their comment says otherwise.
 *
 * The connection's lock covers counters, lists and flags. It does not cover struct rdma_cm_id: the
 * call that changes a member, or that returns the event, writes the member. One thread may destroy
 * the queue pair, the SRQ and the completion queues while another one gets an event of the id or is
 * in a call on it: qp_lock covers these members. It comes before the connection's lock. A thread
 * that holds it modifies and makes objects, but destroys none that the program had, because that
 * waits for the program.
 */
#ifndef ADV_ABI_RDMACM_ID_STATE_H
#define ADV_ABI_RDMACM_ID_STATE_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "abi/rdmacm/connection.h"
#include "abi/rdmacm/device.h"

struct adv_rdma_channel;

struct adv_rdma_id {
	struct rdma_cm_id id; /* first: the application's part */
	struct adv_rdma_connection *connection;
	struct adv_rdma_channel *channel; /* the same as id.channel */
	uint32_t handle;
	struct adv_list by_handle;
	struct adv_list of_channel;
	pthread_mutex_t qp_lock;
	pthread_cond_t acked;
	unsigned reported; /* events returned to the application */
	unsigned completed;
	bool sync;	    /* the id has a private channel; each call waits for its event */
	bool ended;	    /* the daemon has destroyed the daemon's id */
	bool removed;	    /* DEVICE_REMOVAL was reported */
	bool unaccepted;    /* the id of an unanswered request: it has no events */
	uint32_t qp_num;    /* of the queue pair that connects or accepts */
	bool connecting;    /* connect or accept has been called */
	bool connects_qp;   /* rdma_connect() was called with a queue pair of the id */
	bool connected;	    /* ESTABLISHED was reported, or rdma_establish() has succeeded */
	bool disconnected;  /* DISCONNECTED was reported */
	bool connect_error; /* the library itself reported CONNECT_ERROR */
	struct adv_rdma_device *device; /* NULL as long as id.verbs is NULL */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	struct ibv_ece local_ece;
	struct ibv_ece remote_ece;
	struct adv_list memberships;
	/* Listening endpoint: attributes of the QPs of accepted ids; else NULL. */
	struct ibv_qp_init_attr *passive_qp;
	void *connect_data; /* ai_connect of struct rdma_addrinfo; sent before the private data */
	uint8_t connect_len;
	bool resolving; /* true from rdma_resolve_addrinfo() until rdma_query_addrinfo() */
	struct rdma_addrinfo *resolved;
};

/* A multicast group that an id has joined. */
struct adv_rdma_membership {
	struct adv_list link;
	uint64_t handle;
	union adv_ucma_sockaddr addr;
	void *context;
	union ibv_gid mgid; /* mgid and mlid: from MULTICAST_JOIN */
	uint16_t mlid;
	bool attached; /* the id's QP is attached */
	bool send_only;
	unsigned reported;
	unsigned completed;
};

struct adv_rdma_id *adv_rdma_id_of(struct rdma_cm_id *id);

/* Ends a call: returns 0 if err is 0; else logs why the call fails (base/reason.h), sets errno to
 * err and returns -1. function: its name; object: the application's pointer, which is only printed.
 */
int adv_rdma_result(int err, const char *function, const void *object);

/* As adv_rdma_result(). call and the arguments after it, as for printf(3), name the function, its
 * object and the argument that matters. They are not used if err is 0. */
int adv_rdma_refuse(int err, const char *call, ...) __attribute__((format(printf, 2, 3)));

/* Returns the errno of a step of connecting that adverbd has refused with err: EINVAL instead of
 * ENOTCONN, as the kernel. Keeps the reason if the connection has ended. */
int adv_rdma_ended(int err);

/* True if the id's queue pair can only be UD. */
bool adv_rdma_is_ud(const struct rdma_cm_id *id);

/* Locks id.qp, id.srq and the id's completion queues. Call it without the connection's lock. */
void adv_rdma_qp_lock(struct adv_rdma_id *id);
void adv_rdma_qp_unlock(struct adv_rdma_id *id);

/* Adds the id to the connection's table of handles, in which events find it. Call it with the lock
 * held. */
void adv_rdma_id_enter(struct adv_rdma_id *id, uint32_t handle);

/* Returns the id with this handle, or NULL. With the lock held. */
struct adv_rdma_id *adv_rdma_id_find(struct adv_rdma_connection *c, uint32_t handle);

/* Sends the daemon a request about this id, without the lock held. ENODEV if the id has ended. */
int adv_rdma_id_ask(struct adv_rdma_id *id, struct adv_ucma_message *m);
/* As adv_rdma_id_ask(). *fd: the descriptor that came with the answer, owned by the caller; -1:
 * none. */
int adv_rdma_id_ask_with(struct adv_rdma_id *id, struct adv_ucma_message *m, int *fd);

/* Keeps the reason for an error of adverbd's, by the request of that type (base/reason.h), and
 * returns err. */
int adv_rdma_explain(int err, unsigned command);

/* Destroys the daemon's id; the library's id stays. Call it with the lock held. */
void adv_rdma_id_end(struct adv_rdma_id *id);

#endif
