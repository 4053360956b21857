/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses how the payload of long packets comes from a process of this machine: copied twice,
 * through the ring, or copied once, by pull. Which way is faster depends on where the two
 * processes run. If their cores share a cache, two copies through a warm ring are faster than the
 * kernel's copy; if they do not, one copy is. The scheduler moves processes, so the receiver
 * measures again and again: after each ADV_COPY_PERIOD bytes it times a few packets of the present
 * way, then a few of the other one, once its caches are warm, and keeps the faster way.
 *
 * Not thread-safe: the lock of the link's owner protects it. No system call.
 */
#ifndef ADV_RUNTIME_LINK_COPY_CHOICE_H
#define ADV_RUNTIME_LINK_COPY_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

enum adv_copy_way { ADV_COPY_RING, ADV_COPY_PULL, ADV_COPY_WAYS };

#define ADV_COPY_SAMPLES      7u	   /* packets timed for each way; their median counts */
#define ADV_COPY_SAMPLE_MIN   8192u	   /* bytes; shorter payload says little about copies */
#define ADV_COPY_FIRST_PERIOD (1u << 20)   /* bytes before the first comparison */
#define ADV_COPY_PERIOD	      (256u << 20) /* bytes between later comparisons */
#define ADV_COPY_WARM_UP      (1u << 20)   /* bytes of the other way before it is timed: caches */

enum adv_copy_phase {
	ADV_COPY_COUNTS, /* counts bytes until the next comparison */
	ADV_COPY_TIMES,	 /* times packets of the present way */
	ADV_COPY_TRIES,	 /* asks for the other way, and times its packets */
};

struct adv_copy_choice {
	enum adv_copy_way way; /* the faster way, as far as known */
	enum adv_copy_phase phase;
	uint64_t left;	/* bytes until the next comparison, or the end of the warm-up */
	unsigned count; /* samples of this phase */
	uint64_t sample[ADV_COPY_SAMPLES]; /* ps per byte */
	uint64_t present;		   /* the present way's median, ps per byte */
};

/* Initializes *c: payload is pulled until the first comparison. */
void adv_copy_choice_init(struct adv_copy_choice *c);

/* Returns the way that the peer must use now. */
enum adv_copy_way adv_copy_choice_now(const struct adv_copy_choice *c);

/* True if the caller must time the next packet of this way with at least ADV_COPY_SAMPLE_MIN bytes
 * of payload, and call adv_copy_choice_timed(). */
static inline bool adv_copy_choice_wants(const struct adv_copy_choice *c, enum adv_copy_way way)
{
	return c->phase != ADV_COPY_COUNTS && !c->left && adv_copy_choice_now(c) == way;
}

/* Counts the payload of a packet, in bytes. While a way is tried, only its own packets count. */
static inline void adv_copy_choice_count(struct adv_copy_choice *c, enum adv_copy_way way,
					 uint32_t bytes)
{
	if (c->phase == ADV_COPY_TRIES && way != adv_copy_choice_now(c))
		return;
	c->left -= bytes < c->left ? bytes : c->left;
	if (!c->left && c->phase == ADV_COPY_COUNTS)
		c->phase = ADV_COPY_TIMES;
}

/* Adds a packet for which adv_copy_choice_wants() was true: its payload, in bytes, and the time
 * that the copy took, ns. Returns true if adv_copy_choice_now() has changed. */
bool adv_copy_choice_timed(struct adv_copy_choice *c, uint32_t bytes, uint64_t ns);

#endif
