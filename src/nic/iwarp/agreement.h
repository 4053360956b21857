/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the two ends of a connection have agreed on by their start-up frames (negotiation.h).
 * adverbd sets up the connection, and passes the agreement to the process of the queue pair. */
#ifndef ADV_NIC_IWARP_AGREEMENT_H
#define ADV_NIC_IWARP_AGREEMENT_H

#include <stdbool.h>
#include <stdint.h>

/* The first FPDU of a stream. The responder of a connection sends none before it has received one
 * (RFC 5044 section 7.1.2, RFC 6581 section 9.1). */
enum adv_rdmap_first {
	ADV_RDMAP_FIRST_ANY,	 /* initiator: the first request of the program */
	ADV_RDMAP_FIRST_WRITE,	 /* initiator: a WRITE of length 0, at once */
	ADV_RDMAP_FIRST_EMPTY,	 /* initiator: an FPDU without a segment, at once */
	ADV_RDMAP_FIRST_OF_PEER, /* responder: the peer's; this end waits for it */
	/* Responder: the peer's, if one comes soon. The peer has not offered to begin, so it waits
	 * for its program, and both programs may expect that the other one begins. */
	ADV_RDMAP_FIRST_HOPED,
};

struct adv_rdmap_config {
	enum adv_rdmap_first first;
	bool crc;
	bool rx_markers;  /* this end has asked for markers */
	bool tx_markers;  /* the peer has */
	uint32_t ird;	  /* READs of the peer that are served at a time */
	uint32_t ord;	  /* READs of this end that are outstanding at a time */
	uint32_t segment; /* longest payload of a segment, bytes; 0: the longest possible */
};

#endif
