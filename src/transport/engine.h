/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The NIC as a state machine: queue pairs, completion queues, shared receive queues, memory keys
 * and the transports between them (IBTA chapters 9 to 11).
 *
 * An engine makes no system call and has no thread, lock, clock or global variable. The caller
 * passes the time, in nanoseconds of any monotonic clock, and the seed of the random numbers. One
 * engine and all of its objects are used under one lock of the caller. Arguments have the types of
 * <infiniband/verbs.h> where there is one, so that nothing is converted twice.
 *
 * The caller drives it by:
 *	adv_engine_rx()       a packet was received
 *	adv_engine_tx()       the link can send packets
 *	adv_engine_deadline() the latest time to call adv_engine_expire()
 *	adv_engine_event()    completion and asynchronous events for the application; call it after
 *			      any other call
 *
 * The caller pulls packets. Back-pressure means not pulling. A packet that adv_engine_tx() has
 * returned counts as sent; if the link loses it, the network has lost it.
 */
#ifndef ADV_TRANSPORT_ENGINE_H
#define ADV_TRANSPORT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "transport/cause.h"
#include "transport/congestion.h"
#include "transport/objects.h"
#include "wire/packet.h"

#define ADV_NEVER UINT64_MAX

struct adv_engine_config {
	uint64_t seed[4];      /* seed of the keys and PSNs; from getrandom(2) on a real device */
	uint32_t qpn_first;    /* the engine's first QP number */
	uint32_t qpn_count;    /* how many QP numbers it has */
	uint32_t window;       /* packets in flight of each QP at most; 0: the default, 64 */
	uint32_t total_window; /* packets in flight of all QPs together; 0: 4 x window */
	uint32_t unreliable_mbps; /* rate limit of UC and UD, which have no flow control; 0: none */
	bool local_credit; /* UC and UD to this engine's own addresses keep to the receiver's pace;
			      both engines must have it set */
	bool local_memory; /* packets to the engine's own addresses go through shared memory, where
			      each may be sent alone: urgent packets do not wait for others */
	/*
	 * A retry lasts this many of the QP's timeouts, 1 to 4; 0: 1. IBTA 9.7.6.1.3 allows up to
	 * 4. In the first retry, retransmissions are sent after 1, 2 and 4 timeouts. On a busy
	 * machine the peer may answer late and still exist.
	 */
	uint8_t timeout_ticks;
	/* An ACK may wait this long for the program's next request, if the program mostly posts one
	 * at once; ns. 0: ACKs are not delayed. Much less than any timeout of a peer. */
	uint64_t ack_delay;
	const struct adv_cc_config *cc; /* copied; NULL: adv_cc_default() */
	/*
	 * For simulations of the first RoCE cards, on all engines of a network: a loss restarts the
	 * whole message at both ends (go-back-0; "RDMA over Commodity Ethernet at Scale", SIGCOMM
	 * 2016, 4.1). The responder goes back to the message's first PSN and acknowledges nothing
	 * inside a message. No message may have more packets than `window`. A NAK costs no retry,
	 * and losses do not reduce the window. False: go-back-N, as in IBTA 9.7.
	 */
	bool go_back_0;
	/*
	 * Bytes that a rate-limited queue pair may send at once to make up for lost time. 0: its
	 * packets leave evenly, and adv_engine_deadline() returns the time of each. If the caller
	 * wakes up late, as threads do, set it to the bytes of the rate in that time.
	 */
	uint32_t pace_burst;
	/*
	 * Brings in the pages of [addr, addr + length), at most ADV_PAGED_AT_ONCE bytes, for
	 * reading or writing. False: the program has no memory there, or may not write it. Called
	 * for each packet that uses a region of on-demand paging (IBV_ACCESS_ON_DEMAND), whose
	 * pages may be unmapped and mapped. NULL: such regions are like others.
	 */
	bool (*page_in)(void *addr, uint64_t length, bool to_write);
};

/* The largest payload of a packet. */
#define ADV_PAGED_AT_ONCE 4096

