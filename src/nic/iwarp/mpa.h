/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The start-up frames of MPA: what the two ends of a TCP connection send before the first FPDU (RFC
 * 5044 section 7.1; enhanced connection set-up: RFC 6581). All fields are in host order.
 */
#ifndef ADV_NIC_IWARP_MPA_H
#define ADV_NIC_IWARP_MPA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADV_MPA_FRAME_LEN    20	 /* bytes without private data */
#define ADV_MPA_PRIVATE_MAX  512 /* bytes; what enhanced set-up adds is part of it */
#define ADV_MPA_ENHANCED_LEN 4	 /* bytes of IRD and ORD in front of the private data */
#define ADV_MPA_IRD_MAX	     0x3fff

enum adv_mpa_kind {
	ADV_MPA_REQUEST,
	ADV_MPA_REPLY,
};

struct adv_mpa_frame {
	enum adv_mpa_kind kind;
	bool markers; /* M: the sender wants to receive markers */
	bool crc;     /* C: the sender wants CRCs, in both directions */
	bool reject;  /* R: the connection is refused; 0 in a request */
	uint8_t revision;
	bool enhanced; /* S; the following six fields exist only with it */
	uint16_t ird; /* incoming READs that the sender serves at a time, at most ADV_MPA_IRD_MAX */
	uint16_t ord; /* READs that it wants to have outstanding, at most ADV_MPA_IRD_MAX */
	bool peer_to_peer;	     /* A: the initiator begins with a ready-to-receive message */
	bool rtr_send;		     /* B: which may be an FPDU without contents, */
	bool rtr_write;		     /* C: a WRITE of length 0, */
	bool rtr_read;		     /* D: or a READ of length 0 */
	const uint8_t *private_data; /* the application's, without IRD and ORD */
	uint16_t private_len;
};

enum adv_mpa_status {
	ADV_MPA_OK,
	ADV_MPA_MORE,	    /* the frame is not complete: the caller reads more and tries again */
	ADV_MPA_BAD_KEY,    /* not a frame of the expected kind: the caller closes the connection */
	ADV_MPA_BAD_LENGTH, /* too much private data, or too little for enhanced set-up: likewise */
};

/*
 * Decodes a frame of the kind that the caller expects from the first len bytes of a stream. With
 * ADV_MPA_OK, *used is the length of the frame, and f->private_data points into p. A wrong key is
 * found with the first wrong byte. The revision is the caller's to judge: a later revision may mean
 * something else by the flags.
 */
enum adv_mpa_status adv_mpa_decode(const uint8_t *p, size_t len, enum adv_mpa_kind kind,
				   struct adv_mpa_frame *f, size_t *used);

/*
 * Encodes a frame to out, which has room for ADV_MPA_FRAME_LEN + ADV_MPA_PRIVATE_MAX bytes. Returns
 * its length; 0 if the private data is too long, or if IRD or ORD are above ADV_MPA_IRD_MAX. It is
 * the inverse of adv_mpa_decode(); reserved bits are 0.
 */
size_t adv_mpa_encode(const struct adv_mpa_frame *f, uint8_t *out);

#endif
