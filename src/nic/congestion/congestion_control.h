/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface between a queue pair's flow (flow.c) and the algorithms of congestion control. An
 * algorithm is one file with a struct adv_cc_ops. It decides at which rate a flow may send, and how
 * much may be in flight. It does not depend on packets, queue pairs and engines.
 *
 * Rates are in kb/s, times in ns. Bytes count whole Ethernet frames. Algorithms use integers only,
 * so that a simulation gives the same result with every compiler.
 */
#ifndef ADV_NIC_CONGESTION_CONGESTION_CONTROL_H
#define ADV_NIC_CONGESTION_CONGESTION_CONTROL_H

#include "nic/congestion/congestion.h"
#include "nic/wire/telemetry.h"

/* What an algorithm knows of its queue pair. */
struct adv_cc_link {
	const struct adv_cc_params *params;
	uint64_t line;	/* line rate */
	uint32_t frame; /* bytes of a frame with a full payload */
};

/* An acknowledgement of new packets. */
struct adv_cc_ack {
	uint64_t now;
	uint64_t rtt; /* from the transmission of the newest of these packets until now; 0: unknown
		       */
	uint32_t packets; /* number of acknowledged packets */
	bool marked;	  /* a switch has marked one of them */
	bool round;	  /* all packets in flight at the last such ACK are acknowledged */
	const struct adv_telemetry *telemetry; /* NULL: none */
};

#define ADV_CC_STATE 32 /* words */

/* A flow under congestion control. */
struct adv_cc {
	uint64_t rate;		      /* 0: no limit */
	uint64_t window;	      /* bytes that may be in flight; 0: no limit */
	uint64_t state[ADV_CC_STATE]; /* of the algorithm; all zero at first */
};

/* Functions that an algorithm does not need are NULL. */
struct adv_cc_ops {
	const char *name;
	bool marks_in_acks; /* ACKs carry marks (the BECN bit); there are no CNPs */
	bool telemetry;	    /* needs telemetry */
	/* Packets between requests for an ACK; 0: the requester's choice. */
	uint32_t ack_interval;
	/* Sets the limits of a new flow. If it is not NULL, each queue pair has a flow from RTS on;
	 * otherwise from the first mark or CNP on. */
	void (*start)(struct adv_cc *cc, const struct adv_cc_link *link);
	/* Handles a CNP. The caller has performed the due changes. */
	void (*on_cnp)(struct adv_cc *cc, const struct adv_cc_link *link, uint64_t now);
	/* Handles an acknowledgement of new packets. The caller has performed the due changes. */
	void (*on_ack)(struct adv_cc *cc, const struct adv_cc_link *link,
		       const struct adv_cc_ack *ack);
	/* Counts `bytes` as sent. The caller has performed the due changes. */
	void (*on_sent)(struct adv_cc *cc, const struct adv_cc_link *link, uint64_t bytes);
	/* Returns the time of the next change that needs no packet; UINT64_MAX: none. */
	uint64_t (*next)(const struct adv_cc *cc);
	/* Performs the changes of time `at`, the result of next(). It may be called late. */
	void (*expire)(struct adv_cc *cc, const struct adv_cc_link *link, uint64_t at);
};

extern const struct adv_cc_ops adv_cc_dcqcn;
extern const struct adv_cc_ops adv_cc_dctcp;
extern const struct adv_cc_ops adv_cc_timely;
extern const struct adv_cc_ops adv_cc_swift;
extern const struct adv_cc_ops adv_cc_hpcc;

/* Returns the operations of an algorithm; NULL: ADV_CC_NONE. */
const struct adv_cc_ops *adv_cc_ops_of(enum adv_cc_algorithm algorithm);

#endif
