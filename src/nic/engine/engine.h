/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The NIC as a state machine: queue pairs, completion queues, shared receive queues, memory keys
 * and the transports between them (IBTA chapters 9 to 11).
 *
 * An engine makes no system call and has no thread, lock, clock or global variable. The caller
 * passes the time, in nanoseconds of any monotonic clock, and the seed of the random numbers. One
 * engine and all of its objects are used under one lock of the caller (or more, see tpt.h). If
 * <infiniband/verbs.h> has a type for an argument, it is used, so that nothing is converted twice.
 * Three callbacks of the caller run inside the engine and are the caller's affair: its injector
 * (adv_engine_set_injector()), its timers, and `forget` of its protocol.
 *
 * The caller drives the engine by these functions:
 *	adv_engine_rx()       a packet was received
 *	adv_engine_tx()       the link can send packets
 *	adv_engine_deadline() the latest time to call adv_engine_expire()
 *	adv_engine_event()    completion and asynchronous events for the application; call it after
 *			      any other call
 *
 * The caller pulls packets with adv_engine_tx(). A caller that cannot send pulls none. A packet
 * that adv_engine_tx() has returned counts as sent: if the link drops it, the engine treats it as
 * lost in the network.
 */
#ifndef ADV_NIC_ENGINE_ENGINE_H
#define ADV_NIC_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "nic/engine/cause.h"
#include "nic/congestion/congestion.h"
#include "nic/engine/counters.h"
#include "nic/engine/objects.h"
#include "nic/engine/time_factor.h"
#include "nic/wire/packet.h"

#define ADV_NEVER UINT64_MAX

struct adv_protocol;

struct adv_engine_config {
	uint64_t seed[4];      /* seed of the keys and PSNs; from getrandom(2) on a real device */
	uint32_t qpn_first;    /* the engine's first QP number */
	uint32_t qpn_count;    /* number of QP numbers of the engine */
	uint32_t window;       /* most packets in flight of one QP; 0: the default, 64 */
	uint32_t total_window; /* most packets in flight of all QPs together; 0: 4 x window */
	uint32_t unreliable_mbps; /* rate limit of UC and UD, Mb/s, because they have no flow
				     control; 0: none */
	bool local_credit;	  /* UC and UD to addresses of this machine wait for answers of the
				     receiving engine; both engines must set this */
	bool local_memory; /* packets to addresses of this machine go through shared memory. There,
			      an urgent packet is sent alone and does not wait for others */
	/*
	 * Duration of a retry, in timeouts of the QP: 1 to 4 (IBTA 9.7.6.1.3 allows up to 4); 0: 1.
	 * The first retry retransmits after 1, 2 and 4 timeouts. The reason: on a busy machine, a
	 * peer that is alive may answer late.
	 */
	uint8_t timeout_ticks;
	/*
	 * Longest delay of an ACK, ns; 0: ACKs are not delayed. If a program mostly answers a
	 * message at once by a request, the ACK waits for that request. Must be much less than the
	 * timeouts of peers.
	 */
	uint64_t ack_delay;
	const struct adv_cc_config *cc; /* the engine copies it; NULL: adv_cc_default() */
	/* The speed of the network's time: ACK timeouts, RNR NAK timers and congestion control are
	 * in that time. All zero: the network's time is the clock's. */
	struct adv_time_factor time;
	/*
	 * True: go-back-0, for simulations of the first RoCE cards ("RDMA over Commodity Ethernet
	 * at Scale", SIGCOMM 2016, 4.1), in all engines of the network. A loss restarts the whole
	 * message at both ends. The responder acknowledges nothing inside a message. No message
	 * may have more packets than `window`. NAKs cost no retry, losses do not reduce the window.
	 */
	bool go_back_0;
	/* First of at most ADV_ENGINES_SHARING engines that share regions (tpt.h), destroyed last;
	 * NULL: the new engine shares none. Creation and destruction need all their locks. */
	struct adv_engine *shares;
	bool fixed_window; /* simulated cards: losses do not reduce the window (window.c) */
	/*
	 * True: selective retransmission (selective.h), for simulations, in all engines of the
	 * network. Losses do not reduce the window.
	 */
	bool selective;
	uint32_t reorder;  /* with `selective`: packets by which one may arrive late and is not yet
			      lost; at most 2^20 */
	uint32_t rto_low;  /* with `selective`: retransmission timer of at most 3 packets in flight,
			      ns; 0: the QP's timeout */
	uint32_t rto_high; /* the same of more packets */
	bool acks_not_held; /* adv_engine_hold() does not hold ACKs and NAKs */
	/* True: the general path (requester.c, responder.c, completer.c) handles everything that
	 * fast.c would handle. For tests: the results are the same. */
	bool no_fast_path;
	/* True: the engine and its QPs keep no histograms of the time from post to completion, see
	 * struct adv_engine_work. */
	bool no_latency;
	/*
	 * Bytes that a rate-limited queue pair may send at once after the caller was late. 0: its
	 * packets are sent evenly, and adv_engine_deadline() returns the time of each packet. If
	 * the calling thread may wake up late, set it to the rate multiplied by that time.
	 */
	uint32_t pace_burst;
	/*
	 * Brings in the pages of [addr, addr + length), at most ADV_PAGED_AT_ONCE bytes, for
	 * reading or writing. Returns false if the program has no memory there or may not write it.
	 * The engine calls it for each packet that uses a region of on-demand paging
	 * (IBV_ACCESS_ON_DEMAND), because the program may unmap and map the pages of such a region.
	 * NULL: the engine treats such regions like others.
	 */
	bool (*page_in)(void *addr, uint64_t length, bool to_write);
	/* What the queue pairs do on the wire (protocol.h). NULL: RoCE. Needs no_fast_path. */
	const struct adv_protocol *protocol;
};

