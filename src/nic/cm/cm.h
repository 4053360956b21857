/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connection manager (CM) of one port: a state machine for the protocol of IBTA chapter 12 with
 * the IP addressing of annex A11. It includes port spaces and listeners.
 *
 * The CM makes no system call and has no thread, lock, clock or global variable. The caller passes
 * in the time, in nanoseconds of any clock that never goes back. Only one thread at a time may use
 * a CM and its ids. Functions that return int return 0 or a positive errno. A failed call changes
 * nothing.
 *
 * The owner passes received MADs to adv_cm_rx(), and after any call
 *  - sends MADs from adv_cm_tx() until it returns false,
 *  - handles events from adv_cm_next_event() until it returns false,
 *  - calls adv_cm_expire() at or after adv_cm_deadline().
 */
#ifndef ADV_NIC_CM_CM_H
#define ADV_NIC_CM_CM_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic/wire/cm_message_ip.h"
#include "nic/wire/packet.h"
#include "nic/wire/pkey.h"

#define ADV_CM_MAD_LEN	256
#define ADV_CM_UDP_QKEY 0x01234567u /* RDMA_UDP_QKEY: the Q_Key of the UDP port space */
#define ADV_CM_PRIVATE_MAX                                                                         \
	224 /* the most private data that any message carries for its consumer                     \
	     */

struct adv_cm;	  /* the CM of one port */
struct adv_cm_id; /* an endpoint, as rdma_cm_id is for librdmacm */

struct adv_cm_config {
	uint64_t seed;	    /* unguessable if packets come from other machines (getrandom) */
	uint64_t node_guid; /* GUID of the node, in network byte order */
	uint32_t max_ids;   /* most ids, including ending ids and those in TIMEWAIT; 0: 524,288 */
	/* Retransmission of REQ, REP, DREQ and SIDR_REQ: the first after retry_first_ns. Each
	 * further one waits twice as long as the previous one, but at most retry_longest_ns. Each
	 * time varies at random by an eighth. max_tries counts all transmissions of a message.
	 * Defaults for 0: 250 ms, 4 s, 8 transmissions. */
	uint64_t retry_first_ns;
	uint64_t retry_longest_ns;
	unsigned max_tries;
	/* Time to hold a request for which no listener exists, before the CM refuses it. 0: the CM
	 * refuses it at once. */
	uint64_t early_ns;
	/* The same time for a port for which adv_cm_expect_relisten() was called recently; 0:
	 * early_ns. */
	uint64_t again_ns;
	uint64_t timewait_ns;	     /* duration of TIMEWAIT; 0: from packet life time and ACK delay
					(IBTA 12.9.8.4) */
	struct adv_pkey_table pkeys; /* the port's; empty: ADV_PKEY_DEFAULT only */
};

/* Returns NULL if there is no memory. */
struct adv_cm *adv_cm_create(const struct adv_cm_config *config);
/* Frees the CM and all its ids. Nothing is sent. */
void adv_cm_destroy(struct adv_cm *cm);

/* --- packets --- */

/* A MAD and its path: path.sgid is the address of this end, path.dgid the peer's. For path.v1 the
 * owner finds path.dmac. */
struct adv_cm_mad {
	struct adv_path path;
	uint32_t dest_qpn; /* always 1 */
	uint16_t pkey;	   /* an entry of the port's table */
	uint8_t data[ADV_CM_MAD_LEN];
};

/* Handles the payload of a packet for QP1. The payload may be any bytes. The caller has checked the
 * packet's Q_Key. `meta` contains the packet's source and destination addresses. */
void adv_cm_rx(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta, const void *mad,
	       size_t len);

/* Returns true and *out, the next MAD to send; or false. */
bool adv_cm_tx(struct adv_cm *cm, uint64_t now, struct adv_cm_mad *out);

/*
 * Handles an ICMP port unreachable for a MAD that this CM has sent. The ICMP message quotes the
 * first `len` bytes of the MAD; the quote may be any bytes. The CM ignores it if the quote does not
 * match an unanswered message. Otherwise the CM gives up after three transmissions of that message.
 * sgid is the address of this end, dgid the peer's, as in the MAD.
 */
void adv_cm_port_unreachable(struct adv_cm *cm, uint64_t now, const struct adv_gid *sgid,
			     const struct adv_gid *dgid, const void *mad, size_t len);

/*
 * Returns the `user` of the id to which a MAD belongs: of the id that receives it, or if `sent`, of
 * the id that has sent it. A new request belongs to its listener. Returns NULL if there is no such
 * id, or if the id is closed or destroyed by its owner. Changes nothing. `meta` has the addresses
 * as at a reception: for a sent MAD, meta->sgid is the peer's address.
 */
