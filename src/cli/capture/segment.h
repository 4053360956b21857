/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes TCP segments of the records of iWARP connections: Ethernet, IP and TCP headers with right
 * checksums. The sequence numbers follow from the positions in the record.
 * Pure functions; a record may have any contents that adv_tap_peek() lets pass.
 */
#ifndef ADV_CLI_CAPTURE_SEGMENT_H
#define ADV_CLI_CAPTURE_SEGMENT_H

#include <stdio.h>

#include "cli/capture/frame.h"

#define ADV_SEGMENT_STARTS 5 /* SYN, SYN, ACK, request, reply */

/* Copies the part of a record that stands for headers. */
struct adv_tap_stream adv_segment_head(const uint8_t *data);

/* Where the segment of a record belongs in the file (streams.h). */
struct adv_segment_place {
	uint32_t skip;	  /* bytes at the record's begin that the segment does not have */
	uint32_t skew;	  /* added to all sequence numbers */
	uint64_t other;	  /* position of the other direction that it acknowledges */
	uint64_t from[2]; /* where the connection begins: of initiator and responder */
};

/* Makes the segment of a record. skip: at most all of it. snaplen: as in frame.h. */
void adv_segment_make(const struct adv_tap_record *record, const uint8_t *data,
		      const struct adv_segment_place *place, uint32_t snaplen,
		      struct adv_capture_frame *frame);

/*
 * Makes segment i of those that begin the connection, in front of the positions from[]. The
 * start-up frames are rebuilt from the agreement in the record: MPA revision 2, without private
 * data.
 */
void adv_segment_start(const struct adv_tap_record *record, const uint8_t *data, unsigned i,
		       const struct adv_segment_place *place, struct adv_capture_frame *frame);

/* Prints a line with the addresses, and what is known of the FPDUs that begin in the record. */
void adv_segment_print(const struct adv_tap_record *record, const uint8_t *data, FILE *f);

#endif
