/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where captured packets go: one pcapng file, standard output, a ring of files, or text. */
#ifndef ADV_CLI_CAPTURE_OUTPUT_H
#define ADV_CLI_CAPTURE_OUTPUT_H

#include "cli/capture/frame.h"
#include "cli/capture/source.h"

struct adv_output_config {
	const char *file; /* "-": standard output; NULL: text on standard output */
	uint32_t snaplen; /* bytes of a frame */
	enum adv_capture_place place;
	/* A ring of files: begins another file at this size, or after this time. 0: no limit. */
	uint64_t file_bytes;
	uint64_t file_ns;
	unsigned files; /* keeps only the newest files; 0: all */
};

struct adv_output;

/* Opens the output. NULL after an error message. */
struct adv_output *adv_output_open(const struct adv_output_config *config);

/* Counts the packets of a record, and those that were dropped before it. False: no memory. */
bool adv_output_count(struct adv_output *o, const struct adv_source *source,
		      const struct adv_tap_record *record);

/* Writes a frame of a record that adv_output_count() has counted. data: the record's headers and
 * payload. False after an error message. */
bool adv_output_packet(struct adv_output *o, const struct adv_source *source,
		       const struct adv_tap_record *record, const uint8_t *data,
		       const struct adv_capture_frame *frame);

/* Returns the number of the present file: each file of a ring has another one. */
unsigned adv_output_file(const struct adv_output *o);

/* Makes all packets visible to readers of the output; begins another file after its time. False
 * after an error message. */
bool adv_output_flush(struct adv_output *o);

/* Before the end: adds the packets of a source that were dropped after its last record. dropped:
 * all dropped packets of the source. */
void adv_output_dropped(struct adv_output *o, const struct adv_source *source, uint64_t dropped);

/* Writes the statistics and closes the output. False after an error message. o may be NULL. */
bool adv_output_close(struct adv_output *o);

/* Returns the number of frames written. */
uint64_t adv_output_packets(const struct adv_output *o);

#endif
