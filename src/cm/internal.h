/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of the connection manager share; nobody else includes it. */
#ifndef ADV_CM_INTERNAL_H
#define ADV_CM_INTERNAL_H

#include "base/list.h"
#include "base/rng.h"
#include "base/table.h"
#include "cm/cm.h"
#include "cm/hash.h"
#include "cm/timer.h"
#include "wire/cm_message.h"
#include "wire/cm_message_ip.h"

/* What Linux's rdma_cm says in a REQ: how soon each end is to answer (4.3 s), how often to try. */
#define ADV_CM_RESPONSE_TIMEOUT 20
#define ADV_CM_SAID_RETRIES	15
/* Service timeout of our MRAs, 69 s, as Linux; and the longest believed to others, 275 s. */
#define ADV_CM_SERVICE_TIMEOUT	       24
#define ADV_CM_SERVICE_TIMEOUT_LONGEST 26
/* Local CA ACK delay: what ibv_query_device tells. */
#define ADV_CM_ACK_DELAY 15
/* TIMEWAIT is not longer than 69 s, whatever the peer's path says. */
#define ADV_CM_TIMEWAIT_LONGEST 24
#define ADV_CM_HOP_LIMIT	64
/* Sendings of an RTU to a peer that we are a stranger to: it may not ask for it as often as others
 * do, see proof.c. */
#define ADV_CM_RTU_TRIES    3
#define ADV_CM_BACKLOG_MAX  1024u
#define ADV_CM_OWNERS_MAX   1024u /* of a port */
#define ADV_CM_OUTGOING_MAX 4096u
#define ADV_CM_PROOFS	    1024u /* addresses remembered, by hash */
#define ADV_CM_LEFT	    32u	  /* ports remembered */
/* Answers that need no id stop before that, so that they leave room for those that do. */
#define ADV_CM_STATELESS_MAX 1024u

/* IBTA 12.9.5 and 12.9.6; the first five and the last are ours. MRAs are no states of their own
 * here: one received makes a wait longer, and a repeated message is answered with one. */
enum adv_cm_state {
	ADV_CM_IDLE,
	ADV_CM_BOUND,
	ADV_CM_ADDRESSED, /* has a peer */
	ADV_CM_ROUTED,	  /* and a route */
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
	ADV_CM_CLOSED, /* over; to be destroyed */
};

#define ADV_CM_PORT_SPACES 4

/* A port that is bound to, and by whom. */
struct adv_cm_port {
	struct adv_table_node node;
	enum rdma_port_space ps;
	uint16_t number;
	unsigned owner_count;
	struct adv_list owners; /* those that listen first */
};

/* A remote address, while requests from it are unanswered. */
struct adv_cm_host {
	struct adv_table_node node;
	struct adv_gid gid;
	uint32_t requests;
};

/* A port that somebody has listened on. */
struct adv_cm_left {
	uint64_t service_id; /* 0: none */
	uint64_t when;
};

/* An address that has proved itself, until when. */
struct adv_cm_proof {
	struct adv_gid gid;
	uint64_t until;
};

struct adv_cm_id {
	struct adv_cm *cm;
	struct adv_list link; /* of cm->ids */
	void *user;
	unsigned *charged;	 /* who has it counts it there; NULL: nowhere */
	enum adv_cm_state state; /* changed by adv_cm_id_set_state() */
	bool owned;		 /* no: only finishes */
	bool active;
	bool aborted;	   /* closed by the peer before we answered */
	bool disconnected; /* was connected once */
	bool proven;	   /* the peer has; see proof.c */
	bool stranger;	   /* its address had not when the peer was first heard of */
	bool refused;	   /* what waits for an answer met a port that nobody listens on */
	uint8_t credit;	   /* MADs that may go to a peer that has not */
	enum rdma_port_space ps;
	enum ibv_qp_type qp_type;
	struct adv_list events; /* not delivered yet */

	struct adv_cm_addr local;
	struct adv_cm_addr remote;
	bool has_route;
	bool tos_set;
	bool ack_timeout_set;
	uint8_t tos;
	uint8_t ack_timeout; /* the consumer's */
	struct adv_cm_route route;

	struct adv_cm_port *port;
	struct adv_list port_link;
	unsigned bind_flags;

	unsigned backlog; /* of a listener */
	unsigned waiting;
	struct adv_list requests;
	struct adv_cm_id *listener; /* of a request that its consumer does not have yet */
	struct adv_list request_link;
	struct adv_cm_host *host; /* of a request that is unanswered */