void *adv_cm_mad_user(struct adv_cm *cm, const struct adv_rx_meta *meta, const void *mad,
		      size_t len, bool sent);

/* Returns the time when adv_cm_expire() has work; UINT64_MAX: never. */
uint64_t adv_cm_deadline(const struct adv_cm *cm);
/* Handles expired timers and held requests, a bounded number. If work is left, adv_cm_deadline() is
 * not later than `now`. */
void adv_cm_expire(struct adv_cm *cm, uint64_t now);

/* --- ids --- */

/* An IP address and port. */
struct adv_cm_addr {
	sa_family_t family; /* AF_INET, AF_INET6; 0: none */
	uint16_t port;	    /* in host byte order */
	struct adv_gid ip;  /* IPv4 as a mapped address; the wildcard is 0.0.0.0 mapped, or :: */
	uint32_t scope_id;
};

/* The resolved route to a peer. */
struct adv_cm_route {
	struct adv_path path;	  /* flow_label 0: the CM chooses one */
	enum ibv_mtu mtu;	  /* MTU of this end */
	uint8_t packet_life_time; /* 4.096 us * 2^n */
	uint8_t rate;		  /* enum ibv_rate */
	uint16_t pkey;		  /* of this end; 0: the first of the port's table */
};

/* The parameters of connect and accept: those of struct rdma_conn_param and of the consumer's
 * QP. */
struct adv_cm_conn_param {
	uint32_t qp_num;
	uint32_t qkey;	  /* UD: the Q_Key; 0: ADV_CM_UDP_QKEY */
	uint32_t srq_num; /* XRC */
	enum ibv_qp_type qp_type;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t flow_control;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t srq;
	struct ibv_ece ece;
	uint8_t private_data_len;
	uint8_t private_data[ADV_CM_PRIVATE_MAX];
};

/*
 * Makes an id in port space `ps`. The CM stores `user` for the owner; adv_cm_id_user() returns it.
 * NULL and errno: EPROTONOSUPPORT (no such port space), ENOMEM (also if max_ids ids exist).
 */
struct adv_cm_id *adv_cm_id_create(struct adv_cm *cm, enum rdma_port_space ps,
				   enum ibv_qp_type qp_type, void *user);

/*
 * Ends the id: drops its undelivered events and releases its port. The CM still sends the messages
 * that the id's state requires:
 *  - a REJ for an unanswered request: with the reason "timeout" if this id has sent the request;
 *  - a DREQ for a connection, retransmitted until it is answered.
 * A listener's undelivered requests are rejected. Delivered ones are ids of their own and continue.
 */
void adv_cm_id_destroy(struct adv_cm_id *id, uint64_t now);

/* Adds the id to the counter *charged (NULL: none), and subtracts it from its previous counter. The
 * id counts until the CM frees it, which is long after adv_cm_id_destroy() if the protocol has to
 * finish. *charged must stay valid until then. */
void adv_cm_id_charge(struct adv_cm_id *id, unsigned *charged);

void adv_cm_id_set_user(struct adv_cm_id *id, void *user);
void *adv_cm_id_user(const struct adv_cm_id *id);
enum rdma_port_space adv_cm_id_port_space(const struct adv_cm_id *id);
enum ibv_qp_type adv_cm_id_qp_type(const struct adv_cm_id *id);
/* Returns the QP number of the id's consumer; 0: not known yet. */
uint32_t adv_cm_id_qpn(const struct adv_cm_id *id);
/* Return the id's addresses, as far as they are known; otherwise with family 0. */
const struct adv_cm_addr *adv_cm_id_local(const struct adv_cm_id *id);
const struct adv_cm_addr *adv_cm_id_remote(const struct adv_cm_id *id);
/* Returns NULL until adv_cm_set_route() or the arrival of a request sets the route. */
const struct adv_cm_route *adv_cm_id_route(const struct adv_cm_id *id);
/* True if the id has a peer: from connect or request until it is disconnected or rejected. */
bool adv_cm_id_busy(const struct adv_cm_id *id);
/* True if the connection has ended: either side has disconnected, or the peer has lost it. */
bool adv_cm_id_disconnected(const struct adv_cm_id *id);

enum adv_cm_bind_flags {
	ADV_CM_BIND_REUSE = 1,	/* RDMA_OPTION_ID_REUSEADDR */
	ADV_CM_BIND_AFONLY = 2, /* RDMA_OPTION_ID_AFONLY: an IPv6 wildcard does not include IPv4 */
};

