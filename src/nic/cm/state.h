/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The structures of the connection manager. Only its files and tests include this header. */
#ifndef ADV_NIC_CM_STATE_H
#define ADV_NIC_CM_STATE_H

#include "base/list.h"
#include "base/rng.h"
#include "base/table.h"
#include "nic/cm/cm.h"
#include "nic/cm/hash.h"
#include "nic/cm/timer.h"
#include "nic/wire/cm_message.h"
#include "nic/wire/cm_message_ip.h"

/* The values of Linux's rdma_cm in a REQ: the response timeout of each end (4.3 s) and the
 * retries. */
#define ADV_CM_RESPONSE_TIMEOUT 20
#define ADV_CM_SAID_RETRIES	15
/* Service timeout of the MRAs that this CM sends, 69 s as in Linux; and the longest that it accepts
 * from peers, 275 s. */
#define ADV_CM_SERVICE_TIMEOUT	       24
#define ADV_CM_SERVICE_TIMEOUT_LONGEST 26
/* Local CA ACK delay, as ibv_query_device() returns it. */
#define ADV_CM_ACK_DELAY 15
/* Exponent of the longest TIMEWAIT, 69 s, for any values of the peer's path. */
#define ADV_CM_TIMEWAIT_LONGEST 24
#define ADV_CM_HOP_LIMIT	64
/* Transmissions of an RTU to a peer that was not proven: such a peer may retransmit its REP less
 * often than others, see proof.c. */
#define ADV_CM_RTU_TRIES    3
#define ADV_CM_BACKLOG_MAX  1024u
#define ADV_CM_OWNERS_MAX   1024u /* most owners of a port */
#define ADV_CM_OUTGOING_MAX 4096u
#define ADV_CM_PROOFS	    1024u /* remembered addresses, by hash */
#define ADV_CM_LEFT	    32u	  /* remembered ports */
/* Queue length up to which answers without an id are queued. The rest of the queue is for MADs of
 * ids. */
#define ADV_CM_STATELESS_MAX 1024u

/* States of IBTA 12.9.5 and 12.9.6; the first five states and the last are Adverb's. MRAs cause no
 * further states: a received MRA makes a wait longer, and a duplicate message is answered with an
 * MRA. */
enum adv_cm_state {
	ADV_CM_IDLE,
	ADV_CM_BOUND,
	ADV_CM_ADDRESSED, /* the id has a peer */
	ADV_CM_ROUTED,	  /* the id has a peer and a route */
	ADV_CM_LISTENING,
	ADV_CM_REQ_SENT,
	ADV_CM_REP_RCVD,
	ADV_CM_REQ_RCVD,
	ADV_CM_REP_SENT,
	ADV_CM_ESTABLISHED,
	ADV_CM_DREQ_SENT,
	ADV_CM_TIMEWAIT,
	ADV_CM_SIDR_REQ_SENT,
	ADV_CM_SIDR_REQ_RCVD,
	ADV_CM_SIDR_DONE,
	ADV_CM_CLOSED, /* the protocol has ended; the owner has to destroy the id */
};

#define ADV_CM_PORT_SPACES 4

/* A port in use, and its owners. */
struct adv_cm_port {
	struct adv_table_node node;
	enum rdma_port_space ps;
	uint16_t number;
	unsigned owner_count;
	struct adv_list owners; /* listeners first */
};

/* A remote address with unanswered requests. */
struct adv_cm_host {
	struct adv_table_node node;
	struct adv_gid gid;
	uint32_t requests;
};

/* A port whose listener was closed. */
struct adv_cm_left {
	uint64_t service_id; /* 0: none */
	uint64_t when;
};

/* An address that has proved that it receives messages, and the time at which the proof expires. */
struct adv_cm_proof {
	struct adv_gid gid;
	uint64_t until;
};

struct adv_cm_id {
	struct adv_cm *cm;
	struct adv_list link; /* node in cm->ids */
	void *user;
	unsigned *charged;	 /* the owner's counter that includes this id; NULL: none */
	enum adv_cm_state state; /* adv_cm_id_set_state() changes it */
	bool owned;		 /* false: no owner; the CM only finishes the protocol */
	bool active;
	bool aborted;	   /* the peer gave up its request before this end answered */
	bool disconnected; /* a DREQ was sent or received, or the peer has lost the connection */
	bool proven;	   /* the peer is proven, see proof.c */
	bool was_unproven; /* the peer's address was not proven when its first answer arrived */
	bool refused;	/* an ICMP message reported a closed port for the message that waits for an
			   answer */
	uint8_t credit; /* MADs that may still go to a peer that is not proven */
	enum rdma_port_space ps;
	enum ibv_qp_type qp_type;
	struct adv_list events; /* events of the id that are not delivered yet */

