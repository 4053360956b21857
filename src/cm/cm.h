/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connection manager of one port: the protocol of IBTA volume 1 chapter 12 with the IP
 * addressing of annex A11, port spaces and listeners included, as one pure state machine.
 *
 * No system call, thread, lock, clock or global. Time comes in as nanoseconds of any clock that
 * does not go back; a CM and its ids are used by one thread at a time. Calls that return int
 * return 0 or a positive errno, and change nothing where they fail.
 *
 * The owner feeds received MADs to adv_cm_rx(), and after any call
 *  - sends what adv_cm_tx() gives until it gives no more,
 *  - takes what adv_cm_next_event() gives until it gives no more,
 *  - calls adv_cm_expire() not before adv_cm_deadline().
 */
#ifndef ADV_CM_CM_H
#define ADV_CM_CM_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/packet.h"

#define ADV_CM_MAD_LEN	   256
#define ADV_CM_QKEY	   0x80010000u /* the well-known Q_Key of QP1 */
#define ADV_CM_UDP_QKEY	   0x01234567u /* RDMA_UDP_QKEY: that of the UDP port space */
#define ADV_CM_PRIVATE_MAX 224	       /* no message carries more for its consumer */

/* The private data that a consumer may give, after the header of annex A11 (36 bytes). */
#define ADV_CM_REQ_PRIVATE	56
#define ADV_CM_REP_PRIVATE	196
#define ADV_CM_REJ_PRIVATE	148
#define ADV_CM_SIDR_REQ_PRIVATE 180
#define ADV_CM_SIDR_REP_PRIVATE 136

struct adv_cm;	  /* of one port */
struct adv_cm_id; /* an endpoint: what an rdma_cm_id is to its library */

struct adv_cm_config {
	uint64_t seed;	    /* unguessable where packets come from others (getrandom) */
	uint64_t node_guid; /* network order */
	uint32_t max_ids;   /* 0: 524,288; those in TIMEWAIT and being ended included */
	/* Retransmission of REQ, REP, DREQ, SIDR_REQ: after retry_first_ns, then twice as long each
	 * time but at most retry_longest_ns, an eighth more or less by chance, max_tries sendings
	 * in all. 0: 250 ms, 4 s, 8. */
	uint64_t retry_first_ns;
	uint64_t retry_longest_ns;
	unsigned max_tries;
	/* A request that nobody listens for waits so long for a listener before it is refused; 0:
	 * it is refused at once. */
	uint64_t early_ns;
	/* The same where adv_cm_may_come_back() has lately been told of that port; 0: early_ns. */
	uint64_t again_ns;
	uint64_t timewait_ns; /* 0: by the packet life time and ACK delay, as IBTA 12.9.8.4 says */
};

/* NULL: ENOMEM. */
struct adv_cm *adv_cm_create(const struct adv_cm_config *config);
/* Frees it with all ids; nothing is sent. */
void adv_cm_destroy(struct adv_cm *cm);

/* --- packets --- */

/* A MAD and how it travels: path.sgid is ours, path.dgid the other's. */
struct adv_cm_mad {
	struct adv_path path;
	uint32_t dest_qpn; /* 1 */
	uint8_t data[ADV_CM_MAD_LEN];
};

/* Takes the payload of a packet for QP1, Q_Key already checked; any bytes whatever. `meta` says
 * where it came from and which address of ours it was sent to. */
void adv_cm_rx(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta, const void *mad,
	       size_t len);

/* The next MAD to send: true and *out, or false. */
bool adv_cm_tx(struct adv_cm *cm, uint64_t now, struct adv_cm_mad *out);

/*
 * A host says by ICMP that nobody takes packets at the port that a MAD of ours went to, and quotes
 * the first `len` bytes of it; any bytes whatever. It counts where they are those of a message that
 * waits for its answer: once that has been sent three times it is taken for unanswered for good.
 * sgid is ours, dgid the other's, as the MAD travelled.
 */
void adv_cm_port_unreachable(struct adv_cm *cm, uint64_t now, const struct adv_gid *sgid,
			     const struct adv_gid *dgid, const void *mad, size_t len);