/*
 * Binds the id to an address and a port of its port space. The caller has checked that the address
 * is the machine's own or the wildcard. For port 0 the CM chooses a free port from 32768 to 60999.
 * If none is free, it chooses a port that only connections to other peers use. Errors:
 *  - EINVAL: the id is already bound;
 *  - EADDRINUSE: the port is taken by the kernel's rules for rdma_bind_addr, 1024 ids share it, or
 *    no port is left;
 *  - EAFNOSUPPORT: neither IPv4 nor IPv6.
 */
int adv_cm_bind(struct adv_cm_id *id, const struct adv_cm_addr *addr, unsigned flags);
/* Changes the flags of a bound id. Later bind and listen calls see them. */
void adv_cm_set_bind_flags(struct adv_cm_id *id, unsigned flags);

/*
 * Sets the id's peer. An id bound to the wildcard keeps its port and gets the address of `local`.
 * An unbound id is bound to `local`; for port 0 the CM chooses a port. The caller may call it again
 * until the id connects. EINVAL: wrong state; EADDRINUSE; EAFNOSUPPORT: the two addresses are not
 * of one family.
 */
int adv_cm_set_peer(struct adv_cm_id *id, const struct adv_cm_addr *local,
		    const struct adv_cm_addr *remote);
/*
 * Sets the route. path.sgid and path.dgid must be the addresses of both ends; otherwise the peer
 * refuses the request. The CM chooses a flow label if it is 0, and derives the UDP source port from
 * the label. For an unanswered request the call sets only what the sender of the request cannot
 * know: path.sgid_index, path.hop_limit and rate. Errors:
 *  - EINVAL: no peer is set, or the id is already connected;
 *  - EMSGSIZE: the request requires a larger MTU than route->mtu (0: any MTU is accepted). Only
 *    adv_cm_reject_mtu() can inform the peer.
 */
int adv_cm_set_route(struct adv_cm_id *id, const struct adv_cm_route *route);

/*
 * Sets the addresses of a new id whose connection another protocol has made: it takes no port, and
 * only adv_cm_set_route() and the functions that read may follow. EINVAL: wrong state.
 */
int adv_cm_set_addresses(struct adv_cm_id *id, const struct adv_cm_addr *local,
			 const struct adv_cm_addr *remote);

/* Sets RDMA_OPTION_ID_TOS, without its ECN bits. Later messages and QP attributes use it. */
int adv_cm_set_tos(struct adv_cm_id *id, uint8_t tos);
/* Sets RDMA_OPTION_ID_ACK_TIMEOUT, 0 to 31; otherwise EINVAL. Later messages and QP attributes use
 * it. */
int adv_cm_set_ack_timeout(struct adv_cm_id *id, uint8_t timeout);

/*
 * Listens. An unbound id is first bound to the wildcard and a port that the CM chooses. Up to
 * `backlog` requests may wait for adv_cm_request_taken(). Further requests are not answered, so
 * their senders retransmit. A backlog of 0 or above 1024 means 1024. EINVAL: wrong state;
 * EADDRINUSE: another id listens at this address and port.
 */
int adv_cm_listen(struct adv_cm_id *id, unsigned backlog);
/* Announces that a listener will be destroyed and that its consumer may listen at the same port
 * again. Requests for that port in the next 10 seconds are held longer (again_ns). Does nothing if
 * the id does not listen. */
void adv_cm_expect_relisten(const struct adv_cm_id *id, uint64_t now);
/* Removes a request that the consumer has received from its listener's backlog. */
void adv_cm_request_taken(struct adv_cm_id *id);

/*
 * Sends a REQ, or a SIDR_REQ in the UDP and IPoIB port spaces. EINVAL: no route, wrong state, or
 * too much private data.
 */
int adv_cm_connect(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param);
/* Answers a request with a REP or SIDR_REP. ECONNABORTED: the peer has given up; EINVAL: wrong
 * state or parameters. */
int adv_cm_accept(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param);
/* Rejects a request or a response with a REJ. In SIDR sends a SIDR_REP: `reason` is a status, and
 * an unknown status becomes 2, reject. The protocol of the id ends. EINVAL: wrong state or too much
 * private data. */
int adv_cm_reject(struct adv_cm_id *id, uint64_t now, uint8_t reason, const void *private_data,
		  uint8_t private_data_len);
/*
 * Rejects a request because of its path MTU, and closes the id. The REJ names an MTU that this end
 * accepts (REJ 26, IBTA 12.6.7.2). If the peer runs this software, its CM repeats the request with
 * that MTU, and its consumer gets no event. EINVAL: wrong state.
 */
int adv_cm_reject_mtu(struct adv_cm_id *id, uint64_t now, enum ibv_mtu mtu);
/*
 * At the connecting side, call it after CONNECT_RESPONSE when the consumer's QP can send: the CM
 * sends an RTU, and no event follows. At the accepting side, call it when data of the peer arrives
 * before its RTU (IBV_EVENT_COMM_EST): the data counts as the RTU and causes ESTABLISHED. EINVAL:
 * wrong state; EISCONN: at the accepting side after the RTU.
 */
