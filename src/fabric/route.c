/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/route.h"

#define SETS_MAX 65536u

int adv_route_table_init(struct adv_route_table *t, uint32_t hosts)
{
	memset(t, 0, sizeof(*t));
	t->set_of = calloc(hosts ? hosts : 1, sizeof(*t->set_of));
	t->set = calloc(1, sizeof(*t->set));
	if (!t->set_of || !t->set) {
		adv_route_table_free(t);
		return ENOMEM;
	}
	t->hosts = hosts;
	t->sets = 1;
	return 0;
}

void adv_route_table_free(struct adv_route_table *t)
{
	free(t->set_of);
	free(t->set);
	free(t->port);
	memset(t, 0, sizeof(*t));
}

static bool is_set(const struct adv_route_table *t, uint32_t i, const uint16_t *port,
		   uint32_t count)
{
	const struct adv_route_set *s = &t->set[i];

	return s->count == count &&
	       (count == 0 || memcmp(&t->port[s->first], port, count * sizeof(*port)) == 0);
}

static int add_set(struct adv_route_table *t, const uint16_t *port, uint32_t count)
{
	struct adv_route_set *set;
	uint16_t *ports;

	if (t->sets == SETS_MAX)
		return EINVAL;
	ports = realloc(t->port, (t->ports + (size_t)count) * sizeof(*ports));
	if (!ports)
		return ENOMEM;
	t->port = ports;
	set = realloc(t->set, (t->sets + 1ul) * sizeof(*set));
	if (!set)
		return ENOMEM;
	t->set = set;
	set[t->sets++] = (struct adv_route_set){t->ports, count};
	memcpy(&ports[t->ports], port, count * sizeof(*port));
	t->ports += count;
	return 0;
}

int adv_route_set(struct adv_route_table *t, uint32_t host, const uint16_t *port, uint32_t count)
{
	uint32_t i;
	int err;

	if (host >= t->hosts)
		return EINVAL;
	/* The search begins at the newest set, which is the most likely match. */
	for (i = t->sets; i-- > 0;)
		if (is_set(t, i, port, count))
			break;
	if (i == UINT32_MAX) {
		err = add_set(t, port, count);
		if (err)
			return err;
		i = t->sets - 1;
	}
	t->set_of[host] = (uint16_t)i;
	return 0;
}
