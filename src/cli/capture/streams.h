/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The iWARP connections in a capture's file. A file has each byte of a connection once, also if
 * both processes are captured, and each direction begins with an FPDU, so that a dissector knows
 * what it reads: it takes a byte that is repeated for a retransmission, and a stream without its
 * beginning for any stream.
 */
#ifndef ADV_CLI_CAPTURE_STREAMS_H
#define ADV_CLI_CAPTURE_STREAMS_H

#include "cli/capture/segment.h"

struct adv_segment_streams;

/* A connection. */
struct adv_segment_stream;

/* NULL: ENOMEM. */
struct adv_segment_streams *adv_segment_streams_create(void);
void adv_segment_streams_destroy(struct adv_segment_streams *all); /* NULL: nothing */

/*
 * Takes a record of the source with this index. Returns its connection, and in *place where its
 * segment belongs. NULL: the file gets nothing of it, or ENOMEM. `section`: the number of the file;
 * connections begin again in each one, and behind bytes that are missing.
 */
struct adv_segment_stream *adv_segment_streams_take(struct adv_segment_streams *all,
						    unsigned source, unsigned section,
						    const struct adv_tap_record *record,
						    const uint8_t *data,
						    struct adv_segment_place *place);

/* True once after each begin: the segments that begin the connection have to be written. */
bool adv_segment_stream_begins(struct adv_segment_stream *s);

#endif