int adv_cm_establish(struct adv_cm_id *id, uint64_t now);
/*
 * Sends a DREQ. DISCONNECTED follows when the peer answers, or when the CM gives up (status
 * -ETIMEDOUT). The CM answers the peer's DREQ itself. Returns 0 without sending in two cases:
 * either side has disconnected or is disconnecting; or the id is UD, which has no connection.
 * EINVAL: not connected.
 */
int adv_cm_disconnect(struct adv_cm_id *id, uint64_t now);

/*
 * Fills in the attributes that ibv_modify_qp() needs to bring a QP of this id to `state` (INIT,
 * RTR, RTS), as rdma_init_qp_attr(3). UD ids: INIT with the Q_Key, RTR, RTS. ah_attr.grh.sgid_index
 * is route.path.sgid_index. EINVAL: not known yet; ECONNABORTED: the peer has given up its request.
 */
int adv_cm_qp_attr(const struct adv_cm_id *id, enum ibv_qp_state state, struct ibv_qp_attr *attr,
		   int *mask);

/* --- events --- */

/*
 * An id gets each of these events at most once, in this order:
 *  - Connecting: CONNECT_RESPONSE; or UNREACHABLE (-ETIMEDOUT: no answer; -ECONNREFUSED: the peer's
 *    port is closed, by adv_cm_port_unreachable()); or REJECTED. A REJ that names a smaller MTU
 *    causes none of these: the CM repeats the request with that MTU and changes the route. After
 *    CONNECT_RESPONSE: REJECTED (the acceptor gave up before the RTU) or DISCONNECTED; then
 *    TIMEWAIT_EXIT.
 *  - Accepting: CONNECT_REQUEST; then ESTABLISHED, or UNREACHABLE (no RTU), or REJECTED (the peer
 *    gave up: later adv_cm_accept() returns ECONNABORTED), or DISCONNECTED (the RTU was lost).
 *    After ESTABLISHED: DISCONNECTED; then TIMEWAIT_EXIT.
 *  - SIDR, requesting: ESTABLISHED (param.qp_num and qkey are the peer's) or UNREACHABLE (status:
 *    that of the SIDR_REP, IB_SIDR_*, or -ETIMEDOUT). Responding: CONNECT_REQUEST.
 *
 * TIMEWAIT_EXIT follows DISCONNECTED, REJECTED after a response, and REJECTED with reason 10 (the
 * QP is still part of a connection at the peer). The CM never reports CONNECT_ERROR: librdmacm
 * makes it. Private data has the length of its message's field, padded with 0, because no message
 * carries the real length.
 */
struct adv_cm_event {
	enum rdma_cm_event_type type;
	/* 0; REJECTED: the reason of the REJ; UNREACHABLE, DISCONNECTED: -ETIMEDOUT; UNREACHABLE:
	 * -ECONNREFUSED, or in SIDR the status of the SIDR_REP */
	int status;
	struct adv_cm_id *id;	  /* CONNECT_REQUEST: a new id, owned by the caller; user NULL */
	struct adv_cm_id *listen; /* CONNECT_REQUEST: the listener */
	/* The values for the receiver of the event: responder_resources is the number of RDMA reads
	 * and atomics that the peer may request of this end. qp_num is the peer's QP number. */
	struct adv_cm_conn_param param;
};

/* Returns true and *out, or false if there is no event. */
bool adv_cm_next_event(struct adv_cm *cm, struct adv_cm_event *out);

/* --- counters --- */

struct adv_cm_counters {
	uint64_t rx_mads;
	uint64_t rx_malformed; /* MADs that are no CM MADs, or whose fields contradict each other */
	uint64_t rx_unmatched; /* MADs that belong to no id, or that come from the wrong peer or in
				  the wrong state */
	uint64_t rx_duplicates;
	uint64_t tx_mads;
	uint64_t tx_retries;
	uint64_t backlog_drops;
};

const struct adv_cm_counters *adv_cm_counters(const struct adv_cm *cm);
/* Returns the number of ids that have an owner. */
unsigned adv_cm_id_count(const struct adv_cm *cm);
/* Returns the number of ids without an owner, which only finish the protocol (DREQ sent, TIMEWAIT).
 */
unsigned adv_cm_ending_count(const struct adv_cm *cm);
/* Returns the number of ids without an owner whose DREQ is not answered yet. */
unsigned adv_cm_closing_count(const struct adv_cm *cm);
/* Returns the number of ids with an owner that have a peer: adv_cm_id_busy(). */
unsigned adv_cm_busy_count(const struct adv_cm *cm);

#endif
