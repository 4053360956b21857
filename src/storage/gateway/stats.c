/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/gateway/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void adv_gateway_stats_init(struct adv_gateway_stats *s)
{
	memset(s, 0, sizeof(*s));
	adv_list_init(&s->clients);
	strcpy(s->others.address, "others");
}

static void free_client(struct adv_gateway_stats *s, struct adv_gateway_client *c)
{
	adv_list_del(&c->link);
	s->count--;
	free(c);
}

void adv_gateway_stats_free(struct adv_gateway_stats *s)
{
	adv_list_for_each_safe(struct adv_gateway_client, c, &s->clients, link)
		free_client(s, c);
}

void adv_gateway_counts_add(struct adv_gateway_counts *a, const struct adv_gateway_counts *b)
{
	a->calls += b->calls;
	a->errors += b->errors;
	a->call_bytes += b->call_bytes;
	a->reply_bytes += b->reply_bytes;
	a->timed += b->timed;
	a->ns += b->ns;
}

struct adv_gateway_counts adv_gateway_stats_total(const struct adv_gateway_stats *s)
{
	struct adv_gateway_counts total = s->others.counts;

	adv_list_for_each(struct adv_gateway_client, c, &s->clients, link)
		adv_gateway_counts_add(&total, &c->counts);
	return total;
}

/* Makes room for one more client. False: all have connections. */
static bool make_room(struct adv_gateway_stats *s)
{
	if (s->count < ADV_GATEWAY_CLIENTS_MAX)
		return true;
	adv_list_for_each_safe(struct adv_gateway_client, c, &s->clients, link) {
		if (c->connections > 0)
			continue;
		adv_gateway_counts_add(&s->others.counts, &c->counts);
		free_client(s, c);
		return true;
	}
	return false;
}

/* Returns a client that is not known yet. */
static struct adv_gateway_client *new_client(struct adv_gateway_stats *s, const char *address)
{
	struct adv_gateway_client *c = make_room(s) ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return &s->others;
	snprintf(c->address, sizeof(c->address), "%s", address);
	adv_list_add_tail(&s->clients, &c->link);
	s->count++;
	return c;
}

struct adv_gateway_client *adv_gateway_client_get(struct adv_gateway_stats *s, const char *peer)
{
	char address[ADV_GATEWAY_ADDRESS] = "unknown";
	struct adv_gateway_client *found = NULL;

	sscanf(peer, "client %71s", address);
	adv_list_for_each(struct adv_gateway_client, c, &s->clients, link) {
		if (strcmp(c->address, address) == 0)
			found = c;
	}
	if (!found)
		found = new_client(s, address);
	found->connections++;
	return found;
}

void adv_gateway_client_put(struct adv_gateway_stats *s, struct adv_gateway_client *c)
{
	if (--c->connections > 0 || c == &s->others)
		return;
	adv_list_del(&c->link);
	adv_list_add_tail(&s->clients, &c->link);
}