/* Largest payload of a packet, bytes. */
#define ADV_PAGED_AT_ONCE 4096

/* Work that the caller of an engine may have after any call, a set of bits. */
enum adv_todo {
	ADV_TODO_TX = 1,    /* adv_engine_tx() may have packets */
	ADV_TODO_EVENT = 2, /* adv_engine_event() may have an event */
	ADV_TODO_ACK = 4,   /* an ACK is delayed, see adv_engine_deadline() */
};

/* The first members of an engine. The caller reads them after each call; it must not write them. */
struct adv_engine_front {
	uint32_t todo;	    /* enum adv_todo */
	uint32_t connected; /* see adv_engine_is_connected() */
	uint64_t timers;    /* a time before which no timer fires; ADV_NEVER: no timer is set */
};

/* Returns the set of enum adv_todo. If it is 0, there are no packets to send, no events and no
 * delayed ACKs. A bit may be set although there is nothing to do. */
static inline uint32_t adv_engine_todo(const struct adv_engine *e)
{
	return ((const struct adv_engine_front *)(const void *)e)->todo;
}

/* True if a queue pair has been moved to RTR since it was created or reset. Otherwise no packet has
 * an effect. */
static inline bool adv_engine_is_connected(const struct adv_engine *e)
{
	return ((const struct adv_engine_front *)(const void *)e)->connected > 0;
}

/* Returns adv_engine_firm_deadline() without a call. */
static inline uint64_t adv_engine_timers(const struct adv_engine *e)
{
	return ((const struct adv_engine_front *)(const void *)e)->timers;
}

/* Returns NULL with errno ENOMEM or EINVAL. */
struct adv_engine *adv_engine_create(const struct adv_engine_config *config);

/* Frees the engine and all of its objects. */
void adv_engine_destroy(struct adv_engine *e);

/*
 * Sets the owner of objects that are created from now on, because several owners may share an
 * engine. Protection domains, CQs and XRC domains belong to the owner, and so do all objects in
 * them. `owner` is any pointer; the first owner is NULL.
 */
void adv_engine_set_owner(struct adv_engine *e, const void *owner);
/* Destroys all objects of an owner, even if they are in use. Address handles still belong to the
 * caller, but must not be used any more. Of engines that share regions,
 * the first comes last, with the locks of all. */
void adv_engine_release(struct adv_engine *e, const void *owner);

/* Adds a range of QP numbers. An engine has at most ADV_ENGINE_RANGES ranges. Returns 0, EINVAL or
 * ENOMEM. */
int adv_engine_add_qpns(struct adv_engine *e, uint32_t first, uint32_t count);

/*
 * Returns the number of free QP numbers, including recently released ones. A caller that can add
 * numbers adds them before the result is less than ADV_QPNS_RESTING. Released numbers then rest
 * long enough, and late packets of an earlier QP find no QP.
 */
uint32_t adv_engine_qpns_left(const struct adv_engine *e);
#define ADV_QPNS_RESTING 1024

/* Returns how many SRQs of XRC domains can still be created. Their numbers are from the ranges of
 * the QP numbers. */
