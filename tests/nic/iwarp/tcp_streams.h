/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The byte streams of the TCP connections in a capture. */
#ifndef ADV_TESTS_NIC_IWARP_TCP_STREAMS_H
#define ADV_TESTS_NIC_IWARP_TCP_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#define STREAMS_MAX 16
#define STREAM_MAX  (1 << 20)

/* One direction of a TCP connection over IPv4. */
struct stream {
	uint32_t saddr, daddr;
	uint16_t sport, dport;
	uint32_t next; /* sequence number */
	uint8_t *bytes;
	size_t len;
};

/* Each connection has two streams, one behind the other; the first one is the initiator's. */
struct streams {
	struct stream all[STREAMS_MAX];
	unsigned count;
};

/* Reads CAPTURES/name.pcap, which has no gaps and no retransmissions; a cmocka assertion fails
 * otherwise. */
void streams_read(const char *name, struct streams *streams);
void streams_free(struct streams *streams);

#endif
