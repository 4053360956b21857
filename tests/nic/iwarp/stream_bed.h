/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two queue pairs over a connection that cuts, stalls and ends as the test wants. The engines,
 * queue pairs and checks are those of the transport's harness; its network is not used. */
#ifndef ADV_TESTS_NIC_IWARP_STREAM_BED_H
#define ADV_TESTS_NIC_IWARP_STREAM_BED_H

#include "../engine/harness.h"
#include "base/rng.h"
#include "nic/iwarp/stream.h"

#define MARKERS_OF_BED 1
#define CRC_OF_BED     2
#define PIECES_OF_BED  256 /* of adv_rdmap_tx() in a step */

/* One direction of the connection. */
struct pipe {
	uint8_t bytes[1 << 18];
	size_t head, tail; /* free running */
	bool ended;	   /* no byte comes behind those that wait */
};

struct bed {
	struct net *net;
	struct end *end[2];
	struct adv_rdmap_stream *stream[2];
	struct pipe pipe[2]; /* from end i */
	struct adv_rng rng;
	size_t piece; /* longest piece that the connection takes or delivers at a time; 0: any */
};

/* Both ends have the same agreement, and either may begin; or each has its own. */
struct bed *bed_open(const struct adv_rdmap_config *config, uint64_t seed);
struct bed *bed_open_ends(const struct adv_rdmap_config config[2], uint64_t seed);
void bed_close(struct bed *b);
/* Moves bytes from end i to its pipe, and from the peer's pipe to end i, at most `piece` each.
 * Returns false if nothing has moved. */
bool bed_step(struct bed *b, unsigned i);
/* Steps until nothing moves. */
void bed_run(struct bed *b);
/* Puts bytes behind those that end i has sent, as an attacker on the connection would. */
void bed_inject(struct bed *b, unsigned i, const void *p, size_t len);

#endif
