/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the connection manager's service share. */
#ifndef ADV_DAEMON_UCMA_INTERNAL_H
#define ADV_DAEMON_UCMA_INTERNAL_H

#include "base/list.h"
#include "cm/cm.h"
#include "daemon/cm_fault.h"
#include "daemon/handles.h"
#include "daemon/qp1.h"
#include "daemon/resolve.h"
#include "daemon/ucma.h"
#include "host/ucma_protocol.h"

#define ADV_UCMA_CLIENTS	 4096
#define ADV_UCMA_USER_CLIENTS	 2048 /* of one user, where many are served */
#define ADV_UCMA_PROCESS_CLIENTS 64   /* of one process */
#define ADV_UCMA_CLIENT_IDS	 131072
#define ADV_UCMA_USER_IDS	 262144 /* of one user, where many are served; those being ended too */
/* Events not fetched; who has more is dropped. Each id may be established, disconnected, and
 * through with TIMEWAIT before a busy program comes to it. */
#define ADV_UCMA_CLIENT_EVENTS	 16384
#define ADV_UCMA_ID_EVENTS	 3 /* and these for each id */
#define ADV_UCMA_CLIENT_CHANNELS 8192
#define ADV_UCMA_DESCRIPTORS	 2    /* of a client: the socket, the pidfd */
#define ADV_UCMA_CLIENT_JOINS	 8192 /* multicast groups of its ids */
#define ADV_UCMA_USER_JOINS	 16384
#define ADV_UCMA_CLIENT_QUERIES	 4096 /* addresses that are being resolved */
#define ADV_UCMA_USER_QUERIES	 8192

struct adv_ucma {
	struct adv_daemon *daemon;
	struct adv_users *users;
	struct adv_cm *cm;
	struct adv_qp1 *qp1;
	struct adv_resolver *resolver;
	int epoll;
	bool more_to_send;
	struct adv_list clients;
	struct adv_list leaving; /* clients whose ids are being destroyed, so many a round */
	struct adv_list queries; /* the next one due first */
	unsigned client_count;	 /* of both lists */
	unsigned id_count;
	uint32_t id_numbers; /* given to ids */
	unsigned channel_count;
	unsigned channel_limit;
	struct adv_gid_table gids; /* a copy */
	struct adv_cm_faults faults;
};

/* One socket of the protocol. */
struct adv_ucma_client {
	struct adv_list link;
	struct adv_ucma *ucma;
	struct adv_turn turn;
	int fd;
	int pidfd;
	struct ucred peer;
	char comm[16];
	bool dead;
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
	int fd;	       /* our end; a byte for each event */
	unsigned owed; /* bytes it had no room for */
	unsigned ids;  /* that report here */
	struct adv_list events;
};

/* As the kernel's enum rdma_cm_state, but for what the engine knows better. */
enum adv_ucma_state {
	ADV_UCMA_IDLE,
	ADV_UCMA_BOUND,
	ADV_UCMA_ADDR_QUERY,
	ADV_UCMA_ADDR_RESOLVED,
	ADV_UCMA_ROUTE_QUERY,
	ADV_UCMA_ROUTE_RESOLVED,
	ADV_UCMA_CONNECT, /* there is or was a peer */
	ADV_UCMA_LISTEN,
};

/* A question to the kernel that takes time: in the states ADDR_QUERY and ROUTE_QUERY. */
struct adv_ucma_query {
	struct adv_list link; /* of ucma->queries */
	struct adv_gid to;
	struct adv_way way;
	bool provoked;
	uint64_t due_ms;
	uint64_t deadline_ms;
	unsigned interval_ms;
};

/* An id: around the engine's, what the client and the kernel have to do with it. */
struct adv_ucma_id {
	struct adv_list link; /* of its client's */
	struct adv_ucma_channel *channel;
	struct adv_cm_id *cm;
	uint32_t handle; /* 0: its CONNECT_REQUEST was not fetched yet */
	uint32_t number; /* no other of adverbd's has it, see ucma_objects.c */
	enum adv_ucma_state state;
	unsigned bind_flags;
	bool unanswered;	      /* a request neither accepted nor rejected */
	bool adrift;		      /* ADDR_CHANGE was told */
	uint32_t ifindex;	      /* of its local address; 0: bound to no device */
	struct adv_ucma_id *listener; /* until fetched */
	struct adv_list request_link; /* of the listener's */
	struct adv_list requests;     /* not fetched */
	struct adv_list events;	      /* not fetched */
	struct adv_list memberships;
	struct adv_ucma_query query;
};

struct adv_ucma_membership {
	struct adv_list link;
	struct adv_ucma_id *id;
	uint32_t handle;
	struct adv_gid group;
	bool lost; /* MULTICAST_ERROR was told */
};

/* An event that waits to be fetched. */
struct adv_ucma_event {
	struct adv_list channel_link;
	struct adv_list id_link;
	struct adv_ucma_id *id;
	struct adv_ucma_membership *membership; /* of MULTICAST_*; else NULL */
	uint32_t type;				/* enum rdma_cm_event_type, or librdmacm's own */
	int status;
	uint64_t value;
	struct adv_cm_conn_param
		param; /* last: a queued event has room for it where it says much */
};

