/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Starts a new daemon with the estate that the clients of a dead daemon have kept. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "runtime/keeper/carrier.h"
#include "runtime/daemon/daemon.h"
#include "runtime/steering/group.h"
#include "runtime/keeper/sealed.h"
#include "runtime/steering/slots.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/* ---- checking the estate ---- */

static bool same_namespace(int a, int b)
{
	uint64_t of_a, of_b;
	socklen_t len = sizeof(of_a);

	if (getsockopt(a, SOL_SOCKET, SO_NETNS_COOKIE, &of_a, &len) < 0)
		return true; /* Linux before 5.14 does not report the namespace */
	len = sizeof(of_b);
	return getsockopt(b, SOL_SOCKET, SO_NETNS_COOKIE, &of_b, &len) == 0 && of_a == of_b;
}

/* True for a socket of UDP port 4791. */
static bool is_of_group(int fd)
{
	struct sockaddr_in6 a = {0};
	socklen_t len = sizeof(int);
	int protocol = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) < 0 || protocol != IPPROTO_UDP)
		return false;
	len = sizeof(a);
	/* Both families have the port at the same offset. */
	return getsockname(fd, (void *)&a, &len) == 0 && ntohs(a.sin6_port) == ADV_ROCE_UDP_PORT;
}

/* ---- continuing with it ---- */

/* A byte that is neither 0 nor 1 would be an invalid bool. */
static void tidy_bool(bool *b)
{
	uint8_t byte;

	memcpy(&byte, b, 1);
	*b = byte != 0;
}

static void tidy_slot(struct adv_slot_record *r, bool for_clients)
{
	tidy_bool(&r->used_before);
	r->comm[sizeof(r->comm) - 1] = 0;
	if (!for_clients)
		atomic_store(&r->owned, 0);
}

/* Replaces values that this program cannot have written. */
static void tidy_ledger(struct adv_daemon *d, unsigned sockets)
{
	struct adv_ledger *l = d->ledger;

	atomic_store(&l->leaving, 0);
	atomic_store(&l->handed, 0);
	atomic_store(&l->served, 0);
	atomic_fetch_add(&l->restarts, 1);
	d->linger_ms = l->linger_ms;
	for (unsigned i = 0; i < sockets; i++)
		tidy_slot(&l->slot[i], i >= ADV_SLOT_FIRST);
	for (unsigned i = 0; i < ADV_BLOCKS; i++) {
		struct adv_block_record *r = &l->block[i];
		unsigned slot = atomic_load(&r->slot);

		tidy_bool(&r->used_before);
		if (slot >= sockets || !atomic_load(&l->slot[slot].owned))
			atomic_store(&r->slot, 0);
	}
}

static int take_tables(struct adv_daemon *d, const struct adv_carried *c, char *why, size_t why_len)
{
	/* The records beyond the existing slots are empty. */
	const size_t of_ledger =
		offsetof(struct adv_ledger, slot) + c->sockets * sizeof(struct adv_slot_record);
	const size_t of_page = sizeof(struct adv_gid_page);
	struct adv_gid_page *page;
	int error = adv_daemon_make_tables(d, why, why_len);

	if (error)
		return error;
	page = adv_container_of(d->gids, struct adv_gid_page, table);
	if (!adv_sealed_copy(c->ledger_fd, sizeof(*d->ledger), d->ledger, of_ledger) ||
	    !adv_sealed_copy(c->table_fd, of_page, page, of_page)) {
		snprintf(why, why_len, "the tables of the previous adverbd cannot be read");
		return EPROTO;
	}
	tidy_ledger(d, c->sockets);
	if (!page->table.pkeys.count || page->table.pkeys.count > ADV_PKEYS_MAX)
		page->table.pkeys = d->pkeys;
	return 0;
}

static int take_group(struct adv_daemon *d, const struct adv_carried *c, char *why, size_t why_len)
{
	int error = 0;

	for (unsigned i = 0; i < c->sockets && !error; i++)
		error = is_of_group(c->socket[i]) ? 0 : EPROTO;
	if (error || c->sockets < ADV_GROUP_FIRST || !same_namespace(c->socket[0], d->listener)) {
		snprintf(why, why_len,
			 "the sockets kept from the previous adverbd are not those of this network "
			 "namespace's port");
		return EPROTO;
	}
	memcpy(d->socket, c->socket, c->sockets * sizeof(d->socket[0]));
	d->sockets = c->sockets;
	error = adv_slots_steer(d);
	if (error)
		snprintf(why, why_len, "cannot attach the steering program: %s", strerror(error));
	return error;
}

int adv_daemon_adopt(struct adv_daemon *d, int queue, char *why, size_t why_len)
{
	static struct adv_carried c;
	int error = adv_daemon_take_name(d, why, why_len);

	if (error)
		return error;
	error = adv_carrier_peek(queue, &c);
	if (error) {
		snprintf(why, why_len,
			 error == EMFILE
				 ? "not enough file descriptors for the sockets of UDP port "
				   "4791: raise the limit (ulimit -n)"
				 : "the estate of the previous adverbd has another version");
		return error;
	}
	error = take_tables(d, &c, why, why_len);
	if (!error)
		error = take_group(d, &c, why, why_len);
	if (error)
		return error;
	close(c.ledger_fd);
	close(c.table_fd);
	d->marker = c.marker;
	d->carrier.queue = queue;
	d->carrier.feed = c.feed;
	d->ledger->carried_set = c.set;
	d->ledger->carried = c.messages;
	(void)adv_carrier_renew(d);
	adv_info("adverbd continues with %u sockets of the previous one", c.sockets);
	return adv_daemon_open(d, why, why_len);
}