uint32_t adv_engine_srqns_left(const struct adv_engine *e);

/* True if the number is in the engine's ranges, used or free. */
bool adv_engine_has_qpn(const struct adv_engine *e, uint32_t qpn);
/* Returns the QP with this number; NULL: none. */
struct adv_qp *adv_engine_find_qp(const struct adv_engine *e, uint32_t qpn);

/* An entry of the GID table. `mtu`: largest path MTU of the GID's interface, bytes (256 to
 * 4096). */
struct adv_engine_gid {
	struct adv_gid gid;
	uint32_t mtu;
	bool v1; /* of RoCE v1: paths from it are, too. Needs no_fast_path */
};

/* Replaces the GID table by a copy of gids[]. Existing QPs and AHs keep their addresses. */
int adv_engine_set_gids(struct adv_engine *e, const struct adv_engine_gid *gids, unsigned count);

/* Replaces the P_Key table, which is ADV_PKEY_DEFAULT only at first, by a copy. Existing QPs keep
 * their P_Keys. EINVAL: the table is empty or longer than ADV_PKEYS_MAX. */
int adv_engine_set_pkeys(struct adv_engine *e, const struct adv_pkey_table *pkeys);

/*
 * Sets the tables of sending processes of this machine. Both tables have ADV_PREFIXES entries, by
 * the prefix of the sender's QP number (nic/wire/slot.h). `port`: UDP port of the process that has
 * the prefix; 0: no process. `home`: slot of that process, which identifies it in shared memory.
 * The entries may change at any time. The tables must exist until the engine is destroyed.
 *
 * After this call, the engine checks each packet from an address of the GID table or from
 * 127.0.0.0/8, except multicast. It accepts the packet if the UDP source port is the `port` entry
 * of the sending QP, or if the packet came through the shared memory of that QP's process. The
 * sending QP is the QP that the packet names, or the peer of the receiving QP. Without this call,
 * the engine does not check ports.
 */
void adv_engine_set_senders(struct adv_engine *e, const _Atomic uint16_t *port,
			    const _Atomic uint16_t *home);

/* Returns the most payload bytes of a long packet (nic/wire/packet.h) for a message of `length`
 * bytes; 0: the path MTU. */
typedef uint32_t adv_engine_long_payload(void *user, const struct adv_path *path, uint32_t dest_qpn,
					 uint32_t length);

/* Returns when no process reads payload of long packets of this path any more; NULL: of all paths,
 * payload in [addr, addr + length). */
typedef void adv_engine_withdraw(void *user, const struct adv_path *path, const void *addr,
				 uint64_t length);
/* Permits long packets to QPs at this machine's addresses. */
void adv_engine_set_long(struct adv_engine *e, adv_engine_long_payload *payload,
			 adv_engine_withdraw *withdraw, void *user);

/* Handles the exit of the process of this slot: UC and UD stop waiting for its answers. Without
 * this call, they wait until the `port` entry of the slot is 0. */
void adv_engine_peer_left(struct adv_engine *e, uint64_t now, uint16_t slot);

/* Sets the speed of the port, Mb/s. If rpg_max_rate is 0, congestion control uses it as the line
 * rate. 0: not known; the engine assumes 40,000. */
void adv_engine_set_line_rate(struct adv_engine *e, uint32_t mbps);

/* Handles one received packet. It never fails: the engine counts errors or answers them on the
 * wire. */
void adv_engine_rx(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt);

/* Resets the batch and adds packets to send. Returns the number of packets; 0: nothing to send
 * now. */
unsigned adv_engine_tx(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch);
/* As adv_engine_tx(), but adds at most `limit` packets, 1 to ADV_TX_BATCH_PACKETS. For a link that
 * sends packets one by one: an urgent packet then does not wait for a whole batch. */
unsigned adv_engine_tx_some(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch,
			    unsigned limit);

/*
 * Sets the DSCPs that adv_engine_tx() excludes, one bit each, for a link that is paused by
 * priority. Queue pairs whose packets have one of these DSCPs do not send; all others do. CNPs and
 * datagrams are still sent.
 */
void adv_engine_hold(struct adv_engine *e, uint64_t dscps);

/* True if adv_engine_tx() may have packets to send. */
bool adv_engine_tx_ready(const struct adv_engine *e);

/* Returns the latest time to call adv_engine_expire(), in the caller's clock, or ADV_NEVER. */
uint64_t adv_engine_deadline(const struct adv_engine *e);
void adv_engine_expire(struct adv_engine *e, uint64_t now);

