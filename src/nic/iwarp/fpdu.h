/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Framed PDUs: how MPA puts DDP segments on a TCP stream (RFC 5044 section 4).
 *
 *     length of the segment (2 bytes) | the segment, called ULPDU | padding to 4 bytes | CRC32c
 *
 * Each connection has a receiver and a sender. Neither copies payload: the receiver hands out
 * pieces of the bytes that it is given, or lets the caller read from the stream straight to where
 * the payload belongs; the sender makes a list of pieces for writev(2).
 *
 * If an end asked for markers, its peer puts one in front of the stream's byte 0, 512, 1024, ...:
 * four bytes that tell how far back the present FPDU begins. Markers count in these positions and
 * are covered by the CRC of the FPDU that they are in or in front of.
 */
#ifndef ADV_NIC_IWARP_FPDU_H
#define ADV_NIC_IWARP_FPDU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/uio.h>

#include "nic/iwarp/ddp.h"

#define ADV_FPDU_LENGTH_LEN	2
#define ADV_FPDU_CRC_LEN	4
#define ADV_FPDU_TRAILER_MAX	(3 + ADV_FPDU_CRC_LEN)
#define ADV_FPDU_ULPDU_MAX	65535
#define ADV_FPDU_MARKER_LEN	4
#define ADV_FPDU_MARKER_SPACING 512

enum adv_fpdu_event {
	ADV_FPDU_MORE,	  /* all bytes are used: the caller receives more */
	ADV_FPDU_HEADER,  /* header[] and payload_left are valid: the caller decides about them */
	ADV_FPDU_PAYLOAD, /* payload, payload_len: the next bytes of the payload */
	ADV_FPDU_END,	  /* the FPDU is complete, and its CRC is right */
	/* Errors: the caller sends a Terminate and closes; no later call is allowed. */
	ADV_FPDU_BAD_LENGTH, /* a segment shorter than its header */
	ADV_FPDU_BAD_MARKER, /* a marker that does not lead to the beginning of its FPDU */
	ADV_FPDU_BAD_CRC,
};

/* The receiver of a stream. The first four fields are the caller's to read after an event. */
struct adv_fpdu_rx {
	uint8_t header[ADV_DDP_HEADER_MAX]; /* the header of the segment, not decoded */
	uint32_t payload_left;		    /* bytes of payload that are not yet received */
	const uint8_t *payload;
	size_t payload_len;
	/* private */
	bool crc;
	bool markers;
	uint8_t part; /* what comes next */
	uint8_t have; /* bytes of this part, in piece[] or header[] */
	uint8_t need;
	uint8_t marker_have;
	uint8_t piece[ADV_FPDU_TRAILER_MAX]; /* length or trailer */
	uint8_t marker[ADV_FPDU_MARKER_LEN];
	uint16_t to_marker; /* bytes of the stream before the next marker */
	uint16_t ulpdu_len;
	uint32_t since_start; /* bytes of the stream since the FPDU began */
	uint32_t sum;	      /* CRC32c so far */
	bool damaged;	      /* adv_fpdu_rx_damage() */
};

/* Begins a stream with its first FPDU. crc: check the CRCs; markers: this end has asked for them
 * (both as negotiated by the start-up frames). */
void adv_fpdu_rx_init(struct adv_fpdu_rx *rx, bool crc, bool markers);

/*
 * Receives up to len bytes of the stream at p, up to the next event; *used is the number of bytes
 * that were used. The caller calls it again with the rest, also with none, until the event is
 * ADV_FPDU_MORE. An FPDU without a segment has only the event ADV_FPDU_END.
 */
enum adv_fpdu_event adv_fpdu_rx_take(struct adv_fpdu_rx *rx, const uint8_t *p, size_t len,
				     size_t *used);

/* Returns how many bytes of payload come next on the stream without a marker between them. The
 * caller may receive up to as many directly to their place, and then calls adv_fpdu_rx_placed(). 0
 * if no payload comes next. */
uint32_t adv_fpdu_rx_room(const struct adv_fpdu_rx *rx);

/* The caller has received len bytes of payload, at most adv_fpdu_rx_room(), to p. */
void adv_fpdu_rx_placed(struct adv_fpdu_rx *rx, const void *p, uint32_t len);

/* True between two FPDUs: a stream that ends here ends cleanly. */
bool adv_fpdu_rx_idle(const struct adv_fpdu_rx *rx);

#define ADV_FPDU_REST_UNKNOWN UINT32_MAX
/* Returns how many bytes of the stream come before the next FPDU. ADV_FPDU_REST_UNKNOWN: the length
 * of the present one is not complete, or there are markers. */
uint32_t adv_fpdu_rx_rest(const struct adv_fpdu_rx *rx);

/* Makes the CRC of the next FPDU that ends wrong. */
void adv_fpdu_rx_damage(struct adv_fpdu_rx *rx);

/* The sender of a stream. */
struct adv_fpdu_tx {
	bool crc;
	bool markers;
	uint16_t to_marker;
};

/* What the sender adds to a segment. It stays unchanged until the FPDU is written. */
struct adv_fpdu_added {
	uint8_t length[ADV_FPDU_LENGTH_LEN];
	uint8_t trailer[ADV_FPDU_TRAILER_MAX];
	uint8_t (*markers)[ADV_FPDU_MARKER_LEN]; /* room of the caller for adv_fpdu_markers() */
};

/* Begins a stream with its first FPDU, as adv_fpdu_rx_init(). markers: the peer has asked for
 * them. */
void adv_fpdu_tx_init(struct adv_fpdu_tx *tx, bool crc, bool markers);

/* Returns the largest number of markers in the FPDU of a segment of len bytes. */
size_t adv_fpdu_markers(const struct adv_fpdu_tx *tx, size_t len);

/*
 * Frames a segment of at most ADV_FPDU_ULPDU_MAX bytes, in count pieces, header first: writes the
 * pieces of the FPDU to out, which has room for count + 2 + 2 * adv_fpdu_markers() of them, and
 * returns their number. The pieces point into `pieces` and `added`. The caller sends FPDUs in the
 * order in which it framed them.
 */
size_t adv_fpdu_tx_frame(struct adv_fpdu_tx *tx, const struct iovec *pieces, size_t count,
			 struct adv_fpdu_added *added, struct iovec *out);

#endif
