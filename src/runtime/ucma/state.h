/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of the connection manager's service: its clients, channels, ids and events. */
#ifndef ADV_RUNTIME_UCMA_STATE_H
#define ADV_RUNTIME_UCMA_STATE_H

#include "base/list.h"
#include "base/spare.h"
#include "nic/cm/cm.h"
#include "runtime/keeper/estate.h"
#include "runtime/session/handles.h"
#include "runtime/ucma/qp1.h"
#include "runtime/ucma/resolve.h"
#include "runtime/session/session.h"
#include "runtime/identity/roce.h"
#include "runtime/control/ucma_protocol.h"

#define ADV_UCMA_CLIENTS 4096
/* Most clients of one user, if the daemon serves many users. */
#define ADV_UCMA_USER_CLIENTS	 2048
#define ADV_UCMA_PROCESS_CLIENTS 64 /* most clients of one process */
#define ADV_UCMA_CLIENT_IDS	 131072
#define ADV_UCMA_USER_IDS                                                                          \
	262144 /* most ids of one user, including ending ids, if the daemon serves many users */
/* Limits of unfetched events: a client that exceeds them is dropped. Each id may cause three events
 * (ESTABLISHED, DISCONNECTED, TIMEWAIT_EXIT) before a busy program fetches them. */
#define ADV_UCMA_CLIENT_EVENTS	 16384
#define ADV_UCMA_ID_EVENTS	 3 /* further events for each id of the client */
#define ADV_UCMA_CLIENT_CHANNELS 8192
#define ADV_UCMA_DESCRIPTORS	 2    /* descriptors of a client: the socket, the pidfd */
#define ADV_UCMA_CLIENT_JOINS	 8192 /* most multicast groups of a client's ids */
#define ADV_UCMA_USER_JOINS	 16384
/* Most addresses that a client's ids resolve at the same time. */
#define ADV_UCMA_CLIENT_QUERIES 4096
#define ADV_UCMA_USER_QUERIES	8192

/* Hop limit of routes and multicast groups, as in the kernel. */
#define ADV_UCMA_HOP_LIMIT 64

/* The data of epoll events: a small number is a source; other values are sessions
 * (runtime/session/session.h). */
enum adv_ucma_source {
	ADV_UCMA_FROM_QP1,
	ADV_UCMA_FROM_QP1_ROOM,
	ADV_UCMA_FROM_QP1_BELL,
	ADV_UCMA_FROM_QP1_ERRORS,
	ADV_UCMA_FROM_QP1_V1,
	ADV_UCMA_FROM_STREAMS,
};

struct adv_cm_faults;
struct adv_ucma_stream;

struct adv_ucma {
	struct adv_daemon *daemon;
	struct adv_users *users;
	struct adv_cm *cm;
	struct adv_qp1 *qp1;
	struct adv_resolver *resolver;
	int epoll;
	bool more_to_send;
	bool v1_watched; /* RoCE v1 of QP1 is started, and `epoll` watches it */
	struct adv_list clients;
	struct adv_list leaving; /* leaving clients: each round destroys some of their ids */
	struct adv_list queries; /* ordered by due_ms */
	unsigned client_count;	 /* number of clients in both lists */
	unsigned id_count;
	uint32_t id_numbers; /* the last number given to an id */
	unsigned channel_count;
	unsigned channel_limit;
	struct adv_gid_table gids; /* a copy */
	struct adv_cm_faults *faults;
	/* Connections of iWARP ids (stream.c). */
	struct {
		int epoll;
		struct adv_spare spare;
		uint64_t key[2];	 /* of the numbers of peers' addresses */
		struct adv_list timed;	 /* ordered by due_ms */
		struct adv_list orphans; /* without an id: they only end */
		unsigned sockets;
		unsigned socket_limit;
		/* Makes the id of a request (adv_ucma_id_of_request()). */
		struct adv_ucma_id *(*make_id)(struct adv_ucma_id *listener,
					       const struct adv_cm_addr *local,
					       const struct adv_cm_addr *remote);
	} streams;
};

/* One socket of the protocol, and its objects. */
struct adv_ucma_client {
	struct adv_list link;
	struct adv_ucma *ucma;
	struct adv_session session;
	unsigned id_count;
	unsigned event_count;
	unsigned query_count;
	struct adv_handles channels;
	struct adv_handles ids;
	struct adv_handles memberships;
	struct adv_list channel_list;
	struct adv_list id_list;
};

struct adv_ucma_channel {
	struct adv_list link;
	struct adv_ucma_client *client;
	uint32_t handle;
	int fd; /* this end of the channel's socket: the daemon sends one byte for each event */
	unsigned owed; /* number of bytes that are due but not sent yet */
	unsigned ids;  /* number of ids that use this channel */
	struct adv_list events;
};

/* As enum rdma_cm_state of the kernel, without the states that the CM itself holds (enum
 * adv_cm_state). */
enum adv_ucma_state {
	ADV_UCMA_IDLE,
	ADV_UCMA_BOUND,
	ADV_UCMA_ADDR_QUERY,
	ADV_UCMA_ADDR_RESOLVED,
	ADV_UCMA_ROUTE_QUERY,
	ADV_UCMA_ROUTE_RESOLVED,
	ADV_UCMA_CONNECT, /* the id has or had a peer */
	ADV_UCMA_LISTEN,
};

/* A neighbour query that is not answered yet: in the states ADDR_QUERY and ROUTE_QUERY. */
struct adv_ucma_query {
	struct adv_list link; /* of ucma->queries */
	struct adv_gid to;
	struct adv_ip_route way;
	bool provoked;
	uint64_t due_ms;
	uint64_t deadline_ms;
	unsigned interval_ms;
};

/* An id of the service: links the CM's id to the client and to the host's interface. */
struct adv_ucma_id {
	struct adv_list link; /* node in the list of the client's ids */
	struct adv_ucma_channel *channel;
	struct adv_cm_id *cm;
	struct adv_ucma_stream *stream; /* of an iWARP id: `cm` only has its addresses. Else NULL */
	uint32_t handle;		/* 0: the CONNECT_REQUEST of this id is not fetched yet */
	uint32_t number;		/* unique in this adverbd, shown by tools (objects.c) */
	enum adv_ucma_state state;
	enum adv_roce roce; /* of the process */
	unsigned bind_flags;
	bool unanswered;   /* this id is a request that is neither accepted nor rejected */
	bool address_lost; /* ADDR_CHANGE was reported */
	uint32_t ifindex;  /* interface of the local address; 0: bound to no device */
	struct adv_ucma_id *listener; /* set until this request is fetched; then NULL */
	struct adv_list request_link; /* node in the listener's list of requests */
	struct adv_list requests;     /* a listener's requests that the client has not fetched */
	struct adv_list events;	      /* events of the id that the client has not fetched */
	struct adv_list memberships;
	struct adv_ucma_query query;
};

struct adv_ucma_membership {
	struct adv_list link;
	struct adv_ucma_id *id;
	uint32_t handle;
	struct adv_gid group;
	bool lost; /* MULTICAST_ERROR was reported */
};

/* An event that the client has not fetched yet. */
struct adv_ucma_event {
	struct adv_list channel_link;
	struct adv_list id_link;
	struct adv_ucma_id *id;
	struct adv_ucma_membership *membership; /* membership of a MULTICAST_* event; else NULL */
	uint32_t type; /* enum rdma_cm_event_type, or one of librdmacm's own */
	int status;
	uint64_t value;
	struct adv_cm_conn_param
		param; /* last: omitted from queued events that have no parameters */
};

#endif