/* Counters, with the names of mlx5 and rxe. */
struct adv_engine_counters {
	uint64_t rx_packets;
	uint64_t tx_packets;
	uint64_t rx_malformed; /* cannot be decoded, or wrong length for the opcode */
	uint64_t rx_no_qp;     /* no such QP, wrong service, or a state that does not receive */
	uint64_t rx_bad_pkey;
	uint64_t rx_bad_qkey;
	uint64_t rx_bad_address; /* source is not the connected peer, or destination is not the QP's
				    GID */
	uint64_t rx_bad_sender;	 /* from this machine, but not from the UDP port of the sender's
				    process */
	uint64_t duplicate_request;
	uint64_t out_of_sequence;
	uint64_t packet_seq_err; /* NAKs of sequence error received */
	uint64_t implied_nak_seq_err;
	uint64_t local_ack_timeout_err;
	uint64_t rnr_nak_sent;
	uint64_t rnr_nak_retry_err; /* RNR NAKs received */
	uint64_t out_of_buffer;	    /* no receive posted */
	uint64_t req_transport_retries_exceeded;
	uint64_t req_rnr_retries_exceeded;
	uint64_t rx_write_requests;
	uint64_t rx_read_requests;
	uint64_t rx_atomic_requests;
	uint64_t resp_local_length_error;
	uint64_t resp_remote_access_errors; /* requests that the responder refused with an access
					       NAK */
	uint64_t req_remote_access_errors;
	uint64_t req_remote_invalid_request;
	uint64_t req_cqe_error;
	uint64_t resp_cqe_error;
	uint64_t uc_drops; /* UC and UD messages that were dropped */
	uint64_t np_ecn_marked_roce_packets;
	uint64_t np_cnp_sent;
	uint64_t rp_cnp_handled;
	uint64_t
		rp_cnp_ignored; /* valid, but there is no congestion control, or no memory for it */
	uint64_t out_of_memory; /* packets that counted as lost, and CNPs without effect, for lack
				   of memory */
};

/* Returns NULL with errno ENOMEM or EINVAL. */
struct adv_engine *adv_engine_create(const struct adv_engine_config *config);

/* Frees the engine and all of its objects. */
void adv_engine_destroy(struct adv_engine *e);

/*
 * Several owners may share an engine. Protection domains, CQs and XRC domains that are created from
 * now on belong to this owner (any pointer; NULL at first), and so do the objects in them.
 */
void adv_engine_set_owner(struct adv_engine *e, const void *owner);
/* Destroys all objects of an owner, even if they are in use, like adv_engine_destroy(). Address
 * handles still belong to the caller but cannot be used any more. */
void adv_engine_release(struct adv_engine *e, const void *owner);

/* Adds QP numbers, at most ADV_ENGINE_RANGES times. 0, EINVAL or ENOMEM. */
int adv_engine_add_qpns(struct adv_engine *e, uint32_t first, uint32_t count);

/* Returns how many numbers no QP has, including those released recently. A caller that can add
 * numbers does so before this is less than ADV_QPNS_RESTING: then packets of an earlier QP find no
 * QP. */
uint32_t adv_engine_qpns_left(const struct adv_engine *e);
#define ADV_QPNS_RESTING 1024

/* Returns how many SRQs of XRC domains can still be created. They have numbers of the same
 * ranges. */
uint32_t adv_engine_srqns_left(const struct adv_engine *e);

/* True if the number is in the engine's ranges, whether or not a QP has it. */
bool adv_engine_has_qpn(const struct adv_engine *e, uint32_t qpn);

/* An entry of the GID table. `mtu`: the largest path MTU of its interface, bytes (256 to 4096). */
struct adv_engine_gid {
	struct adv_gid gid;
	uint32_t mtu;
};

/* Replaces the GID table (copied). Existing QPs and AHs keep their addresses. */
int adv_engine_set_gids(struct adv_engine *e, const struct adv_engine_gid *gids, unsigned count);

/*
 * Sets which processes of this machine may send. `port` has ADV_PREFIXES entries, by the prefix of
 * the sender's QP number (wire/slot.h); 0: no process. `home` has as many: the slot of the sender's
 * process, which identifies it in shared memory. Both may change at any time and must exist until
 * the engine is destroyed.
 *
 * From then on, a packet from an address of the GID table or from 127.0.0.0/8 is accepted in two
 * cases: its UDP source port is the entry of the sending QP, or it came through the memory of that
 * QP's process. The sending QP is the one that the packet names or that the receiving QP is
 * connected to. Multicast is excepted. Without this call, ports are not checked.
 */
void adv_engine_set_senders(struct adv_engine *e, const _Atomic uint16_t *port,
			    const _Atomic uint16_t *home);

/* The process that had this slot exited. UC and UD do not wait for its answers any more; otherwise
 * they would until `port` is 0 there. */
void adv_engine_peer_left(struct adv_engine *e, uint64_t now, uint16_t slot);

/* Sets the speed of the port, Mb/s: the rate of queue pairs without a limit. 0: not known, 40,000
 * is assumed. For congestion control whose rpg_max_rate is 0. */
void adv_engine_set_line_rate(struct adv_engine *e, uint32_t mbps);

/* Handles one packet. It never fails: errors are counted, or answered on the wire. */
void adv_engine_rx(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt);

/* Resets the batch and adds packets to send. Returns their number; 0: nothing now. */
unsigned adv_engine_tx(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch);
/* As adv_engine_tx(), but at most `limit` packets, 1 to ADV_TX_BATCH_PACKETS. For a link that sends
 * them one by one: a packet that becomes urgent does not wait for a whole batch. */
