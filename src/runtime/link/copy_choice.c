/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/link/copy_choice.h"

/* The other way must take at most this part of the present one's time, in percent: a change costs
 * warm caches, and equal ways must not alternate. */
#define BETTER 90

void adv_copy_choice_init(struct adv_copy_choice *c)
{
	*c = (struct adv_copy_choice){.way = ADV_COPY_PULL, .left = ADV_COPY_FIRST_PERIOD};
}

static enum adv_copy_way other_way(enum adv_copy_way way)
{
	return way == ADV_COPY_RING ? ADV_COPY_PULL : ADV_COPY_RING;
}

enum adv_copy_way adv_copy_choice_now(const struct adv_copy_choice *c)
{
	return c->phase == ADV_COPY_TRIES ? other_way(c->way) : c->way;
}

/* Inserts a sample: sample[] stays sorted. */
static void insert_sample(struct adv_copy_choice *c, uint64_t sample)
{
	unsigned i = c->count++;

	for (; i > 0 && c->sample[i - 1] > sample; i--)
		c->sample[i] = c->sample[i - 1];
	c->sample[i] = sample;
}

bool adv_copy_choice_timed(struct adv_copy_choice *c, uint32_t bytes, uint64_t ns)
{
	enum adv_copy_way before = adv_copy_choice_now(c);
	uint64_t median;

	insert_sample(c, ns * 1000 / bytes);
	if (c->count < ADV_COPY_SAMPLES)
		return false;
	median = c->sample[ADV_COPY_SAMPLES / 2];
	c->count = 0;
	if (c->phase == ADV_COPY_TIMES) {
		c->present = median;
		c->phase = ADV_COPY_TRIES;
		c->left = ADV_COPY_WARM_UP;
	} else {
		if (median * 100 < c->present * BETTER)
			c->way = other_way(c->way);
		c->phase = ADV_COPY_COUNTS;
		c->left = ADV_COPY_PERIOD;
	}
	return adv_copy_choice_now(c) != before;
}