	struct adv_table_node by_comm_id; /* local_comm_id */
	struct adv_table_node by_remote;  /* remote GID, CA GUID, communication or request id */
	struct adv_table_node by_qpn;	  /* remote GID, CA GUID, QP number */
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint64_t tid; /* of the handshake */
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
	uint8_t timeout; /* for the QP, 5 bits */
	bool alternate;	 /* the request had an alternate path */

	struct adv_cm_timer timer;
	unsigned tries;
	uint64_t service_ns;	  /* an MRA has asked for this much */
	uint64_t rep_came;	  /* when */
	uint8_t mad[ADV_MAD_LEN]; /* what is repeated */
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
	struct adv_cm_config config; /* defaults put in */
	struct adv_rng rng;
	uint64_t hash_key[2];
	uint64_t secret_key[2]; /* of the numbers that peers see */
	struct adv_list ids;
	unsigned owned;
	unsigned ending;
	unsigned busy;	  /* of those owned: adv_cm_id_busy() */
	unsigned closing; /* of those ending: their DREQ is not answered yet */
	struct adv_table by_comm_id;
	struct adv_table by_remote;
	struct adv_table by_qpn;
	struct adv_table ports;
	unsigned ephemeral_used[ADV_CM_PORT_SPACES]; /* by port.c's index of the space */
	struct adv_table hosts;
	struct adv_cm_timers timers;
	struct adv_list events;
	struct adv_list outgoing;
	unsigned outgoing_count;
	struct adv_cm_proof proof[ADV_CM_PROOFS];
	struct adv_list early; /* requests that nobody listens for yet, who waits least first */
	unsigned early_count;
	struct adv_cm_left left[ADV_CM_LEFT];
	unsigned left_next; /* the oldest, to be replaced */
	struct adv_cm_counters counters;
};

/* --- cm.c: what is sent and told --- */

/* Queues a MAD for an id's peer; without room or memory it is lost, like any packet, as where the
 * peer has not proved itself and has got enough. */
void adv_cm_send(struct adv_cm_id *id, const struct adv_cm_packet *packet);
/* An answer to a packet that has no id. */
void adv_cm_send_stateless(struct adv_cm *cm, const struct adv_rx_meta *meta,
			   const struct adv_cm_packet *packet);
/* Sends it, and again until the id's state changes. */
void adv_cm_send_repeated(struct adv_cm_id *id, uint64_t now, const struct adv_cm_packet *packet);

/*
 * Room for an event, before anything is changed: false where there is no memory. *node is NULL
 * where nobody owns the id. To be posted or dropped; NULL may be.
 */
bool adv_cm_event_prepare(struct adv_cm_id *id, enum rdma_cm_event_type type,
			  struct adv_cm_event_node **node);
void adv_cm_event_post(struct adv_cm_event_node *node);
void adv_cm_event_drop(struct adv_cm_event_node *node);
void adv_cm_event_private(struct adv_cm_event_node *node, const uint8_t *data, uint8_t len);

/* --- id.c --- */

/* NULL: ENOMEM, or too many. Owned, in no state. */
struct adv_cm_id *adv_cm_id_new(struct adv_cm *cm);
void adv_cm_id_free(struct adv_cm_id *id);
void adv_cm_id_set_state(struct adv_cm_id *id, enum adv_cm_state state);
/* A communication id that nobody else has, a PSN, and a transaction id. */
void adv_cm_id_begin(struct adv_cm_id *id);
/* The peer's numbers are known: finds repeated and stale messages by them. */
void adv_cm_id_enter_remote(struct adv_cm_id *id, uint32_t remote_comm_id);
void adv_cm_id_enter_qpn(struct adv_cm_id *id);
/* Nothing of the protocol is left; frees an id that nobody owns. */
void adv_cm_id_close(struct adv_cm_id *id);
void adv_cm_id_timewait(struct adv_cm_id *id, uint64_t now);
/* A request has been answered or is over. */
void adv_cm_id_answered(struct adv_cm_id *id);

struct adv_cm_id *adv_cm_find(struct adv_cm *cm, const struct adv_rx_meta *meta,
			      uint32_t local_comm_id);
/* Both ids are right, and the addresses. */
struct adv_cm_id *adv_cm_find_both(struct adv_cm *cm, const struct adv_rx_meta *meta,
				   uint32_t local_comm_id, uint32_t remote_comm_id);
/* sidr: request ids, which are numbers of another kind. */
struct adv_cm_id *adv_cm_find_remote(struct adv_cm *cm, const struct adv_rx_meta *meta,
				     uint64_t guid, uint32_t remote_comm_id, bool sidr);
struct adv_cm_id *adv_cm_find_qpn(struct adv_cm *cm, const struct adv_gid *gid, uint64_t guid,
				  uint32_t qpn);

