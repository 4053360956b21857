/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connection manager of one port: the protocol of IBTA volume 1 chapter 12 with the IP
 * addressing of annex A11, as one pure state machine. It includes port spaces and listeners.
 *
 * It makes no system call and has no thread, lock, clock or global. The caller passes in the time,
 * as nanoseconds of any clock that does not go back. One thread at a time uses a CM and its ids.
 * Calls that return int return 0 or a positive errno, and change nothing if they fail.
 *
 * The owner passes received MADs to adv_cm_rx(), and after any call
 *  - sends MADs from adv_cm_tx() until it returns false,
 *  - handles events from adv_cm_next_event() until it returns false,
 *  - calls adv_cm_expire() at or after adv_cm_deadline().
 */
#ifndef ADV_CM_CM_H
#define ADV_CM_CM_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/packet.h"

#define ADV_CM_MAD_LEN	256
#define ADV_CM_QKEY	0x80010000u /* the well-known Q_Key of QP1 */
#define ADV_CM_UDP_QKEY 0x01234567u /* RDMA_UDP_QKEY: the Q_Key of the UDP port space */
#define ADV_CM_PRIVATE_MAX                                                                         \
	224 /* the most private data that any message carries for its consumer                     \
	     */

/* The private data that a consumer may give, without the header of annex A11 (36 bytes). */
#define ADV_CM_REQ_PRIVATE	56
#define ADV_CM_REP_PRIVATE	196
#define ADV_CM_REJ_PRIVATE	148
#define ADV_CM_SIDR_REQ_PRIVATE 180
#define ADV_CM_SIDR_REP_PRIVATE 136

struct adv_cm;	  /* the CM of one port */
struct adv_cm_id; /* an endpoint, as rdma_cm_id is for librdmacm */

struct adv_cm_config {
	uint64_t seed;	    /* unguessable if packets come from other machines (getrandom) */
	uint64_t node_guid; /* in network byte order */
	uint32_t max_ids;   /* 0: 524,288; ids in TIMEWAIT and ending ids count too */
	/* Retransmission of REQ, REP, DREQ and SIDR_REQ: the first after retry_first_ns, each
	 * further one after twice the time, but at most retry_longest_ns. Each time varies at
	 * random by an eighth. max_tries transmissions in all. 0: 250 ms, 4 s, 8. */
	uint64_t retry_first_ns;
	uint64_t retry_longest_ns;
	unsigned max_tries;
	/* How long a request for which no listener exists is held before it is refused; 0: it is
	 * refused at once. */
	uint64_t early_ns;
	/* As early_ns, for a port for which adv_cm_expect_relisten() was called recently; 0:
	 * early_ns. */
	uint64_t again_ns;
	uint64_t timewait_ns; /* 0: from the packet life time and ACK delay, by IBTA 12.9.8.4 */
};

/* Returns NULL if there is no memory. */
struct adv_cm *adv_cm_create(const struct adv_cm_config *config);
/* Frees the CM and all its ids. Nothing is sent. */
void adv_cm_destroy(struct adv_cm *cm);

/* --- packets --- */

/* A MAD and its path: path.sgid is our address, path.dgid the peer's. */
struct adv_cm_mad {
	struct adv_path path;
	uint32_t dest_qpn; /* always 1 */
	uint8_t data[ADV_CM_MAD_LEN];
};

/* Handles the payload of a packet for QP1, which may be any bytes. Its Q_Key is already checked.
 * `meta` has its source and the address of ours that it was sent to. */
void adv_cm_rx(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta, const void *mad,
	       size_t len);

/* Returns true and *out, the next MAD to send; or false. */
bool adv_cm_tx(struct adv_cm *cm, uint64_t now, struct adv_cm_mad *out);

/*
 * Handles an ICMP port unreachable for a MAD of ours. The ICMP message quotes the first `len` bytes
 * of the MAD, which may be any bytes. It counts only if they are those of a message that waits for
 * its answer. After three transmissions of that message the CM gives it up. sgid is our address,
 * dgid the peer's, as in the MAD.
 */
void adv_cm_port_unreachable(struct adv_cm *cm, uint64_t now, const struct adv_gid *sgid,
			     const struct adv_gid *dgid, const void *mad, size_t len);

