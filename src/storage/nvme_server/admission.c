/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/admission.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* Parts of all receives that are in use before connections have to give way: the rest is for new
 * ones, as the end of a connection takes time. */
enum { FULL_PERCENT = 75, LEAVING_PERCENT = 10 };
/* Messages about an address that wants more: one in this time. */
#define QUIET_NS 10000000000ull

static struct in6_addr address_of(const struct sockaddr *sa)
{
	struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (sa->sa_family == AF_INET6)
		return ((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;
	memcpy(&address.s6_addr[12], &((const struct sockaddr_in *)(const void *)sa)->sin_addr, 4);
	return address;
}

static struct adv_nvme_holder *get_holder(struct adv_nvme_shared *s, const struct sockaddr *peer)
{
	struct in6_addr address = address_of(peer);
	struct adv_nvme_holder *h;

	adv_list_for_each(struct adv_nvme_holder, known, &s->holders, link) {
		if (memcmp(&known->address, &address, sizeof(address)) == 0)
			return known;
	}
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->address = address;
	adv_list_add_tail(&s->holders, &h->link);
	return h;
}

static void put_holder(struct adv_nvme_holder *h)
{
	if (h->receives)
		return;
	adv_list_del(&h->link);
	free(h);
}

/* Returns the address whose connections without a Connect hold most; NULL: there are none. */
static struct adv_nvme_holder *find_most_silent(struct adv_nvme_shared *s)
{
	struct adv_nvme_holder *most = NULL;
	struct adv_nvme_queue *q = NULL;

	adv_list_for_each(struct adv_nvme_holder, h, &s->holders, link)
		h->silent = 0;
	while ((q = adv_nvme_target_unconnected(s->target, q)) != NULL) {
		struct adv_nvme_connection *c = adv_nvme_queue_user(q);

		if (!c->holder)
			continue; /* the new one */
		c->holder->silent += c->credits;
		if (!most || c->holder->silent > most->silent)
			most = c->holder;
	}
	return most;
}

/* Returns the oldest connection of an address without a Connect; NULL: none. */
static struct adv_nvme_connection *find_silent(struct adv_nvme_shared *s,
					       const struct adv_nvme_holder *h)
{
	struct adv_nvme_queue *q = NULL;

	while ((q = adv_nvme_target_unconnected(s->target, q)) != NULL) {
		struct adv_nvme_connection *c = adv_nvme_queue_user(q);

		if (c->holder && c->holder == h)
			return c;
	}
	return NULL;
}

/* Has connections without a Connect closed that hold so many receives: those of the address `of`,
 * or if it is NULL of the one that has most of them. */
static void make_room(struct adv_nvme_shared *s, const struct adv_nvme_holder *of,
		      unsigned receives)
{
	struct adv_nvme_connection *c;

	for (unsigned freed = 0; freed < receives; freed += c->credits) {
		c = find_silent(s, of ? of : find_most_silent(s));
		if (!c)
			return;
		c->leaving = true;
		c->holder->leaving += c->credits;
		adv_nvme_queue_fail(c->queue, "no Connect has come, and others need its place");
		adv_nvme_worker_wake(c->worker);
	}
}

/* True if an address may hold so many receives more. Those that it gives up do not count, as long
 * as they are few: their connections end soon. */
static bool within_share(const struct adv_nvme_shared *s, const struct adv_nvme_holder *h,
			 unsigned more, uint64_t capacity)
{
	return (h->receives - h->leaving + more) * 100ull <= capacity * s->address_share &&
	       h->leaving * 100ull <= capacity * LEAVING_PERCENT;
}

static void report_refusal(struct adv_nvme_shared *s, const struct adv_nvme_connection *c,
			   const struct adv_nvme_holder *h, uint64_t capacity)
{
	uint64_t now = adv_clock_ns();

	if (now < s->quiet_end)
		return;
	s->quiet_end = now + QUIET_NS;
	adv_warn("port %s: host at %s refused: its address holds %u of %" PRIu64
		 " receives, and may hold %u %% (--address-share)",
		 c->port, c->peer, h->receives, capacity, s->address_share);
}

bool adv_nvme_admission_enter(struct adv_nvme_connection *c)
{
	struct adv_nvme_shared *s = c->worker->shared;
	struct adv_nvme_holder *h = get_holder(s, rdma_get_peer_addr(c->id));
	uint64_t capacity = 0, used = c->credits;

	if (!h)
		return false;
	for (unsigned i = 0; i < s->worker_count; i++) {
		capacity += s->workers[i]->srq_max;
		used += s->workers[i]->credits;
	}
	if (!within_share(s, h, c->credits, capacity))
		make_room(s, h, c->credits);
	if (!within_share(s, h, c->credits, capacity)) {
		report_refusal(s, c, h, capacity);
		put_holder(h);
		return false;
	}
	if (used * 100 > capacity * FULL_PERCENT)
		make_room(s, NULL, c->credits);
	h->receives += c->credits;
	c->holder = h;
	return true;
}

void adv_nvme_admission_leave(struct adv_nvme_connection *c)
{
	c->holder->receives -= c->credits;
	if (c->leaving)
		c->holder->leaving -= c->credits;
	put_holder(c->holder);
	c->holder = NULL;
}