/* --- port.c --- */

void adv_cm_port_release(struct adv_cm_id *id);
/* Who listens at this address and port, or NULL; a listener at the address itself goes first. */
struct adv_cm_id *adv_cm_find_listener(struct adv_cm *cm, uint64_t service_id,
				       const struct adv_cm_ip_header *header);
bool adv_cm_addr_any(const struct adv_cm_addr *addr);

/* --- request.c, connect.c, reject.c, release.c, sidr.c: the messages --- */

typedef void adv_cm_rx_fn(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
			  const struct adv_cm_packet *packet);

adv_cm_rx_fn adv_cm_rx_req, adv_cm_rx_rtu, adv_cm_rx_rep, adv_cm_rx_rej, adv_cm_rx_mra,
	adv_cm_rx_dreq, adv_cm_rx_drep, adv_cm_rx_lap, adv_cm_rx_sidr_req, adv_cm_rx_sidr_rep;

/* --- owner.c --- */

/* The number of ours that a message names; 0: none. */
uint32_t adv_cm_receiver_of(const struct adv_cm_packet *packet);

/* --- proof.c: what may go to an address that has not proved itself --- */

/* Has the address, lately? */
bool adv_cm_proven(struct adv_cm *cm, uint64_t now, const struct adv_gid *gid);
/* Something has come: it may be the proof. */
void adv_cm_proof_take(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		       const struct adv_cm_packet *packet);
/* A request of the id's peer has come, for the first time or again. */
void adv_cm_id_credit(struct adv_cm_id *id);
/* May one more MAD go to the peer? It is counted then. */
bool adv_cm_id_pay(struct adv_cm_id *id);
/* The same, of the repetition number id->tries of what was not answered. */
bool adv_cm_id_pay_again(struct adv_cm_id *id, uint64_t now);

/* --- early.c: requests that nobody listens for yet; times are those of their arrival --- */

/* Keeps a REQ or SIDR_REQ, with a header of annex A11 in it, for a moment; one that repeats what
 * is kept is done with. False: refuse it. */
bool adv_cm_early_hold(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		       const struct adv_cm_packet *packet);
/* Somebody listens: who waited for that is taken for having come now. */
void adv_cm_early_deliver(struct adv_cm *cm);
uint64_t adv_cm_early_deadline(const struct adv_cm *cm);
/* Refuses those that have waited long enough. */
void adv_cm_early_expire(struct adv_cm *cm, uint64_t now);
void adv_cm_early_forget_all(struct adv_cm *cm);

/* An id for a request that came in, if its listener and sender may have one more; else NULL. */
struct adv_cm_id *adv_cm_request_new(struct adv_cm_id *listener, uint64_t now,
				     const struct adv_rx_meta *meta,
				     const struct adv_cm_ip_header *header, uint16_t port);

/* Of the id's own state: to whom and which message it is about follows from that. */
void adv_cm_send_rej(struct adv_cm_id *id, uint16_t reason, const void *private_data,
		     uint8_t private_data_len);
/* About a message that has no id. */
void adv_cm_reject_stateless(struct adv_cm *cm, const struct adv_rx_meta *meta,
			     const struct adv_cm_packet *packet, uint16_t reason);
/* There is no such service. */
void adv_cm_refuse_sidr(struct adv_cm *cm, const struct adv_rx_meta *meta,
			const struct adv_cm_packet *packet);
void adv_cm_send_mra(struct adv_cm_id *id, enum adv_cm_about about);
void adv_cm_send_dreq(struct adv_cm_id *id, uint64_t now);
/* To a stranger a few times, unasked. */
void adv_cm_send_rtu(struct adv_cm_id *id, uint64_t now);
void adv_cm_send_sidr_rep(struct adv_cm_id *id, uint8_t status,
			  const struct adv_cm_conn_param *param);

int adv_cm_connect_rc(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param);
int adv_cm_connect_sidr(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param);
int adv_cm_accept_rc(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param);

/* 4.096 us * 2^n */
static inline uint64_t adv_cm_iba_ns(uint8_t n)
{
	return UINT64_C(4096) << n;
}

/*
 * The ACK timeout of a QP, as an exponent, from the other end's ACK delay and the packet life
 * time (IBTA 12.7.34), rounded as Linux does.
 */
uint8_t adv_cm_ack_timeout(uint8_t ack_delay, uint8_t packet_life_time);

/* The header of annex A11 for what this id sends. */
void adv_cm_ip_header_of(const struct adv_cm_id *id, uint8_t out[ADV_CM_IP_HEADER_LEN]);

#endif
