/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a capture has of NVMe over Fabrics: every capsule is decoded, and encoded again to the same
 * bytes. */
#ifndef ADV_TESTS_STORAGE_NVME_SEEN_H
#define ADV_TESTS_STORAGE_NVME_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEEN_MESSAGE_MAX (1u << 17)

struct seen {
	unsigned commands, connects, identifies, properties, reads, writes, flushes, in_capsule;
	unsigned invalidated, completions, failed, requests, replies;
	uint16_t last_qid;
	uint8_t message[2][SEEN_MESSAGE_MAX]; /* by direction, 1 to the target: SENDs in pieces */
	size_t len[2];
};

/* The private data of a connection request, and of its acceptance. */
void seen_request(struct seen *s, const uint8_t *data, size_t len);
void seen_reply(struct seen *s, const uint8_t *data, size_t len);

/* A piece of a SEND. */
void seen_send(struct seen *s, bool to_target, const uint8_t *data, size_t len, bool first,
	       bool last);

/* Checks the numbers of a session of nvme-cli: discovery, then one I/O queue, writes of 512, four
 * times 4,096 and 98,304 bytes. */
void seen_check(const struct seen *s);

#endif