/*
 * Returns the `user` of the id that receives a MAD, or sends it if it was `sent` by adv_cm_tx().
 * For a new request this is the listener's. NULL: no id, an id that is over, or one that its owner
 * has destroyed. Changes nothing. `meta` is that of the MAD's reception: for a sent MAD, sgid is
 * the peer's address.
 */
void *adv_cm_mad_user(struct adv_cm *cm, const struct adv_rx_meta *meta, const void *mad,
		      size_t len, bool sent);

/* Returns the time when adv_cm_expire() has work; UINT64_MAX: never. */
uint64_t adv_cm_deadline(const struct adv_cm *cm);
/* Does a bounded part of that work. The deadline shows whether more is left. */
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
	enum ibv_mtu mtu;	  /* of this end */
	uint8_t packet_life_time; /* 4.096 us * 2^n */
	uint8_t rate;		  /* enum ibv_rate */
};

/* The parameters of connect and accept: those of struct rdma_conn_param, and those that verbs
 * knows. */
struct adv_cm_conn_param {
	uint32_t qp_num;
	uint32_t qkey;	  /* UD; 0: ADV_CM_UDP_QKEY */
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
 * Makes an id in port space `ps`. `user` is the owner's own; adv_cm_id_user() returns it. NULL and
 * errno: EPROTONOSUPPORT (no such port space), ENOMEM (also if there are max_ids).
 */
struct adv_cm_id *adv_cm_id_create(struct adv_cm *cm, enum rdma_port_space ps,
				   enum ibv_qp_type qp_type, void *user);

/*
 * Ends the id: its undelivered events are dropped, and its port is free again. The CM still sends
 * what the id's state requires:
 *  - a REJ for an unanswered request: "timeout" for one that waits for an answer;
 *  - a DREQ for a connection, retransmitted until it is answered.
 * A listener's undelivered requests are rejected. Delivered ones are ids of their own and continue.
 */
void adv_cm_id_destroy(struct adv_cm_id *id, uint64_t now);

/* From now on the id counts in *charged only (NULL: nowhere), until nothing is left of it. This is
 * long after adv_cm_id_destroy() if the id has to finish. *charged must stay valid until then. */
void adv_cm_id_charge(struct adv_cm_id *id, unsigned *charged);

void adv_cm_id_set_user(struct adv_cm_id *id, void *user);
void *adv_cm_id_user(const struct adv_cm_id *id);
enum rdma_port_space adv_cm_id_port_space(const struct adv_cm_id *id);
enum ibv_qp_type adv_cm_id_qp_type(const struct adv_cm_id *id);
/* Returns the number of its consumer's queue pair; 0: not known yet. */
uint32_t adv_cm_id_qpn(const struct adv_cm_id *id);
/* Return the id's addresses, as far as they are known; otherwise with family 0. */
const struct adv_cm_addr *adv_cm_id_local(const struct adv_cm_id *id);
const struct adv_cm_addr *adv_cm_id_remote(const struct adv_cm_id *id);
/* Returns NULL until adv_cm_set_route() or the arrival of a request sets the route. */
const struct adv_cm_route *adv_cm_id_route(const struct adv_cm_id *id);
/* True if the id has a peer: from connect or request until it is disconnected or rejected. */
bool adv_cm_id_busy(const struct adv_cm_id *id);

enum adv_cm_bind_flags {
	ADV_CM_BIND_REUSE = 1,	/* RDMA_OPTION_ID_REUSEADDR */
	ADV_CM_BIND_AFONLY = 2, /* RDMA_OPTION_ID_AFONLY: an IPv6 wildcard does not include IPv4 */
};

/*
 * Binds the id to an address and a port of its port space. The caller has checked that the address
 * is the machine's own or the wildcard. For port 0 the CM chooses one from 32768 to 60999; if none
 * is free, one that only connections to other peers use. Errors:
 *  - EINVAL: the id is already bound;
 *  - EADDRINUSE: the port is taken by the kernel's rules for rdma_bind_addr, 1024 ids share it, or
 *    no port is left;
 *  - EAFNOSUPPORT: neither IPv4 nor IPv6.
 */
int adv_cm_bind(struct adv_cm_id *id, const struct adv_cm_addr *addr, unsigned flags);
/* Changes the flags of a bound id. Later bind and listen calls see them. */
void adv_cm_set_bind_flags(struct adv_cm_id *id, unsigned flags);

/* Sets the id's peer. An id bound to the wildcard keeps its port and gets the address of `local`.
 * An unbound id is bound; the CM chooses a port if `local` has 0. The call may be repeated until
 * the id connects. EINVAL: wrong state; EADDRINUSE; EAFNOSUPPORT: the two addresses are not of one
 * family. */
int adv_cm_set_peer(struct adv_cm_id *id, const struct adv_cm_addr *local,
		    const struct adv_cm_addr *remote);
/*
 * Sets the route. path.sgid and path.dgid must be the addresses of both ends; otherwise the peer
 * refuses the request. The CM chooses a flow label if it is 0, and derives the UDP source port from
 * the label. For an unanswered request the call sets only what the sender of the request cannot
 * know: path.sgid_index, path.hop_limit and rate. Errors:
 *  - EINVAL: no peer is set, or the id is already connected;
 *  - EMSGSIZE: the request asks for a larger MTU than `mtu` (0: any MTU will do). Only
 *    adv_cm_reject_mtu() can tell the peer.
 */
int adv_cm_set_route(struct adv_cm_id *id, const struct adv_cm_route *route);

/* RDMA_OPTION_ID_TOS (without its ECN bits) and RDMA_OPTION_ID_ACK_TIMEOUT (0 to 31, else EINVAL).
 * Messages and QP attributes from now on use them. */
int adv_cm_set_tos(struct adv_cm_id *id, uint8_t tos);
int adv_cm_set_ack_timeout(struct adv_cm_id *id, uint8_t timeout);

/*
 * Listens. An unbound id is first bound to the wildcard and a port that the CM chooses. Up to
 * `backlog` requests may wait for adv_cm_request_taken(); further ones are not answered, so their
 * senders retransmit. 0, and more than 1024, mean 1024. EINVAL: wrong state; EADDRINUSE: another id
 * listens there.
 */
int adv_cm_listen(struct adv_cm_id *id, unsigned backlog);
/* Call it before a listener is destroyed whose consumer lives on and may listen at the same port
 * again: requests of the next 10 seconds are held longer for that. Does nothing if the id does not
 * listen. */
void adv_cm_expect_relisten(const struct adv_cm_id *id, uint64_t now);
/* Removes a request that the consumer has received from its listener's backlog. */
void adv_cm_request_taken(struct adv_cm_id *id);

/*
 * Sends a REQ, or a SIDR_REQ in the UDP and IPoIB port spaces. EINVAL: no route, wrong state, or
 * too much private data.
 */
int adv_cm_connect(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param);
/* Answers a request with REP or SIDR_REP. ECONNABORTED: the peer has given up; EINVAL. */
int adv_cm_accept(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param);
/* Rejects a request or a response with a REJ. In SIDR `reason` is a status; an unknown one becomes
 * 2, reject. The id is over then. EINVAL. */
int adv_cm_reject(struct adv_cm_id *id, uint64_t now, uint8_t reason, const void *private_data,
		  uint8_t private_data_len);
/*
 * Rejects a request because of its path MTU, and names an MTU that this end accepts (REJ 26, IBTA
 * 12.6.7.2). If the peer runs this software, it repeats the request with that MTU without its
 * consumer. The id is over then. EINVAL.
 */
int adv_cm_reject_mtu(struct adv_cm_id *id, uint64_t now, enum ibv_mtu mtu);
/*
 * After CONNECT_RESPONSE: the consumer's QP can send, so the CM sends an RTU. No event follows. At
 * the accepting side: data of the peer has arrived before its RTU (IBV_EVENT_COMM_EST); it counts
 * as the RTU and causes ESTABLISHED. EINVAL; EISCONN at the accepting side after the RTU.
 */
int adv_cm_establish(struct adv_cm_id *id, uint64_t now);
/*
 * Sends a DREQ. DISCONNECTED follows when it is answered or given up (status -ETIMEDOUT). The CM
 * answers the peer's DREQ itself. Returns 0 without sending if either side has disconnected or is
 * disconnecting, and for UD, which has no connection. EINVAL: not connected.
 */
int adv_cm_disconnect(struct adv_cm_id *id, uint64_t now);

/*
 * Fills in the attributes that ibv_modify_qp() needs to bring a QP of this id to `state` (INIT,
 * RTR, RTS), as rdma_init_qp_attr(3). UD ids: INIT with the Q_Key, RTR, RTS. ah_attr.grh.sgid_index
 * is route.path.sgid_index. EINVAL: not known yet.
 */
int adv_cm_qp_attr(const struct adv_cm_id *id, enum ibv_qp_state state, struct ibv_qp_attr *attr,
		   int *mask);

/* --- events --- */

/*
 * An id gets each of these events at most once, in this order:
 *  - Connecting: CONNECT_RESPONSE; or UNREACHABLE (-ETIMEDOUT: no answer; -ECONNREFUSED: the peer's
 *    port is closed, by adv_cm_port_unreachable()); or REJECTED. A REJ that names a smaller MTU
 *    causes none of these: the CM repeats the request with that MTU and changes the route. After
 *    the response REJECTED (the acceptor gave up before the RTU) or DISCONNECTED; then
 *    TIMEWAIT_EXIT.
 *  - Accepting: CONNECT_REQUEST; then ESTABLISHED, or UNREACHABLE (no RTU), or REJECTED (the peer
 *    gave up; adv_cm_accept() returns ECONNABORTED from then on), or DISCONNECTED (the RTU was
 *    lost); after ESTABLISHED DISCONNECTED; then TIMEWAIT_EXIT.
 *  - SIDR, requesting: ESTABLISHED (param.qp_num and qkey are the peer's) or UNREACHABLE (status:
 *    that of the SIDR_REP, IB_SIDR_*, or -ETIMEDOUT). Responding: CONNECT_REQUEST.
 *
 * TIMEWAIT_EXIT follows DISCONNECTED, REJECTED after a response, and REJECTED with reason 10 (the
 * QP is still part of a connection at the peer). librdmacm itself makes CONNECT_ERROR. Private data
 * has the length of its message's field, padded with 0: no message carries the real length.
 */
struct adv_cm_event {
	enum rdma_cm_event_type type;
	/* 0; REJECTED: the reason of the REJ; UNREACHABLE, DISCONNECTED: -ETIMEDOUT; UNREACHABLE:
	 * -ECONNREFUSED, or in SIDR the status of the SIDR_REP */
	int status;
	struct adv_cm_id *id;	  /* CONNECT_REQUEST: a new id, owned by the caller; user NULL */
	struct adv_cm_id *listen; /* CONNECT_REQUEST: the listener */
	/* As the receiver of the event sees it: responder_resources is what the peer may request of
	 * this end. qp_num is the peer's. */
	struct adv_cm_conn_param param;
};

/* Returns true and *out, or false if there is no event. */
bool adv_cm_next_event(struct adv_cm *cm, struct adv_cm_event *out);

/* --- counters --- */

struct adv_cm_counters {
	uint64_t rx_mads;
	uint64_t rx_malformed; /* not a CM MAD, or its fields contradict each other */
	uint64_t rx_unmatched; /* belongs to no id, or comes from the wrong peer or in the wrong
				  state */
	uint64_t rx_duplicates;
	uint64_t tx_mads;
	uint64_t tx_retries;
	uint64_t backlog_drops;
};

const struct adv_cm_counters *adv_cm_counters(const struct adv_cm *cm);
/* Counts of ids: those with an owner, and those that only finish (DREQ sent, TIMEWAIT). */
unsigned adv_cm_id_count(const struct adv_cm *cm);
unsigned adv_cm_ending_count(const struct adv_cm *cm);
/* Of the finishing ids, those whose DREQ is not answered yet. */
unsigned adv_cm_closing_count(const struct adv_cm *cm);
/* Of the ids with an owner, those that have a peer: adv_cm_id_busy(). */
unsigned adv_cm_busy_count(const struct adv_cm *cm);

#endif