/*
 * The `user` of the id that a MAD is for or, where it was `sent` by adv_cm_tx(), is from; of a
 * request that is new, of who listens. NULL: nobody's, or of an id that is over or that its owner
 * has destroyed. Changes nothing. `meta`: as it is, or would be, received: of one that was sent,
 * sgid is the other's.
 */
void *adv_cm_mad_user(struct adv_cm *cm, const struct adv_rx_meta *meta, const void *mad,
		      size_t len, bool sent);

/* When adv_cm_expire() has something to do; UINT64_MAX: never. */
uint64_t adv_cm_deadline(const struct adv_cm *cm);
/* Does a bounded amount of it: the deadline tells where more is to be done. */
void adv_cm_expire(struct adv_cm *cm, uint64_t now);

/* --- ids --- */

/* An address and port of the IP world. */
struct adv_cm_addr {
	sa_family_t family; /* AF_INET, AF_INET6; 0: none */
	uint16_t port;	    /* host order */
	struct adv_gid ip;  /* IPv4 mapped; the wildcard is 0.0.0.0 mapped, or :: */
	uint32_t scope_id;
};

/* What a route has been resolved to. */
struct adv_cm_route {
	struct adv_path path;	  /* flow_label 0: the CM chooses one */
	enum ibv_mtu mtu;	  /* of this end */
	uint8_t packet_life_time; /* 4.096 us * 2^n */
	uint8_t rate;		  /* enum ibv_rate */
};

