/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of an engine. */
#ifndef ADV_NIC_ENGINE_STATE_H
#define ADV_NIC_ENGINE_STATE_H

#include <assert.h>
#include <errno.h>

#include "base/lines.h"
#include "base/list.h"
#include "base/reason.h"
#include "base/rng.h"
#include "base/siphash.h"
#include "nic/engine/latency.h"
#include "nic/congestion/pacer.h"
#include "nic/engine/timer.h"
#include "nic/memory/tpt.h"

#define ADV_ENGINE_RANGES 16
#define ADV_CREDITS	  64
#define ADV_NOTES	  64

/* A probe or the answer to a probe (unreliable.c). */
struct adv_note {
	struct adv_path path;
	uint32_t dest_qpn;
	uint32_t src_qpn;
	uint32_t psn;
	uint8_t opcode;
};

/* Counts of UC and UD packets to one process of this machine (unreliable.c). The counts are free
 * running. */
struct adv_credit {
	bool used;
	bool deaf; /* the process has not answered for 5 s: UD sends at the rate */
	uint16_t target;
	struct adv_gid gid;
	uint32_t sent;
	uint32_t probed;	 /* count up to which the newest probe covers the packets */
	uint32_t confirmed;	 /* count up to which the newest answer covers the packets */
	uint64_t rate_until;	 /* until this time UC and UD send at the rate: the process does not
				    exist or is not known */
	uint64_t heard_at;	 /* time of the newest answer, or of the first probe after it */
	uint64_t asked_at;	 /* time of the newest probe */
	uint64_t ask_every;	 /* interval between repetitions of the probe */
	struct adv_note probe;	 /* the newest probe */
	struct adv_list waiting; /* waiting QPs, by stall_node */
	struct adv_timer answer_timer;
};

/* What UC and UD need for packets to this machine (unreliable.c). */
struct adv_local_flow {
	struct adv_credit credit[ADV_CREDITS];
	struct adv_note note[ADV_NOTES]; /* ring of probes and answers to send */
};

/* QP numbers of the engine (qpn.c), and the numbers of its XRC SRQs (xrc_number.c). */
struct adv_qpn_range {
	uint32_t first;
	uint32_t count;
	struct adv_qp **qp;
	uint32_t next;	 /* next number that was never used */
	uint32_t fresh;	 /* count of numbers that were never used */
	uint32_t *freed; /* ring of released numbers, in the order of their release, with room for
			    all that are not `fresh` */
	uint32_t freed_room;
	uint32_t freed_head;
	uint32_t freed_count;
	struct adv_srq **srq; /* XRC SRQs by number; NULL: none was created yet */
	uint32_t srqs;
	uint32_t srq_next; /* start of the search for a free number, so that released numbers rest
			      long */
};

/* Histograms that nobody reads: of an engine that keeps none, and of QPs without memory for one. */
struct adv_engine_unseen {
	uint32_t of_qp[ADV_LATENCY_BUCKETS];
	uint64_t of_all[ADV_LATENCY_BUCKETS];
};

struct adv_protocol;

/* The first members, up to `range`, are laid out by cache lines: what packets need is in few. */
struct adv_engine {
	struct adv_engine_front front; /* must be the first member */
	struct adv_list tx_ready;      /* QPs that may have packets to send, in turn */
	uint64_t held_dscps;
	struct adv_ah *dead_ahs; /* destroyed AHs; packets of the last batch may refer to them */
	uint32_t note_head;	 /* of local->note; free running */
	uint32_t note_tail;
	uint32_t in_flight;
	uint32_t total_window;
	struct adv_list stalled; /* QPs that wait for total_window */
	uint64_t mr_generation;	 /* raised when a region changes or disappears; from 1 */
	struct adv_tpt *tpt;	 /* own_tpt, or that of the engine with which this one shares it */
	const _Atomic uint16_t *sender_port; /* by prefix, see adv_engine_set_senders(); or NULL */
	const struct adv_protocol *protocol;
	const struct adv_recovery *recovery;
	enum adv_ecn tx_ecn; /* ECN field of packets */
	uint32_t window;
	struct adv_list delayed; /* QPs with a delayed ACK, in the order of the deadlines */
	uint64_t ack_delay;
	struct adv_timer_heap timers;
	const struct adv_cc_ops *cc_ops; /* of cc.algorithm; NULL: none */
	struct adv_time_factor time;	 /* see adv_engine_config */
	uint32_t line_mbps;		 /* by the network's time */
	uint32_t pace_burst;		 /* bytes */
	uint32_t ackreq_interval; /* at least one of so many packets in a row requests an ACK */
	uint64_t timeout_unit;	  /* ns of the clock for 4.096 us of the network's time */
	adv_engine_long_payload *long_payload; /* NULL: no long packets */
	adv_injector *injector;		       /* NULL: no fault is injected */
	unsigned ranges;
	uint8_t timeout_ticks;
	bool local_credit;
	bool local_memory;
	bool no_fast_path;
	bool acks_not_held; /* see adv_engine_config */
	bool no_latency;
	struct adv_qpn_range range[ADV_ENGINE_RANGES];
	struct adv_engine_counters counters;
	/* The last packet of a datagram of several packets that the fast path has checked. */
	uint64_t rx_datagram; /* adv_rx_packet.datagram; 0: none */
	uint64_t rx_bth;      /* its QP number and fixed bits, see nic/fast/receive.c */
	struct adv_qp *rx_qp; /* its QP, valid while packets of the datagram arrive */
	struct adv_rng rng;
	uint64_t secret_key[2]; /* key of the random numbers that other processes and peers see */
	struct adv_engine_work work;
	uint64_t *latency; /* histogram of all QPs: work.send_latency or the caller's */
	struct adv_engine_unseen unseen;
	struct adv_list held; /* QPs with packets that adv_engine_hold() excludes, by tx_node */
	uint32_t unreliable_mbps;
	uint32_t reorder; /* see adv_engine_config */
	uint32_t rto_low;
	uint32_t rto_high;
	struct adv_pacer unreliable_pacer; /* rate of UC and UD together */
	struct adv_cc_config cc;
	bool (*page_in)(void *addr, uint64_t length, bool to_write);
	adv_engine_withdraw *withdraw;
	void *long_user;
	struct adv_list cq_events;    /* CQs with a pending completion event, by event_node */
	struct adv_list async_events; /* objects with pending events, by adv_affiliated.node */
	struct adv_tpt own_tpt;
	struct adv_list tpt_node; /* tpt->engines */
	unsigned number;	  /* of the engines that share tpt; 0: tpt is own_tpt */
	struct adv_engine_gid *gids;
	unsigned gid_count;
	struct adv_pkey_table pkeys;
	uint64_t pkey_warn_at; /* earliest time of the next warning about a P_Key */
	const _Atomic uint16_t *sender_home;
	const void *owner; /* owner of new objects */
	struct adv_list cqs;
	struct adv_list srqs;
	struct adv_list xrcds;
	uint32_t cq_count;
	uint32_t srq_count;
	uint32_t xrcd_count;
	uint32_t xrc_used; /* SRQs of XRC domains */
	struct adv_list qps;
	struct adv_list groups;
	void *injector_user;
	uint32_t numbers; /* newest object number of a PD, CQ or SRQ */
	/* One if `local_credit`, else none: the engines of a simulated network need none, and are
	 * many. */
	struct adv_local_flow local[];
} __attribute__((aligned(ADV_CACHE_LINE)));

#endif