	struct adv_cm_addr local;
	struct adv_cm_addr remote;
	bool has_route;
	bool tos_set;
	bool ack_timeout_set;
	uint8_t tos;
	uint8_t ack_timeout; /* set by the consumer */
	struct adv_cm_route route;

	struct adv_cm_port *port;
	struct adv_list port_link;
	unsigned bind_flags;

	unsigned backlog; /* listener: most waiting requests */
	unsigned waiting;
	struct adv_list requests;
	/* Listener of a request that its consumer has not received yet; else NULL. */
	struct adv_cm_id *listener;
	struct adv_list request_link;
	struct adv_cm_host *host; /* sender of an unanswered request; else NULL */

	struct adv_table_node by_comm_id; /* local_comm_id */
	struct adv_table_node by_remote;  /* remote GID, CA GUID, communication or request id */
	struct adv_table_node by_qpn;	  /* remote GID, CA GUID, QP number */
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint64_t tid; /* transaction id of the handshake */
	uint64_t remote_guid;
	uint32_t local_qpn;
	uint32_t remote_qpn;
	uint32_t local_psn;
	uint32_t remote_psn;
	uint32_t qkey;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t timeout; /* Local ACK Timeout of the QP, 5 bits */
	bool alternate;	 /* the request had an alternate path */

	struct adv_cm_timer timer; /* see adv_cm_retransmit_timer_set() */
	unsigned tries;
	uint64_t service_ns;	  /* ns: time to wait, as requested by an MRA */
	uint64_t rep_came;	  /* time of the REP's arrival */
	uint8_t mad[ADV_MAD_LEN]; /* the message to be retransmitted */
};

struct adv_cm_outgoing {
	struct adv_list link;
	struct adv_cm_mad mad;
};

struct adv_cm_event_node {
	struct adv_list link;  /* of cm->events */
	struct adv_list of_id; /* of id->events */
	struct adv_cm_event event;
};

struct adv_cm {
	struct adv_cm_config config; /* configuration with its defaults filled in */
	struct adv_rng rng;
	uint64_t hash_key[2];
	uint64_t secret_key[2]; /* key of the random numbers that peers see */
	struct adv_list ids;
	unsigned owned;
	unsigned ending;
	unsigned busy;	  /* owned ids for which adv_cm_id_busy() is true */
	unsigned closing; /* ending ids whose DREQ is not answered yet */
	struct adv_table by_comm_id;
	struct adv_table by_remote;
	struct adv_table by_qpn;
	struct adv_table ports;
	unsigned ephemeral_used[ADV_CM_PORT_SPACES]; /* index: see ephemeral_used() in port.c */
	struct adv_table hosts;
	struct adv_heap timers;
	struct adv_list events;
	struct adv_list outgoing;
	unsigned outgoing_count;
	struct adv_cm_proof proof[ADV_CM_PROOFS];
	struct adv_list early; /* held requests (early.h), in order of their end */
	unsigned early_count;
	struct adv_cm_left left[ADV_CM_LEFT];
	unsigned left_next; /* index of the oldest, which is replaced next */
	struct adv_cm_counters counters;
};

/* Returns the entry of the port's table that matches a peer's P_Key; 0: none does. */
static inline uint16_t adv_cm_pkey_for(const struct adv_cm *cm, uint16_t pkey)
{
	int index = adv_pkey_match_index(&cm->config.pkeys, pkey);

	return index < 0 ? 0 : cm->config.pkeys.pkey[index];
}

/* Handles one kind of message. */
typedef void adv_cm_rx_fn(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
			  const struct adv_cm_packet *packet);

/* 4.096 us * 2^n */
static inline uint64_t adv_cm_iba_ns(uint8_t n)
{
	return UINT64_C(4096) << n;
}

/* Sets the id's state, and updates the counts of ids by state. */
void adv_cm_id_set_state(struct adv_cm_id *id, enum adv_cm_state state);
/* Ends the ownership of an id that has to finish the protocol. */
void adv_cm_id_set_ending(struct adv_cm_id *id);
/* Removes an id from all counts before it is freed. */
void adv_cm_id_uncount(struct adv_cm_id *id);

/*
 * Sets the id's retransmit timer: for REQ, REP, DREQ, SIDR_REQ, and for the RTU to a peer that was
 * not proven. An id has one timer for this and for TIMEWAIT. Setting it never fails.
 */
static inline void adv_cm_retransmit_timer_set(struct adv_cm_id *id, uint64_t when)
{
	adv_cm_timer_set(&id->cm->timers, &id->timer, when);
}

/* Sets the id's timer in the state TIMEWAIT. */
static inline void adv_cm_timewait_timer_set(struct adv_cm_id *id, uint64_t when)
{
	adv_cm_timer_set(&id->cm->timers, &id->timer, when);
}

static inline void adv_cm_timers_stop(struct adv_cm_id *id)
{
	adv_cm_timer_set(&id->cm->timers, &id->timer, ADV_CM_NEVER);
}

#endif