/* What connect and accept are given: as struct rdma_conn_param, and what verbs knows. */
struct adv_cm_conn_param {
	uint32_t qp_num;
	uint32_t qkey;	  /* UD: 0: ADV_CM_UDP_QKEY */
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
 * A new id in port space `ps`; `user` is the owner's own, found again in events.
 * NULL and errno: EPROTONOSUPPORT (no such port space), ENOMEM (max_ids too).
 */
struct adv_cm_id *adv_cm_id_create(struct adv_cm *cm, enum rdma_port_space ps,
				   enum ibv_qp_type qp_type, void *user);

/*
 * Ends the id and forgets it: its undelivered events are dropped, its port is free again. What its
 * state demands is still sent: a REJ for a request that is unanswered (timeout for one that waits
 * for an answer), a DREQ, repeated until answered, for a connection. A listener's undelivered
 * requests are rejected; those delivered are ids of their own and go on.
 */
void adv_cm_id_destroy(struct adv_cm_id *id, uint64_t now);

/* From now on the id counts in *charged and nowhere else (NULL: nowhere), until nothing is left of
 * it: long after adv_cm_id_destroy() where it has to finish. *charged is good as long. */
void adv_cm_id_charge(struct adv_cm_id *id, unsigned *charged);

void adv_cm_id_set_user(struct adv_cm_id *id, void *user);
void *adv_cm_id_user(const struct adv_cm_id *id);
enum rdma_port_space adv_cm_id_port_space(const struct adv_cm_id *id);
enum ibv_qp_type adv_cm_id_qp_type(const struct adv_cm_id *id);
/* Its consumer's queue pair, as it was told; 0: not yet. */
uint32_t adv_cm_id_qpn(const struct adv_cm_id *id);
/* Addresses as far as known; family 0 where not. */
const struct adv_cm_addr *adv_cm_id_local(const struct adv_cm_id *id);
const struct adv_cm_addr *adv_cm_id_remote(const struct adv_cm_id *id);
/* NULL until set by adv_cm_set_route() or by a request's arrival. */
const struct adv_cm_route *adv_cm_id_route(const struct adv_cm_id *id);
/* True for an id that has a peer: from connect or request until disconnected or rejected. */
bool adv_cm_id_busy(const struct adv_cm_id *id);

enum adv_cm_bind_flags {
	ADV_CM_BIND_REUSE = 1,	/* RDMA_OPTION_ID_REUSEADDR */
	ADV_CM_BIND_AFONLY = 2, /* RDMA_OPTION_ID_AFONLY: an IPv6 wildcard without IPv4 */
};

/*
 * Binds to an address, which the caller knows to be the machine's own or the wildcard, and a port
 * of the id's port space; port 0: one of 32768 to 60999 is chosen, where none is
 * free one that only connections to elsewhere use. EINVAL: bound already;
 * EADDRINUSE: taken (the rules are the kernel's for rdma_bind_addr), 1024 share it, or no port is
 * left; EAFNOSUPPORT: neither IPv4 nor IPv6.
 */
int adv_cm_bind(struct adv_cm_id *id, const struct adv_cm_addr *addr, unsigned flags);
/* Other flags for an id that is bound: they count for who binds, listens or asks from now on. */
void adv_cm_set_bind_flags(struct adv_cm_id *id, unsigned flags);

/* Where the id's peer is. An id bound to the wildcard keeps its port and gets `local`'s address;
 * an unbound one is bound (port chosen where 0). May be repeated until connected. EINVAL: not in
 * this state; EADDRINUSE; EAFNOSUPPORT: not of one family. */
int adv_cm_set_peer(struct adv_cm_id *id, const struct adv_cm_addr *local,
		    const struct adv_cm_addr *remote);
/*
 * path.sgid and path.dgid are the addresses of both ends, else the other end refuses the request.
 * EINVAL: no peer set, or connected already. A flow label of 0 is chosen, and the UDP source port
 * follows from the label. Of a request that is unanswered it sets only what its sender cannot
 * know: path.sgid_index, path.hop_limit and rate. EMSGSIZE: the request asks for a larger MTU than
 * `mtu` (0: any will do), and no answer can tell it so but adv_cm_reject_mtu().
 */
int adv_cm_set_route(struct adv_cm_id *id, const struct adv_cm_route *route);

/* RDMA_OPTION_ID_TOS (its ECN bits are not used) and _ACK_TIMEOUT (0..31, else EINVAL): used by
 * what is sent and set from now on. */
int adv_cm_set_tos(struct adv_cm_id *id, uint8_t tos);
int adv_cm_set_ack_timeout(struct adv_cm_id *id, uint8_t timeout);

/*
 * Listens; an unbound id is bound to the wildcard and a chosen port first. `backlog` requests may
 * wait to be taken (adv_cm_request_taken); further ones are not answered, so that their senders try
 * again. 0, or more than 1024, is 1024. EINVAL: wrong state; EADDRINUSE: somebody listens there.
 */
int adv_cm_listen(struct adv_cm_id *id, unsigned backlog);
/* A listener is going to be destroyed, but its consumer lives, and may listen there again: requests
 * of the next ten seconds wait longer for that. Nothing where the id does not listen. */
void adv_cm_may_come_back(const struct adv_cm_id *id, uint64_t now);
/* The request is in its consumer's hands: it counts no more for its listener's backlog. */
void adv_cm_request_taken(struct adv_cm_id *id);

/*
 * Sends REQ (SIDR_REQ in the UDP and IPoIB port spaces). EINVAL: no route, wrong state, private
 * data too long.
 */
int adv_cm_connect(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param);
/* Answers a request: REP or SIDR_REP. ECONNABORTED: the peer has given up; EINVAL. */
int adv_cm_accept(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param);
/* REJ, of a request or of a response; in SIDR, a status (a `reason` that is none: 2, reject). The
 * id is over then. EINVAL. */
int adv_cm_reject(struct adv_cm_id *id, uint64_t now, uint8_t reason, const void *private_data,
		  uint8_t private_data_len);
/*
 * Rejects a request because of its path MTU, and names the one that would do (REJ 26, IBTA
 * 12.6.7.2). A peer that is this software asks again with that; its consumer need not know. The
 * id is over then. EINVAL.
 */
int adv_cm_reject_mtu(struct adv_cm_id *id, uint64_t now, enum ibv_mtu mtu);
/*
 * After CONNECT_RESPONSE: the consumer's QP can send, RTU goes out (no event follows). On the
 * accepting side: data has come from the peer although RTU has not (IBV_EVENT_COMM_EST): takes it
 * for RTU and gives ESTABLISHED. EINVAL; EISCONN on the accepting side after RTU.
 */
int adv_cm_establish(struct adv_cm_id *id, uint64_t now);
/*
 * DREQ; DISCONNECTED follows when answered or given up (status -ETIMEDOUT). The other's DREQ is
 * answered at once, without asking. 0 and nothing sent: disconnected or disconnecting already, by
 * either side; UD, where there is no connection. EINVAL: not connected.
 */
int adv_cm_disconnect(struct adv_cm_id *id, uint64_t now);

/*
 * What ibv_modify_qp() needs to bring a QP of this id to `state` (INIT, RTR, RTS): as
 * rdma_init_qp_attr(3). UD ids: INIT with the Q_Key, RTR, RTS. EINVAL: not known yet.
 * ah_attr.grh.sgid_index is route.path.sgid_index.
 */
int adv_cm_qp_attr(const struct adv_cm_id *id, enum ibv_qp_state state, struct ibv_qp_attr *attr,
		   int *mask);

/* --- events --- */

/*
 * An id sees each of these at most once, in this order:
 *  - connecting: CONNECT_RESPONSE, or UNREACHABLE (no answer, -ETIMEDOUT; -ECONNREFUSED: nobody is
 *    there, by adv_cm_port_unreachable()), or REJECTED. A REJ that names a
 *    smaller MTU is none of these: the request goes out again with it, and the route has it. After
 * the response REJECTED (the acceptor gave up before RTU) or DISCONNECTED; then TIMEWAIT_EXIT.
 *  - accepting: CONNECT_REQUEST; ESTABLISHED, or UNREACHABLE (no RTU), or REJECTED (the other gave
 *    up; adv_cm_accept() says ECONNABORTED then), or DISCONNECTED (RTU was lost); after ESTABLISHED
 *    DISCONNECTED; then TIMEWAIT_EXIT.
 *  - SIDR, asking: ESTABLISHED (param.qp_num, qkey: the peer's) or UNREACHABLE (status: that of the
 *    answer, IB_SIDR_*, or -ETIMEDOUT). Answering: CONNECT_REQUEST.
 * TIMEWAIT_EXIT follows DISCONNECTED, REJECTED after a response, and REJECTED with reason 10 (the
 * QP is still part of a connection there). CONNECT_ERROR is the library's own. Private data have
 * the length of their message's field, 0 padded: no message tells it.
 */
struct adv_cm_event {
	enum rdma_cm_event_type type;
	/* 0; REJECTED: the REJ's reason; UNREACHABLE, DISCONNECTED: -ETIMEDOUT; UNREACHABLE:
	 * -ECONNREFUSED, or in SIDR the answer's */
	int status;
	struct adv_cm_id *id;	  /* CONNECT_REQUEST: a new one, its user NULL; the taker's now */
	struct adv_cm_id *listen; /* CONNECT_REQUEST: who listens */
	/* As the receiver of the event sees it: responder_resources is what this end may be asked
	 * for. qp_num is the peer's. */
	struct adv_cm_conn_param param;
};

/* True and *out, or false where there is none. */
bool adv_cm_next_event(struct adv_cm *cm, struct adv_cm_event *out);

/* --- looking at it --- */

struct adv_cm_counters {
	uint64_t rx_mads;
	uint64_t rx_malformed; /* not a CM MAD, or one whose fields contradict each other */
	uint64_t rx_unmatched; /* for no id, or from the wrong peer or in the wrong state */
	uint64_t rx_duplicates;
	uint64_t tx_mads;
	uint64_t tx_retries;
	uint64_t backlog_drops;
};

const struct adv_cm_counters *adv_cm_counters(const struct adv_cm *cm);
/* Ids that the owner holds, and those that only finish: DREQ sent, TIMEWAIT. */
unsigned adv_cm_id_count(const struct adv_cm *cm);
unsigned adv_cm_ending_count(const struct adv_cm *cm);
/* Of those that finish, the ones whose DREQ is not answered yet. */
unsigned adv_cm_closing_count(const struct adv_cm *cm);
/* Of those that the owner holds, the ones that have a peer: adv_cm_id_busy(). */
unsigned adv_cm_busy_count(const struct adv_cm *cm);

#endif
