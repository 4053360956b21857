/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct team;

struct member {
	struct adv_ranks ranks;
	struct team *team;
	pthread_t thread;
};

struct team {
	uint32_t count;
	struct member member[TEAM_MAX];
	const struct adv_mail *out[TEAM_MAX];
	pthread_barrier_t barrier;
	void (*each)(const struct adv_ranks *ranks, void *user);
	void *user;
};

static void exchange(void *user, const struct adv_mail *out, struct adv_mail *in)
{
	struct member *m = user;
	struct team *t = m->team;

	t->out[m->ranks.rank] = out;
	pthread_barrier_wait(&t->barrier);
	for (uint32_t r = 0; r < t->count; r++) {
		const struct adv_mail *from = &t->out[r][m->ranks.rank];

		if (r == m->ranks.rank)
			continue;
		adv_mail_clear(&in[r]);
		adv_mail_add(&in[r], from->data, from->len);
	}
	pthread_barrier_wait(&t->barrier);
}

static void fail(void *user, const char *why)
{
	const struct member *m = user;

	fprintf(stderr, "rank %u: %s\n", m->ranks.rank, why);
	abort();
}

static void *member_main(void *user)
{
	struct member *m = user;

	m->team->each(&m->ranks, m->team->user);
	return NULL;
}

void team_run(uint32_t count, void (*each)(const struct adv_ranks *ranks, void *user), void *user)
{
	struct team t = {.count = count, .each = each, .user = user};

	if (count > TEAM_MAX || pthread_barrier_init(&t.barrier, NULL, count))
		abort();
	for (uint32_t r = 0; r < count; r++) {
		struct member *m = &t.member[r];

		m->team = &t;
		m->ranks = (struct adv_ranks){
			.rank = r, .count = count, .exchange = exchange, .fail = fail, .user = m};
		if (r && pthread_create(&m->thread, NULL, member_main, m))
			abort();
	}
	member_main(&t.member[0]);
	for (uint32_t r = 1; r < count; r++)
		pthread_join(t.member[r].thread, NULL);
	pthread_barrier_destroy(&t.barrier);
}
