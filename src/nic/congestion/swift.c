/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Swift ("Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020,
 * algorithm 1): a window that keeps the delay at a target. The target is longer for small windows
 * (flow-based scaling, section 3.5). A window below one packet becomes a rate (section 3.2).
 *
 * Different from the paper: the target does not depend on the number of switches of the path, and
 * the delay is that of the network and the peer together, because the engines of the simulation
 * need no time.
 */
#include <stddef.h>

#include "nic/congestion/congestion_control.h"

#define ONE	1024		    /* weights are in 1/1024 */
#define PACKET	((uint64_t)1 << 16) /* one packet of a window */
#define US	1000ull
#define BITS_NS 8000000ull	    /* ns of one byte at 1 kb/s */
#define HIGHEST ((uint64_t)1 << 20) /* packets */

struct swift {
	uint64_t window; /* PACKET is one packet */
	uint64_t rtt;	 /* of the previous ACK, ns */
	uint64_t cut_at; /* time of the last reduction */
};

_Static_assert(sizeof(struct swift) <= sizeof(((struct adv_cc *)NULL)->state), "it fits");

static struct swift *state_of(struct adv_cc *cc)
{
	return (struct swift *)(void *)cc->state;
}

/* Returns the integer part of the square root. */
static uint64_t square_root(uint64_t x)
{
	uint64_t root = 0;

	for (uint64_t bit = 1ull << 62; bit; bit >>= 2) {
		if (x >= root + bit) {
			x -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return root;
}

/* Returns PACKET / sqrt(window). */
static uint64_t inverse_root(uint64_t window)
{
	uint64_t root = square_root(window * PACKET);

	return root ? PACKET * PACKET / root : PACKET * PACKET;
}

/* Returns the part of the target that grows from 0 at the window fs_max to fs_range at fs_min. */
static uint64_t flow_scaling(const struct adv_cc_params *p, uint64_t window)
{
	uint64_t here = inverse_root(window);
	uint64_t shortest = inverse_root(p->swift_fs_max * PACKET / ONE);
	uint64_t longest = inverse_root(p->swift_fs_min * PACKET / ONE);

	if (here <= shortest || longest <= shortest)
		return 0;
	if (here > longest)
		here = longest;
	return p->swift_fs_range * US * (here - shortest) / (longest - shortest);
}

/* Sets the limits by the window: bytes, or below a packet a rate. */
static void set_limits(struct adv_cc *cc, const struct adv_cc_link *link)
{
	const struct swift *s = state_of(cc);
	uint64_t rate;

	if (s->window >= PACKET) {
		cc->window = s->window * link->frame / PACKET;
		cc->rate = 0;
		return;
	}
	cc->window = link->frame;
	rate = s->rtt ? link->frame * BITS_NS / s->rtt * s->window / PACKET : 0;
	cc->rate = rate ? rate : 1;
}

static void start_swift(struct adv_cc *cc, const struct adv_cc_link *link)
{
	struct swift *s = state_of(cc);

	s->window =
		adv_cc_bytes(link->line, link->params->swift_target * US) * PACKET / link->frame;
	if (s->window < PACKET)
		s->window = PACKET;
	set_limits(cc, link);
}

static void increase_window(struct swift *s, const struct adv_cc_params *p, uint32_t packets)
{
	uint64_t step = p->swift_ai * PACKET / ONE * packets;

	s->window += s->window >= PACKET ? step * PACKET / s->window : step;
	if (s->window > HIGHEST * PACKET)
		s->window = HIGHEST * PACKET;
}

/* At most once a round trip. */
static void reduce_window(struct swift *s, const struct adv_cc_params *p, uint64_t delay,
			  uint64_t target, uint64_t now)
{
	uint64_t part = p->swift_beta * (delay - target) / delay;
	uint64_t least = p->swift_min_window * PACKET / ONE;

	if (now - s->cut_at < delay)
		return;
	if (part > p->swift_max_mdf)
		part = p->swift_max_mdf;
	s->window -= s->window * part / ONE;
	if (s->window < least)
		s->window = least;
	s->cut_at = now;
}

static void handle_ack(struct adv_cc *cc, const struct adv_cc_link *link,
		       const struct adv_cc_ack *ack)
{
	const struct adv_cc_params *p = link->params;
	struct swift *s = state_of(cc);
	uint64_t target;

	if (!ack->rtt)
		return;
	s->rtt = ack->rtt;
	target = p->swift_target * US + flow_scaling(p, s->window);
	if (ack->rtt < target)
		increase_window(s, p, ack->packets);
	else
		reduce_window(s, p, ack->rtt, target, ack->now);
	set_limits(cc, link);
}

const struct adv_cc_ops adv_cc_swift = {
	.name = "swift",
	.ack_interval = 1,
	.start = start_swift,
	.on_ack = handle_ack,
};
