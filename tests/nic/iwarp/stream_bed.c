/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "stream_bed.h"

#define STEPS_BOUND 10000000u

struct bed *bed_open_ends(const struct adv_rdmap_config config[2], uint64_t seed)
{
	struct bed *b = calloc(1, sizeof(*b));
	struct options o = options_default(IBV_QPT_RC);
	unsigned i;

	assert_non_null(b);
	adv_rng_seed(&b->rng, seed);
	b->net = net_open(2, seed);
	pair_open(b->net, &o, &b->end[0], &b->end[1]);
	for (i = 0; i < 2; i++) {
		b->stream[i] = adv_rdmap_stream_create(b->end[i]->qp, &config[i]);
		assert_non_null(b->stream[i]);
	}
	return b;
}

struct bed *bed_open(const struct adv_rdmap_config *config, uint64_t seed)
{
	const struct adv_rdmap_config both[2] = {*config, *config};

	return bed_open_ends(both, seed);
}

void bed_close(struct bed *b)
{
	net_check(b->net);
	adv_rdmap_stream_destroy(b->stream[0]);
	adv_rdmap_stream_destroy(b->stream[1]);
	net_abandon(b->net);
	free(b);
}

static size_t room(const struct pipe *p)
{
	return sizeof(p->bytes) - (p->head - p->tail);
}

static void put(struct pipe *p, const uint8_t *from, size_t len)
{
	assert_in_range(len, 0, room(p));
	while (len--)
		p->bytes[p->head++ % sizeof(p->bytes)] = *from++;
}

static size_t take(struct pipe *p, uint8_t *to, size_t len)
{
	size_t n = 0;

	for (; n < len && p->tail != p->head; n++)
		to[n] = p->bytes[p->tail++ % sizeof(p->bytes)];
	return n;
}

static size_t limit(struct bed *b, size_t most)
{
	size_t n = b->piece ? 1 + adv_rng_below(&b->rng, b->piece) : most;

	return n < most ? n : most;
}

static size_t step_tx(struct bed *b, unsigned i)
{
	struct iovec iov[PIECES_OF_BED];
	size_t count = adv_rdmap_tx(b->stream[i], b->net->now, iov, PIECES_OF_BED), sent = 0, k;
	size_t left = limit(b, room(&b->pipe[i]));

	if (b->pipe[i].ended)
		left = 0;
	for (k = 0; k < count && left; k++) {
		size_t n = iov[k].iov_len < left ? iov[k].iov_len : left;

		put(&b->pipe[i], iov[k].iov_base, n);
		sent += n;
		left -= n;
	}
	adv_rdmap_sent(b->stream[i], b->net->now, sent);
	if (adv_rdmap_phase(b->stream[i]) == ADV_RDMAP_ENDED)
		b->pipe[i].ended = true;
	return sent;
}

/* Receives as a program with sockets would: payload to its place, the rest through a buffer. */
static size_t step_rx(struct bed *b, unsigned i)
{
	struct pipe *from = &b->pipe[!i];
	struct iovec iov[ADV_MAX_SGE];
	unsigned count = adv_rng_below(&b->rng, 2) ? adv_rdmap_rx_room(b->stream[i], iov) : 0, k;
	uint8_t buffer[5000];
	size_t received = 0, n;

	for (k = 0; k < count; k++) {
		n = take(from, iov[k].iov_base, limit(b, iov[k].iov_len));
		received += n;
		if (n < iov[k].iov_len)
			break;
	}
	if (received)
		adv_rdmap_rx_placed(b->stream[i], iov, received);
	n = take(from, buffer, limit(b, sizeof(buffer)));
	if (n && k == count)
		adv_rdmap_rx(b->stream[i], b->net->now, buffer, n);
	else
		from->tail -= n;
	if (from->ended && from->tail == from->head)
		adv_rdmap_ended(b->stream[i], b->net->now);
	return received + n;
}

bool bed_step(struct bed *b, unsigned i)
{
	size_t moved = step_tx(b, i) + step_rx(b, i);

	b->net->now += 1000;
	end_poll(b->end[i]);
	net_take_events(&b->net->node[i]);
	net_check(b->net);
	return moved != 0;
}

void bed_run(struct bed *b)
{
	unsigned idle = 0, steps = 0;

	while (idle < 4) {
		assert_in_range(++steps, 0, STEPS_BOUND);
		idle = bed_step(b, steps % 2) ? 0 : idle + 1;
	}
}

void bed_inject(struct bed *b, unsigned i, const void *p, size_t len)
{
	put(&b->pipe[i], p, len);
}