/* As adv_engine_deadline(), but without the deadlines of delayed ACKs (ack_delay). No thread has to
 * be woken for these: the program most likely posts a request before the deadline. */
uint64_t adv_engine_firm_deadline(const struct adv_engine *e);
/* True if ACKs are delayed. */
bool adv_engine_acks_wait(const struct adv_engine *e);

/*
 * Ends the delay of all delayed ACKs. Returns true if there was one. Before a QP is destroyed or
 * the program exits, call it and then adv_engine_tx(): the peer must get the ACK of a received
 * message.
 */
bool adv_engine_hasten_acks(struct adv_engine *e);

const struct adv_engine_counters *adv_engine_counters(const struct adv_engine *e);
/* The caller of adv_engine_set_latency() has send_latency; here it is old. */
const struct adv_engine_work *adv_engine_work(const struct adv_engine *e);
/* Lets the engine count the latency of send requests in bucket[ADV_LATENCY_BUCKETS], which the
 * caller keeps until the engine is destroyed. Counts so far are copied. */
void adv_engine_set_latency(struct adv_engine *e, uint64_t *bucket);

/* ---- injected faults ---------------------------------------------------------------- */

/* Points at which a fault can be injected, with the meaning of the injector's result. */
enum adv_injection {
	ADV_INJECT_POST,       /* an errno: a post that would succeed fails with it */
	ADV_INJECT_COMPLETION, /* an enum ibv_wc_status: the executed request completes with it and
				  ADV_ERR_INJECTED, and the QP fails as with that status. A
				  responder refuses the message */
	ADV_INJECT_NOT_READY, /* not 0: the responder treats a message as if no receive request were
				 posted */
	ADV_INJECT_TEAR, /* not 0: the payload of a WRITE or READ response packet is placed in two
			    parts, its end first. The queue of a WRITE is a receive queue, that
			    of a READ the send queue; the opcode is not known */
	ADV_INJECT_TORN, /* the first part is placed: the injector may wait. The result is 0 */
};

enum adv_work_queue { ADV_WORK_SEND, ADV_WORK_RECV, ADV_WORK_SHARED };

#define ADV_WORK_NO_OPCODE 0xff

/* A work request into which a fault may be injected. */
struct adv_work {
	enum adv_work_queue queue;
	uint32_t qpn;	/* 0: the request is posted to an SRQ */
	uint8_t opcode; /* send request: BTH opcode of a packet that carries the whole request;
			   receive request: BTH opcode of the message's last packet;
			   ADV_WORK_NO_OPCODE: not known, or no packet */
};

/* Returns the fault to inject; 0: none. It is called under the engine's lock and must not call the
 * engine. */
typedef uint32_t adv_injector(void *user, enum adv_injection what, const struct adv_work *work);

/* Sets the injector. NULL: no faults are injected, as in a new engine. */
void adv_engine_set_injector(struct adv_engine *e, adv_injector *fn, void *user);

/*
 * Raises an asynchronous event. A QP event is raised for each QP in RTR or a later state whose
 * number is in the range. A CQ or SRQ event is raised for each CQ or SRQ that a QP of the range
 * uses; if the range is all numbers, for every CQ or SRQ. QP_FATAL, QP_REQ_ERR and QP_ACCESS_ERR
 * move the QP to ERR. CQ_ERR moves the CQ to overrun. Returns the number of objects with the event.
 */
unsigned adv_engine_raise(struct adv_engine *e, uint64_t now, enum ibv_event_type type,
			  uint32_t qpn_first, uint32_t qpn_last);

/* The result of adv_engine_event(). */
struct adv_event {
	enum { ADV_EVENT_COMPLETION, ADV_EVENT_ASYNC } kind;
	enum ibv_event_type async; /* type of an ADV_EVENT_ASYNC */
	struct adv_cq *cq;	   /* of ADV_EVENT_COMPLETION and of CQ events */
	struct adv_qp *qp;	   /* of QP events */
	struct adv_srq *srq;	   /* of SRQ events */
	uint8_t why;		   /* enum adv_vendor_err: cause of an error */
};

/* Dequeues the next event. Returns false if there is none. Events of destroyed objects are
 * dropped. */
bool adv_engine_event(struct adv_engine *e, struct adv_event *event);
bool adv_engine_has_event(const struct adv_engine *e);

#endif
