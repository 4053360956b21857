/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/exporter/http_clients.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define CLIENTS_MOST 32
#define REQUEST_MS   10000 /* for a request and its answer, and between two requests */

struct adv_http_client {
	struct adv_list node;
	int fd;
	bool gone; /* shut down: it only ends */
	uint64_t due_ms;
	uint8_t source[16]; /* its address, without the part that its owner chooses */
};

void adv_http_clients_init(struct adv_http_clients *all)
{
	adv_list_init(&all->list);
	all->count = 0;
}

static void fill_source(const struct sockaddr *peer, uint8_t source[16])
{
	const struct sockaddr_in *in = (const void *)peer;
	const struct sockaddr_in6 *in6 = (const void *)peer;

	memset(source, 0, 16);
	if (peer->sa_family == AF_INET)
		memcpy(source + 12, &in->sin_addr, 4);
	else if (peer->sa_family == AF_INET6)
		memcpy(source, &in6->sin6_addr, IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) ? 16 : 8);
}

static void shut_down(struct adv_http_clients *all, struct adv_http_client *c)
{
	c->gone = true;
	all->count--;
	(void)shutdown(c->fd, SHUT_RDWR);
}

static unsigned count_of(const struct adv_http_clients *all, const struct adv_http_client *like)
{
	unsigned n = 0;

	adv_list_for_each(const struct adv_http_client, c, &all->list, node)
		n += !c->gone && memcmp(c->source, like->source, sizeof(c->source)) == 0;
	return n;
}

/* Returns the oldest connection of the address that has most, but not `except`, the newest. */
static struct adv_http_client *choose_client(const struct adv_http_clients *all,
					     const struct adv_http_client *except)
{
	struct adv_http_client *chosen = NULL;
	unsigned most = 0;

	adv_list_for_each(struct adv_http_client, c, &all->list, node) {
		unsigned n = c->gone || c == except ? 0 : count_of(all, c);

		if (n <= most)
			continue;
		most = n;
		chosen = c;
	}
	return chosen;
}

struct adv_http_client *adv_http_client_add(struct adv_http_clients *all, int fd,
					    const struct sockaddr *peer)
{
	struct adv_http_client *c = calloc(1, sizeof(*c)), *chosen;

	if (!c)
		return NULL;
	c->fd = fd;
	c->due_ms = adv_clock_ms() + REQUEST_MS;
	fill_source(peer, c->source);
	adv_list_add_tail(&all->list, &c->node);
	all->count++;
	chosen = all->count > CLIENTS_MOST ? choose_client(all, c) : NULL;
	if (chosen)
		shut_down(all, chosen);
	return c;
}

void adv_http_client_answered(struct adv_http_clients *all, struct adv_http_client *c)
{
	if (!c)
		return;
	c->due_ms = adv_clock_ms() + REQUEST_MS;
	adv_list_del(&c->node);
	adv_list_add_tail(&all->list, &c->node);
}

void adv_http_client_remove(struct adv_http_clients *all, struct adv_http_client *c)
{
	if (!c)
		return;
	adv_list_del(&c->node);
	all->count -= !c->gone;
	free(c);
}

void adv_http_clients_expire(struct adv_http_clients *all)
{
	uint64_t now_ms = adv_clock_ms();

	adv_list_for_each(struct adv_http_client, c, &all->list, node) {
		if (c->due_ms > now_ms)
			return;
		if (!c->gone)
			shut_down(all, c);
	}
}

int adv_http_clients_timeout(const struct adv_http_clients *all)
{
	uint64_t now_ms = adv_clock_ms();

	adv_list_for_each(const struct adv_http_client, c, &all->list, node)
		if (!c->gone)
			return c->due_ms > now_ms ? (int)(c->due_ms - now_ms) : 0;
	return -1;
}