unsigned adv_engine_tx_some(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch,
			    unsigned limit);

/*
 * adv_engine_tx() excludes queue pairs whose packets have one of these DSCPs (a bit each), and no
 * others, from now on. For a link that is paused by priority. CNPs and datagrams are still sent.
 */
void adv_engine_hold(struct adv_engine *e, uint64_t dscps);

/* True if a QP waits for adv_engine_tx(). */
bool adv_engine_tx_ready(const struct adv_engine *e);
/* True if a small request may wait to be sent together with others: packets are in flight, so the
 * owner will receive, and the link makes a system call for each packet. */
bool adv_qp_may_wait(const struct adv_qp *qp);

/* Prefetches the parts of the engine that each packet uses. For callers that have many engines and
 * know which is next. */
void adv_engine_fetch(const struct adv_engine *e);

/* Returns when to call adv_engine_expire(): a time of the caller's clock, or ADV_NEVER. */
uint64_t adv_engine_deadline(const struct adv_engine *e);
void adv_engine_expire(struct adv_engine *e, uint64_t now);

/* As adv_engine_deadline(), but without delayed ACKs (ack_delay): most likely the program posts a
 * request in time, so no thread has to be woken for them. */
uint64_t adv_engine_firm_deadline(const struct adv_engine *e);
/* True if ACKs are delayed. */
bool adv_engine_acks_wait(const struct adv_engine *e);

/*
 * Ends the delay of all delayed ACKs. True if there was one. Call it, and then adv_engine_tx(),
 * before a QP is destroyed or the program exits: the peer must get the ACK of a received message.
 */
bool adv_engine_hasten_acks(struct adv_engine *e);

const struct adv_engine_counters *adv_engine_counters(const struct adv_engine *e);

/* Returns random bits that cannot be guessed without the seed. For GUIDs, tests, tools. */
uint64_t adv_engine_random(struct adv_engine *e);

/* ---- injected faults ---------------------------------------------------------------- */

/* What can be made to fail, and the injector's result for it. */
enum adv_injection {
	ADV_INJECT_POST,       /* an errno: the post, which would have succeeded, fails with it */
	ADV_INJECT_COMPLETION, /* an enum ibv_wc_status: the request was executed and completes with
				  this status and ADV_ERR_INJECTED, and the QP fails as with that
				  status; a responder refuses the message */
	ADV_INJECT_NOT_READY, /* not 0: a message finds no receive request, even if one is posted */
};

enum adv_work_queue { ADV_WORK_SEND, ADV_WORK_RECV, ADV_WORK_SHARED };

#define ADV_WORK_NO_OPCODE 0xff

/* A work request into which a fault may be injected. */
struct adv_work {
	enum adv_work_queue queue;
	uint32_t qpn;	/* 0: it is posted to an SRQ */
	uint8_t opcode; /* BTH opcode of a packet that carries it; of a receive request, of the last
			   packet of the message; ADV_WORK_NO_OPCODE: not known, or no packet */
};

/* Returns the fault; 0: none. Called under the engine's lock; it must not call the engine. */
typedef uint32_t adv_injector(void *user, enum adv_injection what, const struct adv_work *work);

/* Calls fn from now on; NULL: no faults, as in a new engine. */
void adv_engine_set_injector(struct adv_engine *e, adv_injector *fn, void *user);

/*
 * Raises an asynchronous event of each QP in RTR or a later state whose number is in the range, or
 * of each CQ or SRQ that QPs of the range use. If the range is all numbers, every CQ or SRQ is
 * included. QP_FATAL, QP_REQ_ERR and QP_ACCESS_ERR move the QP to ERR, CQ_ERR the CQ to overrun.
 * Returns the number of objects.
 */
unsigned adv_engine_raise(struct adv_engine *e, uint64_t now, enum ibv_event_type type,
			  uint32_t qpn_first, uint32_t qpn_last);

/* The result of adv_engine_event(). */
struct adv_event {
	enum { ADV_EVENT_COMPLETION, ADV_EVENT_ASYNC } kind;
	enum ibv_event_type async; /* ADV_EVENT_ASYNC */
	struct adv_cq *cq;	   /* COMPLETION, CQ_ERR */
	struct adv_qp *qp;	   /* QP events */
	struct adv_srq *srq;	   /* SRQ events */
	uint8_t why;		   /* enum adv_vendor_err: cause of an error */
};

/* Dequeues the next event; false: there is none. Events of destroyed objects do not arrive. */
bool adv_engine_event(struct adv_engine *e, struct adv_event *event);
bool adv_engine_has_event(const struct adv_engine *e);

#endif