/* Watches a descriptor; `data` is found again in the round. 0 or errno. */
int adv_ucma_watch(struct adv_ucma *u, int fd, uint64_t data);

/* --- ucma_client.c --- */

/* Takes over both descriptors and the hold of the user, where it succeeds. NULL and errno. */
struct adv_ucma_client *adv_ucma_client_new(struct adv_ucma *u, int fd, struct adv_user *user,
					    const struct ucred *peer, int pidfd, const char *comm);
/* There is something to read: it is served, and may be `dead` then, when its turn comes. */
void adv_ucma_client_readable(struct adv_ucma_client *c);
/* Closes what it has open and moves it to those that leave. */
void adv_ucma_client_close(struct adv_ucma_client *c);
/* Destroys some ids and channels of one that leaves; when none is left c is freed. */
void adv_ucma_client_wither(struct adv_ucma_client *c);

/*
 * A request: takes it and makes it the answer, and returns its result, 0 or errno. *fd is -1, or
 * set to a descriptor that is sent along and closed then.
 */
typedef int adv_ucma_handler(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd);

extern adv_ucma_handler adv_ucma_create_channel, adv_ucma_destroy_channel, adv_ucma_get_event,
	adv_ucma_write_event, adv_ucma_migrate, adv_ucma_create_id, adv_ucma_destroy_id,
	adv_ucma_bind, adv_ucma_resolve_addr, adv_ucma_resolve_route, adv_ucma_query_route,
	adv_ucma_listen, adv_ucma_connect, adv_ucma_accept, adv_ucma_reject, adv_ucma_establish,
	adv_ucma_disconnect, adv_ucma_qp_attr, adv_ucma_set_option, adv_ucma_join, adv_ucma_leave;

/* --- ucma_channel.c --- */

/* Queues an event, all but its links filled in. A client with too many of them is marked dead. */
void adv_ucma_queue(const struct adv_ucma_event *event);
/* The same, of the kinds that say no more. */
void adv_ucma_tell(struct adv_ucma_id *id, enum rdma_cm_event_type type, int status);
/* Drops the events of an id that were not fetched; `membership` not NULL: only of that. */
void adv_ucma_drop_events(struct adv_ucma_id *id, const struct adv_ucma_membership *membership);
struct adv_ucma_channel *adv_ucma_find_channel(struct adv_ucma_client *c, uint32_t handle);
/* Closes and frees one that nothing refers to. */
void adv_ucma_channel_free(struct adv_ucma_channel *ch);

/* --- ucma_id.c --- */

/* The client's id with this handle, or NULL and *error: ENOENT. */
struct adv_ucma_id *adv_ucma_find(struct adv_ucma_client *c, uint32_t handle, int *error);
/* The same where it is bound to a device: else *error is EINVAL. */
struct adv_ucma_id *adv_ucma_find_bound(struct adv_ucma_client *c, uint32_t handle, int *error);
void adv_ucma_id_free(struct adv_ucma_id *id);
/* What the engine has to tell. */
void adv_ucma_take_event(struct adv_ucma *u, const struct adv_cm_event *event);

/* --- ucma_address.c --- */

/* False: neither IPv4 nor IPv6. */
bool adv_ucma_from_sockaddr(const union adv_ucma_sockaddr *in, struct adv_cm_addr *out);
void adv_ucma_to_sockaddr(const struct adv_cm_addr *in, union adv_ucma_sockaddr *out);
bool adv_ucma_is_any(const struct adv_cm_addr *a);
bool adv_ucma_is_link_local(const struct adv_gid *g);
/* The entry of the GID table with this address (on this interface; 0: any), or NULL. */
const struct adv_gid_entry *adv_ucma_find_gid(const struct adv_ucma *u, const struct adv_gid *gid,
					      uint32_t ifindex);
/* Binds an id in the state IDLE, as rdma_bind_addr(3). 0 or errno. */
int adv_ucma_bind_to(struct adv_ucma_client *c, struct adv_ucma_id *id,
		     const struct adv_cm_addr *a);
/* Everything known of where the id is and leads to. */
void adv_ucma_fill_route(const struct adv_ucma_id *id, struct adv_ucma_route *out);

/* --- ucma_resolve.c --- */

/* Goes on with queries whose time has come, a bounded number. */
void adv_ucma_queries_run(struct adv_ucma *u, uint64_t now_ms);
void adv_ucma_query_cancel(struct adv_ucma_id *id);
/* Tells the engine this end's route, or of a request what this end adds to it. 0; ENODEV: the
 * address is gone; EMSGSIZE: the request wants more than the path carries, and has been rejected;
 * EINVAL. */
int adv_ucma_set_route(struct adv_ucma_id *id);

/* --- ucma_multicast.c --- */

void adv_ucma_leave_all(struct adv_ucma_id *id);
/* The id's address is gone: MULTICAST_ERROR for each membership. */
void adv_ucma_memberships_lost(struct adv_ucma_id *id);
/* Makes the route of a MULTICAST_JOIN that of its group. */
void adv_ucma_fill_group(const struct adv_ucma_membership *m, struct adv_ucma_route *out);

#endif
